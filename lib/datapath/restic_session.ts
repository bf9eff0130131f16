import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";
import type { ChildExit, ChildRun } from "./child_process.ts";
import {
  explain,
  type ResticCommand,
  type ResticSettings,
  type ResticTask,
  runRestic,
  startRestic,
} from "./restic.ts";
import type { ResticFailure } from "./restic_errors.ts";

/** One use of a repository of restic, with the secrets of this moment. */
export interface ResticSession extends AsyncDisposable {
  /** Name of the BackupRepository. */
  readonly name: string;
  /** For a short command, and for the first word of a long one. */
  readonly limitMs: number;
  start(command: ResticCommand, signal: AbortSignal): Promise<ChildRun>;
  /** Runs a short command and gives its lines. Throws `MovementError`. */
  run(task: Omit<ResticTask, "limitMs">, signal: AbortSignal): Promise<readonly string[]>;
  /** What an unsuccessful end means; `doing` follows "Cannot ". */
  explain(exit: ChildExit, doing: string): ResticFailure;
}

export interface ResticSessionParts {
  readonly name: string;
  /** Where the repository is, as the server made it. */
  readonly identifier: string;
  readonly location: BackupStorageLocation;
  readonly secrets: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly caFile?: string;
  readonly limitMs: number;
  /** What goes when the session does. */
  readonly held: AsyncDisposable;
}

/** Throws `MovementError` RepositoryNotReady when it is not known where the repository is. */
export function requireIdentifier(identifier: string | undefined, name: string): string {
  if (identifier) return identifier;
  throw new MovementError(
    "RepositoryNotReady",
    `BackupRepository "${name}" does not say where its repository is (spec.resticIdentifier); ` +
      "see the log of the Velero server",
  );
}

/** A session; from here on it owns what is to go with it. */
export function openResticSession(
  settings: ResticSettings,
  { name, identifier, location, caFile, limitMs, held, ...parts }: ResticSessionParts,
): ResticSession {
  const context = {
    identifier,
    options: optionsFor(location, caFile),
    secrets: inResticsWords(parts.secrets),
    environment: { ...parts.environment, ...accountOf(location) },
  };
  return {
    name,
    limitMs,
    start: (command, signal) => startRestic(settings, { context, command }, signal),
    run: (work, signal) => runRestic(settings, { context, task: { ...work, limitMs } }, signal),
    explain: (exit, doing) => explain(exit, { context, settings, doing }),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

function optionsFor({ spec }: BackupStorageLocation, caFile: string | undefined) {
  return [
    ...(caFile === undefined ? [] : [`--cacert=${caFile}`]),
    ...(spec.config?.["insecureSkipTLSVerify"] === "true" ? ["--insecure-tls"] : []),
  ];
}

/** Restic has names of its own for Azure. */
function inResticsWords(
  { AZURE_STORAGE_KEY: key, ...others }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...others, ...(key && { AZURE_ACCOUNT_KEY: key }) };
}

/** No secret: taken for one, a name such as "velero" would be missing in each message. */
function accountOf({ spec }: BackupStorageLocation): Readonly<Record<string, string>> {
  const account = spec.config?.["storageAccount"];
  return account ? { AZURE_ACCOUNT_NAME: account } : {};
}
