/** One claimed movement, from opening its way to writing its result. */
import { linked } from "../base/abort.ts";
import { messageOf, MovementError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { Reason } from "../base/reason.ts";
import type { DataPathEvent } from "../datapath/data_path.ts";
import { ApiError } from "../kube/api_error.ts";
import type { Movable, MovementKind, Opened } from "./kind.ts";
import type { Loss } from "./lifecycle.ts";
import { type ProgressReporter, progressReporter } from "./progress.ts";
import type { Change, Held, StatusWriter } from "./status.ts";
import { formatTime, messageWith } from "./text.ts";

/** How a movement ended. `dropped`: its object is gone, or was ended by someone else. */
export type End =
  | { readonly phase: "Completed"; readonly sizeBytes: number }
  | { readonly phase: "Failed" | "Canceled"; readonly reason: Reason; readonly message: string }
  | { readonly phase: "dropped" };

/** Why a movement under way is ended early; a loss says it in its own words. */
export type StopWhy = "Canceled" | "NodeShutdown" | "ObjectDeleted" | Loss;

export interface RunContext<T extends Movable> {
  readonly kind: MovementKind<T>;
  readonly status: StatusWriter;
  /** The shortest time between two writes of progress. */
  readonly progressIntervalMs: number;
  readonly now: () => Date;
  readonly log: Log;
}

export interface Run {
  readonly uid: string;
  /** The bytes are moved; what is left is to write the result. */
  readonly ending: boolean;
  /** Ends it early; the first reason counts. */
  stop(why: StopWhy): void;
  /** Rejects only when the signal was aborted; then the object still says InProgress. */
  readonly ended: Promise<End>;
}

export interface Claimed<T extends Movable> {
  readonly object: T;
  readonly held: Held;
}

type Last = Exclude<DataPathEvent, { readonly type: "progress" }>;

export function startRun<T extends Movable>(
  context: RunContext<T>,
  claimed: Claimed<T>,
  signal: AbortSignal,
): Run {
  const early = linked(signal);
  let why: StopWhy | undefined;
  let ending = false;
  const move = async (): Promise<End> => {
    using _ = early;
    await using opened = await open(context, claimed.object, early.signal);
    const followed = "failed" in opened
      ? { last: opened.failed, held: claimed.held }
      : await follow(context, { ...claimed, opened: opened.ready }, early.signal);
    ending = true;
    signal.throwIfAborted();
    const ready = "ready" in opened ? opened.ready : undefined;
    return await conclude(context, { ...claimed, ...followed, why, opened: ready }, signal);
  };
  return {
    uid: claimed.held.uid,
    get ending() {
      return ending;
    },
    stop(reason) {
      if (why !== undefined) return;
      why = reason;
      const code = typeof reason === "string" ? reason : reason.reason;
      early.abort(new DOMException(`the movement is stopped: ${code}`, "AbortError"));
    },
    ended: move(),
  };
}

type Opening = AsyncDisposable & ({ readonly ready: Opened } | { readonly failed: Last });

async function open<T extends Movable>(
  { kind, log }: RunContext<T>,
  object: T,
  signal: AbortSignal,
): Promise<Opening> {
  try {
    const ready = await kind.open(object, signal);
    return { ready, [Symbol.asyncDispose]: () => ready[Symbol.asyncDispose]() };
  } catch (error) {
    const failed = failure(error, { log, signal });
    return { failed, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
}

interface Followed {
  readonly last: Last;
  /** The object as the last report left it, so that the result meets no conflict. */
  readonly held: Held;
}

/** Follows the data path to its last event. */
async function follow<T extends Movable>(
  context: RunContext<T>,
  { opened, ...claimed }: Claimed<T> & { readonly opened: Opened },
  signal: AbortSignal,
): Promise<Followed> {
  const { status, log } = context;
  let { held } = claimed;
  await using progress: ProgressReporter = progressReporter({
    send: async (progress, signal) => {
      held = await status.report(held, { status: { progress } }, signal);
    },
    intervalMs: context.progressIntervalMs,
    signal,
    log,
  });
  try {
    for await (const event of opened.path.events(signal)) {
      if (event.type !== "progress") return { last: event, held };
      progress.offer({ bytesDone: event.bytesDone, totalBytes: event.totalBytes });
    }
  } catch (error) {
    return { last: failure(error, { log, signal }), held };
  }
  const error = new Error("the data path ended without a result");
  return { last: failure(error, { log, signal }), held };
}

function failure(
  error: unknown,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Last {
  if (signal.aborted) return { type: "canceled" };
  const message = messageOf(error);
  if (error instanceof MovementError) return { type: "failed", reason: error.reason, message };
  if (error instanceof ApiError) return { type: "failed", reason: "KubernetesError", message };
  log.error("A movement met a fault of the agent itself", { error });
  return { type: "failed", reason: "InternalError", message };
}

interface Ended {
  readonly last: Last;
  readonly why: StopWhy | undefined;
  /** Absent when the way could not be opened. */
  readonly opened: Opened | undefined;
}

/** Writes the result; takes back a snapshot that no object will name. */
async function conclude<T extends Movable>(
  context: RunContext<T>,
  { held, ...ended }: Claimed<T> & Ended,
  signal: AbortSignal,
): Promise<End> {
  const end = endOf(ended, context.kind.again);
  const written = end.phase === "dropped"
    ? "overtaken"
    : await context.status.finish(held, changeOf(context, end, ended), signal);
  if (written === "written") return end;
  const snapshotID = savedSnapshot(ended.last);
  try {
    if (snapshotID !== undefined) await ended.opened?.discard(snapshotID, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    context.log.warn("A snapshot that no object names is left in the repository", {
      snapshotID,
      error,
    });
  }
  return { phase: "dropped" };
}

/** An empty volume gives none: "" would be the beginning of any other's. */
function savedSnapshot(last: Last): string | undefined {
  if (last.type === "completed") return last.result.snapshotID || undefined;
  return last.type === "failed" ? last.snapshotID : undefined;
}

/** What completed in spite of a stop is complete, unless nobody is left to tell. */
function endOf({ last, why }: Ended, again: string): End {
  if (why === "ObjectDeleted") return { phase: "dropped" };
  if (last.type === "completed") return { phase: "Completed", sizeBytes: last.result.sizeBytes };
  if (why !== undefined) return endOfStop(why, again);
  if (last.type === "failed") {
    return { phase: "Failed", reason: last.reason, message: last.message };
  }
  return {
    phase: "Failed",
    reason: "KopiaKilled",
    message: "The uploader was interrupted by a signal that did not come from the agent; " +
      `look for what stopped it on the node, then ${again}`,
  };
}

function endOfStop(why: Exclude<StopWhy, "ObjectDeleted">, again: string): End {
  if (typeof why !== "string") return { phase: "Failed", ...why };
  switch (why) {
    case "Canceled":
      return { phase: "Canceled", reason: why, message: "The movement was canceled on request" };
    case "NodeShutdown":
      return {
        phase: "Failed",
        reason: why,
        message: "The agent was told to stop and the movement did not end within --grace; " +
          `wait until the agent runs again, then ${again}`,
      };
    default:
      return why satisfies never;
  }
}

function changeOf<T extends Movable>(
  { now }: RunContext<T>,
  end: Exclude<End, { readonly phase: "dropped" }>,
  { last, opened }: Ended,
): Change {
  const status = { phase: end.phase, completionTimestamp: formatTime(now()) };
  if (end.phase !== "Completed") {
    const saved = savedSnapshot(last);
    const message = messageWith(end.reason, end.message);
    return { status: { ...status, message, ...(saved !== undefined && { snapshotID: saved }) } };
  }
  const progress = { bytesDone: end.sizeBytes, totalBytes: end.sizeBytes };
  const result = last.type === "completed" ? opened?.result(last.result) : undefined;
  const annotations = opened?.annotations;
  return { status: { ...status, progress, ...result }, ...(annotations && { annotations }) };
}
