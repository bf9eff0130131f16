import { deadline, linked } from "../base/abort.ts";
import { snapshotNames } from "../api/names.ts";
import { logger } from "../base/log.ts";
import { type DataPath, type DataPathEvent, failedBy } from "./data_path.ts";
import { isStoreLost } from "./kopia_errors.ts";
import type { ChildExit, ChildRun } from "./child_process.ts";
import { humanText, parseProgress } from "./kopia_progress.ts";
import type { RepositorySession } from "./repository_session.ts";
import { parseManifest, type SnapshotManifest } from "./snapshot_manifest.ts";
import { deleteCheckpoints, deleteSnapshot } from "./snapshots.ts";

export interface BackupOrder {
  /** The folder to read, as this process sees it. */
  readonly volumePath: string;
  /** Under which the snapshot is kept, the same for each backup of the volume. */
  readonly sourcePath: string;
  readonly tags: Readonly<Record<string, string>>;
  /** How many files to read at once; the default is the number of processors. */
  readonly parallel?: number;
}

export interface BackupOptions {
  /** How often kopia tells its progress; the default is 1 s. */
  readonly progressMs?: number;
  /** Kopia writes the first checkpoint after this time; none is looked for before. */
  readonly checkpointMs?: number;
}

const log = logger("backup");

/** Kopia writes one every 45 minutes. */
const usualCheckpointMs = 44 * 60_000;
const tidyLimitMs = 30_000;

/**
 * A backup of a folder by `kopia snapshot create`. The data path owns the session and disposes it.
 *
 * Files that cannot be read do not end the backup: the rest is saved first, and the failure then
 * names the first one, their number and the snapshot. A store that is lost or full ends it at once.
 * What else it leaves in the repository goes when it is disposed: the result does not wait for that.
 */
export function openBackup(
  session: RepositorySession,
  order: BackupOrder,
  options: BackupOptions = {},
): DataPath {
  const stopped = new AbortController();
  let running: ChildRun | undefined;
  let left: Left | undefined;
  return {
    cancel: () => stopped.abort(),
    async *events(signal) {
      using stop = linked(signal, stopped.signal);
      try {
        if (stop.signal.aborted) return yield { type: "canceled" };
        const startedAt = Date.now();
        running = await session.start(snapshotArguments(order, options), stop.signal);
        const trouble = yield* follow(running, session.limitMs);
        const end = judge(await running.exit(), { asked: stop.signal.aborted, trouble });
        const longEnough = Date.now() - startedAt >= (options.checkpointMs ?? usualCheckpointMs);
        left = { end, since: longEnough ? startedAt : undefined };
        yield* finalEvents(end, { session, order });
      } catch (error) {
        yield stop.signal.aborted ? { type: "canceled" } : failedBy(error);
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await running?.[Symbol.asyncDispose]();
      if (left !== undefined) await tidy(session, order, left);
      left = undefined;
      await session[Symbol.asyncDispose]();
    },
  };
}

function snapshotArguments(order: BackupOrder, { progressMs = 1_000 }: BackupOptions) {
  const { volumePath, sourcePath, tags, parallel } = order;
  return [
    ...["snapshot", "create", volumePath],
    `--override-source=${snapshotNames.owner}:${sourcePath}`,
    `--description=${snapshotNames.description}`,
    `--pin=${snapshotNames.pin}`,
    ...Object.entries(tags).map(([key, value]) => `--tags=${key}:${value}`),
    ...(parallel === undefined ? [] : [`--parallel=${parallel}`]),
    // A report would be sent to where the repository's own notification profiles say.
    ...["--json", "--no-send-snapshot-report", "--error-notifications=never"],
    ...["--progress", `--progress-update-interval=${progressMs}ms`],
  ];
}

/**
 * Why we stopped kopia ourselves. Silent: it never began; with a store that has lost its index it
 * waits for ever, without a word. Lost: the store fails.
 */
type Trouble = "none" | "silent" | "lost";

/** Gives progress until kopia ends. */
async function* follow(run: ChildRun, limitMs: number): AsyncGenerator<DataPathEvent, Trouble> {
  let trouble: Trouble = "none";
  const stopFor = (what: Trouble) => {
    trouble = what;
    run.stop();
  };
  const watchdog = setTimeout(() => stopFor("silent"), limitMs);
  try {
    for await (const line of run.lines()) {
      clearTimeout(watchdog);
      const progress = parseProgress(line);
      if (progress !== undefined) {
        const { bytesDone, totalBytes = 0 } = progress;
        yield { type: "progress", bytesDone, totalBytes };
      }
      if (isStoreLost(humanText(line))) stopFor("lost");
    }
  } finally {
    clearTimeout(watchdog);
  }
  return trouble;
}

type End =
  | { readonly how: "done"; readonly manifest: SnapshotManifest }
  /** `leftID` is a snapshot that nobody wants. */
  | { readonly how: "canceled"; readonly leftID?: string }
  | { readonly how: "silent" }
  | { readonly how: "failed"; readonly exit: ChildExit; readonly leftID?: string };

function judge(
  exit: ChildExit,
  { asked, trouble }: { readonly asked: boolean; readonly trouble: Trouble },
): End {
  const manifest = parseManifest(exit.stdout ?? "");
  // The manifest is printed before it is saved: without exit code 0 it may not exist.
  const left = manifest === undefined ? {} : { leftID: manifest.id };
  if (asked) return { how: "canceled", ...left };
  if (trouble === "silent") return { how: "silent" };
  if (trouble === "lost") return { how: "failed", exit: withoutSignal(exit) };
  if (exit.code === 0 && manifest !== undefined && manifest.incomplete === undefined) {
    return { how: "done", manifest };
  }
  const wanted = exit.code === 1 && manifest?.incomplete === undefined;
  return { how: "failed", exit, ...(wanted ? {} : left) };
}

/** The signal was ours; what kopia said before is the cause. */
function withoutSignal({ outOfMemory: _, stdout, lines }: ChildExit): ChildExit {
  return { code: 1, outOfMemory: false, stdout, lines };
}

interface Left {
  readonly end: End;
  /** There may be checkpoints younger than this; undefined: there are none. */
  readonly since: number | undefined;
}

async function tidy(
  session: RepositorySession,
  order: BackupOrder,
  { end, since }: Left,
): Promise<void> {
  if (end.how === "done" || end.how === "silent") return;
  using limit = deadline(new AbortController().signal, tidyLimitMs, "Removing a partial snapshot");
  try {
    if (end.leftID !== undefined) await deleteSnapshot(session, end.leftID, limit.signal);
    if (since !== undefined) {
      await deleteCheckpoints(session, { sourcePath: order.sourcePath, since }, limit.signal);
    }
  } catch (error) {
    log.warn("A partial snapshot may be left in the repository", {
      repository: session.name,
      sourcePath: order.sourcePath,
      snapshotID: end.leftID,
      error,
    });
  }
}

function* finalEvents(
  end: End,
  { session, order }: { readonly session: RepositorySession; readonly order: BackupOrder },
): Generator<DataPathEvent> {
  const doing = `back up "${order.volumePath}"`;
  switch (end.how) {
    case "done": {
      const { id, sizeBytes } = end.manifest;
      yield { type: "progress", bytesDone: sizeBytes, totalBytes: sizeBytes };
      return yield { type: "completed", result: { snapshotID: id, sizeBytes } };
    }
    case "canceled":
      return yield { type: "canceled" };
    case "silent":
      return yield {
        type: "failed",
        reason: "RepositoryUnreachable",
        message: `Cannot ${doing}: kopia could not open repository "${session.name}" within ` +
          `${
            session.limitMs / 1_000
          } s; check that its store runs and that its bucket still exists`,
      };
    case "failed":
      return yield { type: "failed", ...explain(end.exit, { session, doing }) };
    default:
      return end satisfies never;
  }
}

function explain(
  exit: ChildExit,
  { session, doing }: { readonly session: RepositorySession; readonly doing: string },
) {
  const interrupted = parseManifest(exit.stdout ?? "")?.incomplete;
  if (exit.code === 0 && interrupted !== undefined) {
    const message = `Cannot ${doing}: kopia was interrupted from outside (${interrupted})`;
    return { reason: "KopiaKilled" as const, message };
  }
  return session.explain(exit, doing);
}
