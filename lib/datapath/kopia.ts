import { deadline } from "../base/abort.ts";
import { MovementError } from "../base/error.ts";
import { explainFailure, type FailureFacts } from "./kopia_errors.ts";
import type { FindKopia } from "./kopia_program.ts";
import { humanText } from "./kopia_progress.ts";
import { type ChildRun, startChild } from "./child_process.ts";

export interface KopiaSettings {
  readonly find: FindKopia;
  /** A folder of this process alone for configuration, cache and temporary files; made 0700. */
  readonly folder: string;
  /** What kopia needs beside its secrets: PATH, GOMEMLIMIT, proxy variables, SSL_CERT_FILE. */
  readonly environment: Readonly<Record<string, string>>;
  readonly graceMs?: number;
}

/** What one repository's commands have in common. */
export interface KopiaContext {
  readonly configFile: string;
  /** Passwords and keys, by the name of their environment variable. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Further variables, no secrets. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface KopiaTask {
  readonly args: readonly string[];
  /** As it follows "Cannot ". */
  readonly doing: string;
  readonly limitMs: number;
}

/**
 * Options of every command. Maintenance belongs to the server's jobs. Without its log files kopia
 * writes nothing per file to the node's disk; what it has to say comes on standard error.
 */
const always = [
  "--no-auto-maintenance",
  "--no-persist-credentials",
  "--no-use-keyring",
  "--disable-file-logging",
  "--disable-content-log",
];

/** Starts a kopia command against one repository. */
export async function startCommand(
  settings: KopiaSettings,
  { context, args }: { readonly context: KopiaContext; readonly args: readonly string[] },
  signal: AbortSignal,
): Promise<ChildRun> {
  const { folder, environment, graceMs } = settings;
  const temporary = `${folder}/tmp`;
  await Deno.mkdir(temporary, { recursive: true, mode: 0o700 });
  const command = {
    programs: await settings.find(signal),
    progress: "stderr" as const,
    humanText,
    args: [...args, `--config-file=${context.configFile}`, ...always],
    environment: {
      ...environment,
      HOME: folder,
      TMPDIR: temporary,
      KOPIA_CHECK_FOR_UPDATES: "false",
      ...context.environment,
      ...context.secrets,
    },
    ...(graceMs === undefined ? {} : { graceMs }),
  };
  return await startChild(command, signal);
}

/** Runs a short command to its end and gives its output; throws `MovementError` when it fails. */
export async function runCommand(
  settings: KopiaSettings,
  { context, task }: { readonly context: KopiaContext; readonly task: KopiaTask },
  signal: AbortSignal,
): Promise<string> {
  using limit = deadline(signal, task.limitMs, `kopia ${task.args.slice(0, 2).join(" ")}`);
  await using run = await startCommand(settings, { context, args: task.args }, limit.signal);
  // deno-lint-ignore no-empty -- the lines are kept for the error
  for await (const _ of run.lines()) {}
  const exit = await run.exit();
  signal.throwIfAborted();
  if (limit.signal.aborted) throw noAnswer(task);
  if (exit.code === 0 && exit.stdout !== undefined) return exit.stdout;
  const { reason, message } = explainFailure(exit, factsOf(settings, context, task.doing));
  throw new MovementError(reason, message);
}

/** What `explainFailure` must know. */
export function factsOf(
  { folder }: KopiaSettings,
  { secrets }: KopiaContext,
  doing: string,
): FailureFacts {
  return { doing, folder, secrets: Object.values(secrets) };
}

function noAnswer({ doing, limitMs }: KopiaTask): MovementError {
  return new MovementError(
    "RepositoryUnreachable",
    `Cannot ${doing}: kopia got no answer from the store within ${limitMs / 1_000} s; check that ` +
      "the store runs and that its bucket still exists",
  );
}
