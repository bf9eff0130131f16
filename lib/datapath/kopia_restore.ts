import { linked } from "../base/abort.ts";
import { MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import { type DataPath, type DataPathEvent, failedBy } from "./data_path.ts";
import { isStoreLost } from "./kopia_errors.ts";
import type { ChildExit, ChildRun } from "./child_process.ts";
import { explainRestore } from "./kopia_restore_errors.ts";
import { parseRestoreProgress, restoreText } from "./kopia_restore_progress.ts";
import type { RepositorySession } from "./repository_session.ts";
import { type LinksAside, setLinksAside } from "./links_aside.ts";
import { snapshotSize } from "./kopia_restore_size.ts";

export interface RestoreOrder {
  /** kopia's manifest id, 32 hex digits. */
  readonly snapshotID: string;
  /** The folder to write into, as this process sees it; it must exist. */
  readonly targetPath: string;
  /** How many files to write at once; the default is the number of processors. */
  readonly parallel?: number;
  /** Leaves out blocks of zeros, so that holes stay holes. */
  readonly sparse?: boolean;
  /** The size of the snapshot's files where it is known; else it is read from the repository. */
  readonly sizeBytes?: number;
}

export interface RestoreOptions {
  /** How often kopia tells its progress; the default is 1 s. */
  readonly progressMs?: number;
}

const log = logger("restore");

/**
 * A restore of a snapshot into a folder by `kopia snapshot restore`: what the snapshot has replaces
 * what is there, other content stays. Whoever says that it is complete syncs the volume before. The
 * data path owns the session and disposes it.
 */
export function openRestore(
  session: RepositorySession,
  order: RestoreOrder,
  options: RestoreOptions = {},
): DataPath {
  const stopped = new AbortController();
  let running: ChildRun | undefined;
  let sizing: Promise<number | undefined> | undefined;
  let links: LinksAside | undefined;
  return {
    cancel: () => stopped.abort(),
    async *events(signal) {
      using stop = linked(signal, stopped.signal);
      try {
        if (stop.signal.aborted) return yield { type: "canceled" };
        requireId(order.snapshotID);
        links = await setLinksAside(order.targetPath, stop.signal);
        running = await session.start(restoreArguments(order, options), stop.signal);
        sizing = readSize(session, order, stop.signal);
        const { trouble, bytesDone } = yield* follow(running, session.limitMs);
        const exit = await running.exit();
        await links.putBack();
        if (stop.signal.aborted) return yield { type: "canceled" };
        if (exit.code === 0 && trouble === "none") {
          const sizeBytes = await sizing ?? bytesDone;
          if (stop.signal.aborted) return yield { type: "canceled" };
          const { snapshotID } = order;
          yield { type: "progress", bytesDone: sizeBytes, totalBytes: sizeBytes };
          return yield { type: "completed", result: { snapshotID, sizeBytes } };
        }
        yield failedBecause(exit, trouble, { session, order });
      } catch (error) {
        yield stop.signal.aborted ? { type: "canceled" } : failedBy(error);
      } finally {
        stop.abort(); // also ends the reading of the size
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await running?.[Symbol.asyncDispose]();
      await links?.putBack();
      await sizing;
      await session[Symbol.asyncDispose]();
    },
  };
}

/** kopia would take anything else for a path or an object, and restore what nobody asked for. */
function requireId(snapshotID: string): void {
  if (/^[0-9a-f]{32}$/.test(snapshotID)) return;
  if (snapshotID === "") {
    throw new MovementError(
      "SnapshotMissing",
      "The object does not say which snapshot; see how its backup ended, then restore another",
    );
  }
  throw new MovementError(
    "SnapshotMissing",
    `The snapshot ID ${JSON.stringify(snapshotID)} is not one of kopia's (32 hex digits); ` +
      "restore a backup that was made by kopia",
  );
}

function restoreArguments(order: RestoreOrder, { progressMs = 1_000 }: RestoreOptions) {
  const { snapshotID, targetPath, parallel = navigator.hardwareConcurrency, sparse } = order;
  return [
    ...["snapshot", "restore", snapshotID, targetPath, "--mode=local", `--parallel=${parallel}`],
    ...["--overwrite-directories", "--overwrite-files", "--overwrite-symlinks"],
    ...["--no-skip-owners", "--no-skip-permissions", "--no-skip-times", "--no-skip-existing"],
    ...["--ignore-permission-errors", "--no-ignore-errors", "--no-delete-extra"],
    sparse ? "--write-sparse-files" : "--no-write-sparse-files",
    ...["--progress", `--progress-update-interval=${progressMs}ms`],
  ];
}

/** Beside the restore, not before it: a tiny one takes no longer for it. */
async function readSize(
  session: RepositorySession,
  { snapshotID, sizeBytes }: RestoreOrder,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (sizeBytes !== undefined) return sizeBytes;
  try {
    return await snapshotSize(session, snapshotID, signal);
  } catch (error) {
    if (!signal.aborted) log.debug("The size of a snapshot is not known", { snapshotID, error });
    return undefined;
  }
}

/**
 * Why we stopped kopia ourselves. Silent: it never began; with a store that has lost its index it
 * waits for ever, without a word. Lost: the store fails.
 */
type Trouble = "none" | "silent" | "lost";

interface Followed {
  readonly trouble: Trouble;
  /** As kopia last told it. */
  readonly bytesDone: number;
}

/** Gives progress until kopia ends. */
async function* follow(run: ChildRun, limitMs: number): AsyncGenerator<DataPathEvent, Followed> {
  let trouble: Trouble = "none";
  let done = 0;
  const stopFor = (what: Trouble) => {
    trouble = what;
    run.stop();
  };
  const watchdog = setTimeout(() => stopFor("silent"), limitMs);
  try {
    for await (const line of run.lines()) {
      clearTimeout(watchdog);
      const progress = parseRestoreProgress(line);
      if (progress !== undefined) {
        done = Math.max(done, progress.bytesDone);
        yield {
          type: "progress",
          bytesDone: done,
          totalBytes: Math.max(done, progress.totalBytes),
        };
      }
      if (isStoreLost(restoreText(line))) stopFor("lost");
    }
  } finally {
    clearTimeout(watchdog);
  }
  return { trouble, bytesDone: done };
}

function failedBecause(
  exit: ChildExit,
  trouble: Trouble,
  { session, order }: { readonly session: RepositorySession; readonly order: RestoreOrder },
): DataPathEvent {
  const { snapshotID, targetPath } = order;
  const doing = `restore snapshot "${snapshotID}" to "${targetPath}"`;
  if (trouble === "silent") {
    return {
      type: "failed",
      reason: "RepositoryUnreachable",
      message: `Cannot ${doing}: kopia could not open repository "${session.name}" within ` +
        `${session.limitMs / 1_000} s; check that its store runs and that its bucket still exists`,
    };
  }
  // After a stop of ours the signal is no news; what kopia said before is the cause.
  const { outOfMemory: _, stdout, lines } = exit;
  const told = trouble === "lost" ? { code: 1, outOfMemory: false, stdout, lines } : exit;
  return { type: "failed", ...explainRestore(told, doing, { session, snapshotID, targetPath }) };
}
