import { MovementError } from "../base/error.ts";
import type { Reason } from "../base/reason.ts";
import type { Connection } from "./connections.ts";
import { factsOf, type KopiaSettings, type KopiaTask, runCommand, startCommand } from "./kopia.ts";
import { explainFailure, type KopiaFailure } from "./kopia_errors.ts";
import type { ChildExit, ChildRun } from "./child_process.ts";

/** One use of a repository, with the secrets of this moment. Dispose it when the use has ended. */
export interface RepositorySession extends AsyncDisposable {
  /** Name of the BackupRepository. */
  readonly name: string;
  /** For a short command, and for the first word of a long one. */
  readonly limitMs: number;
  start(args: readonly string[], signal: AbortSignal): Promise<ChildRun>;
  /** Runs a short command and gives its output. Throws `MovementError`. */
  run(task: Omit<KopiaTask, "limitMs">, signal: AbortSignal): Promise<string>;
  /** What an unsuccessful end means; `doing` follows "Cannot ". */
  explain(exit: ChildExit, doing: string): KopiaFailure;
}

/** After these the next session connects anew. */
const connectionIsBad: readonly Reason[] = [
  "RepositoryPassword",
  "RepositoryNotInitialized",
  "BucketMissing",
];

export interface SessionParts {
  readonly name: string;
  /** The session gives it back when it is disposed. */
  readonly connection: Connection;
  /** Environment variables: the password and the store's keys. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Variables without secrets that let us into the store. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly limitMs: number;
  /** What else goes when the session does. */
  readonly held?: AsyncDisposable;
}

/** A session over a connection; a failure that the connection is to blame for retires it. */
export function openSession(
  kopia: KopiaSettings,
  { name, connection, secrets, limitMs, held, ...parts }: SessionParts,
): RepositorySession {
  const { configFile } = connection;
  const environment = { ...parts.environment, ...connection.environment };
  const context = { configFile, secrets, environment };
  const judge = (reason: Reason) => {
    if (connectionIsBad.includes(reason)) connection.retire();
  };
  return {
    name,
    limitMs,
    start: (args, signal) => startCommand(kopia, { context, args }, signal),
    async run(work, signal) {
      const task = { ...work, limitMs };
      try {
        return await runCommand(kopia, { context, task }, signal);
      } catch (error) {
        if (error instanceof MovementError) judge(error.reason);
        throw error;
      }
    },
    explain(exit, doing) {
      const failure = explainFailure(exit, factsOf(kopia, context, doing));
      judge(failure.reason);
      return failure;
    },
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]();
      await held?.[Symbol.asyncDispose]();
    },
  };
}
