import { deadline } from "../base/abort.ts";
import { MovementError } from "../base/error.ts";
import { type ChildExit, type ChildRun, type Programs, startChild } from "./child_process.ts";
import { findProgram, findSetpriv, type ProgramPlaces } from "./program.ts";
import { explainRestic } from "./restic_errors.ts";
import { resticText } from "./restic_messages.ts";

/** Throws `MovementError` ResticMissing. */
export type FindRestic = (signal: AbortSignal) => Promise<Programs>;

export interface ResticPlaces extends ProgramPlaces {
  /** Such as "/usr/bin/restic"; absent: the first one on the search path. */
  readonly restic?: string;
}

/** Finds restic anew each time. Any restic is taken: a server may bring an old one along. */
export function resticFinder(places: ResticPlaces): FindRestic {
  return async () => ({
    program: await findProgram("restic", places.restic, {
      ...places,
      reason: "ResticMissing",
      packageName: "restic (its objects want it, see --restic)",
    }),
    setpriv: await findSetpriv(places, "ResticMissing"),
  });
}

export interface ResticSettings {
  readonly find: FindRestic;
  /** A folder of this process alone for cache and temporary files; made 0700. */
  readonly folder: string;
  /** What restic needs beside its secrets: PATH, GOMEMLIMIT, proxy variables, SSL_CERT_FILE. */
  readonly environment: Readonly<Record<string, string>>;
  readonly graceMs?: number;
}

/** What one repository's commands have in common. */
export interface ResticContext {
  /** Where the repository is, in restic's words: it may hold a password. */
  readonly identifier: string;
  /** Options of every command. */
  readonly options: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
}

export interface ResticCommand {
  readonly args: readonly string[];
  /** The folder to work in. */
  readonly folder?: string;
}

/** Starts a restic command against one repository. Its progress is on standard output, as JSON. */
export async function startRestic(
  settings: ResticSettings,
  { context, command }: { readonly context: ResticContext; readonly command: ResticCommand },
  signal: AbortSignal,
): Promise<ChildRun> {
  const { folder, environment, graceMs } = settings;
  const temporary = `${folder}/tmp`;
  await Deno.mkdir(temporary, { recursive: true, mode: 0o700 });
  return await startChild({
    programs: await settings.find(signal),
    args: [...command.args, ...context.options, "--json"],
    ...(command.folder !== undefined && { folder: command.folder }),
    environment: {
      ...environment,
      HOME: folder,
      TMPDIR: temporary,
      RESTIC_CACHE_DIR: `${folder}/restic-cache`,
      RESTIC_PROGRESS_FPS: "1",
      ...context.environment,
      RESTIC_REPOSITORY: context.identifier,
      ...context.secrets,
    },
    progress: "stdout",
    humanText: resticText,
    ...(graceMs !== undefined && { graceMs }),
  }, signal);
}

export interface ResticTask {
  readonly args: readonly string[];
  /** As it follows "Cannot ". */
  readonly doing: string;
  readonly limitMs: number;
}

/** Runs a short command to its end and gives its lines; throws `MovementError` when it fails. */
export async function runRestic(
  settings: ResticSettings,
  { context, task }: { readonly context: ResticContext; readonly task: ResticTask },
  signal: AbortSignal,
): Promise<readonly string[]> {
  using limit = deadline(signal, task.limitMs, `restic ${task.args[0]}`);
  const command = { args: task.args };
  await using run = await startRestic(settings, { context, command }, limit.signal);
  const lines = await Array.fromAsync(run.lines());
  const exit = await run.exit();
  signal.throwIfAborted();
  if (limit.signal.aborted) {
    throw new MovementError(
      "RepositoryUnreachable",
      `Cannot ${task.doing}: restic got no answer from the store within ` +
        `${task.limitMs / 1_000} s; check that the store runs`,
    );
  }
  if (exit.code === 0) return lines;
  const { reason, message } = explain(exit, { context, doing: task.doing, settings });
  throw new MovementError(reason, message);
}

export interface Explained {
  readonly context: ResticContext;
  readonly settings: ResticSettings;
  readonly doing: string;
}

/** What an unsuccessful end means, without secrets. */
export function explain(exit: ChildExit, { context, settings, doing }: Explained) {
  const secrets = [...Object.values(context.secrets), ...passwordsIn(context.identifier)];
  return explainRestic(exit, { doing, folder: settings.folder, secrets });
}

/** `rest:https://user:password@host/`. */
function passwordsIn(identifier: string): readonly string[] {
  const [, password] = /:\/\/[^/@]*:([^/@]+)@/.exec(identifier) ?? [];
  return password === undefined ? [] : [password];
}
