import { deadline, linked } from "../base/abort.ts";
import { logger } from "../base/log.ts";
import type { ChildExit, ChildRun } from "./child_process.ts";
import { type DataPath, type DataPathEvent, failedBy } from "./data_path.ts";
import type { ResticCommand } from "./restic.ts";
import { isLocked } from "./restic_errors.ts";
import { parseMessage, type ResticMessage } from "./restic_messages.ts";
import type { ResticSession } from "./restic_session.ts";

/** How one restic command ended. */
export interface ResticEnd {
  readonly exit: ChildExit;
  readonly summary: (ResticMessage & { readonly type: "summary" }) | undefined;
}

export type LastEvent = Exclude<DataPathEvent, { readonly type: "progress" }>;

/** What is special to a backup or a restore. */
export interface ResticMove {
  /** As it follows "Cannot ". */
  readonly doing: string;
  readonly command: ResticCommand;
  /** Before the first command. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** After the last one has ended; may be called again. */
  settle?(): Promise<void>;
  /** What the end means. */
  judge(end: ResticEnd): LastEvent;
  /** Another command to try after a failure. */
  instead?(failed: LastEvent): ResticCommand | undefined;
  /** A snapshot that nobody wants, because the movement was stopped when it had just been saved. */
  unwanted?(end: ResticEnd): string | undefined;
}

const log = logger("restic");
const tidyLimitMs = 30_000;

/**
 * Moves data with restic. The data path owns the session and disposes it. Locks that processes which
 * are no more have left are removed once when one is in the way, and after a restic that was killed.
 */
export function openResticMove(session: ResticSession, move: ResticMove): DataPath {
  const stopped = new AbortController();
  let running: ChildRun | undefined;
  const left: Left = { lock: false, snapshotID: undefined };
  return {
    cancel: () => stopped.abort(),
    async *events(signal) {
      using stop = linked(signal, stopped.signal);
      const start = async (command: ResticCommand) => {
        await running?.[Symbol.asyncDispose]();
        running = await session.start(command, stop.signal);
        return running;
      };
      try {
        if (stop.signal.aborted) return yield { type: "canceled" };
        await move.prepare?.(stop.signal);
        const end = yield* attempts({ session, move, start }, stop.signal);
        await move.settle?.();
        left.lock = end.exit.signal !== undefined;
        if (!stop.signal.aborted) return yield* finalEvents(end.last);
        left.snapshotID = move.unwanted?.(end);
        yield { type: "canceled" };
      } catch (error) {
        yield stop.signal.aborted ? { type: "canceled" } : failedBy(error);
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await running?.[Symbol.asyncDispose]();
      await move.settle?.();
      await tidy(session, left);
      await session[Symbol.asyncDispose]();
    },
  };
}

interface Left {
  lock: boolean;
  snapshotID: string | undefined;
}

interface Attempts {
  readonly session: ResticSession;
  readonly move: ResticMove;
  readonly start: (command: ResticCommand) => Promise<ChildRun>;
}

/** Runs the command; again, once each, when a stale lock or its choice of options was in the way. */
async function* attempts(
  { session, move, start }: Attempts,
  signal: AbortSignal,
): AsyncGenerator<DataPathEvent, ResticEnd & { readonly last: LastEvent }> {
  let { command } = move;
  let unlocked = false;
  for (;;) {
    const run = await start(command);
    const { summary, silent } = yield* follow(run, session.limitMs);
    const end = { exit: await run.exit(), summary };
    if (silent) return { ...end, last: noAnswer(session, move) };
    const last = move.judge(end);
    if (signal.aborted || last.type !== "failed") return { ...end, last };
    const other = command === move.command ? move.instead?.(last) : undefined;
    if (isLocked(end.exit) && !unlocked) {
      unlocked = true;
      await unlock(session, signal);
    } else if (other !== undefined) {
      command = other;
    } else {
      return { ...end, last };
    }
  }
}

interface Followed {
  readonly summary: ResticEnd["summary"];
  /** It said nothing within the time limit, and was stopped. */
  readonly silent: boolean;
}

/** Gives progress until restic ends. */
async function* follow(run: ChildRun, limitMs: number): AsyncGenerator<DataPathEvent, Followed> {
  let silent = false;
  let summary: ResticEnd["summary"];
  const watchdog = setTimeout(() => {
    silent = true;
    run.stop();
  }, limitMs);
  try {
    for await (const line of run.lines()) {
      clearTimeout(watchdog);
      const message = parseMessage(line);
      if (message?.type === "summary") summary = message;
      if (message?.type !== "status") continue;
      const { bytesDone, totalBytes } = message;
      yield { type: "progress", bytesDone, totalBytes };
    }
  } finally {
    clearTimeout(watchdog);
  }
  return { summary, silent };
}

function* finalEvents(last: LastEvent): Generator<DataPathEvent> {
  if (last.type === "completed") {
    const { sizeBytes } = last.result;
    yield { type: "progress", bytesDone: sizeBytes, totalBytes: sizeBytes };
  }
  yield last;
}

function noAnswer({ name, limitMs }: ResticSession, { doing }: ResticMove): LastEvent {
  return {
    type: "failed",
    reason: "RepositoryUnreachable",
    message: `Cannot ${doing}: restic could not open repository "${name}" within ` +
      `${limitMs / 1_000} s; check that its store runs and that its bucket still exists`,
  };
}

/** Only locks whose process is no more, or that are older than half an hour. */
async function unlock(session: ResticSession, signal: AbortSignal): Promise<void> {
  log.info("Stale locks of a repository are removed", { repository: session.name });
  await session.run({ args: ["unlock"], doing: "remove stale locks" }, signal);
}

async function tidy(session: ResticSession, { lock, snapshotID }: Left): Promise<void> {
  using limit = deadline(new AbortController().signal, tidyLimitMs, "Tidying a repository");
  try {
    if (lock) await unlock(session, limit.signal);
    if (snapshotID !== undefined) await forgetSnapshot(session, snapshotID, limit.signal);
  } catch (error) {
    log.warn("A lock or a snapshot may be left in the repository", {
      repository: session.name,
      snapshotID,
      error,
    });
  }
}

/** As restic prints ids, in full or the first digits. */
export function isSnapshotID(text: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(text);
}

/**
 * Removes a snapshot from the list; its data goes with the server's next prune. Anything but an id is
 * refused: restic takes any beginning of one, and the empty text begins them all.
 */
export async function forgetSnapshot(
  session: ResticSession,
  snapshotID: string,
  signal: AbortSignal,
): Promise<void> {
  if (!isSnapshotID(snapshotID)) {
    throw new Error(`${JSON.stringify(snapshotID)} is not the id of a snapshot`);
  }
  const args = ["forget", snapshotID];
  await session.run({ args, doing: `remove snapshot "${snapshotID}"` }, signal);
}
