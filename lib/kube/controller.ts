import { messageOf } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { KubeObject, ObjectKey } from "./object.ts";
import type { Store } from "./store.ts";
import type { WorkQueue } from "./queue.ts";
import { watchForever, type WatchForeverOptions } from "./watch.ts";
import type { WatchSource } from "./watch_source.ts";

/** What comes after a pass: nothing until the object changes, or another pass. */
export type Outcome =
  | { readonly then: "wait" }
  | { readonly then: "again"; readonly afterMs: number };

/** One pass over one object; throwing = retry with back-off. */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<Outcome>;

export interface Controller {
  readonly queue: WorkQueue<ObjectKey>;
  readonly reconcile: Reconcile;
  /** Passes at the same time, each over another key. */
  readonly workers: number;
  readonly log: Log;
}

/**
 * Works on the queue's keys until the signal is aborted or the queue is closed; returns, and never
 * throws, when the passes under way have ended. The first failure of a key, and each with another
 * cause, is one error line; repetitions are debug lines with their number.
 */
export async function runController(controller: Controller, signal: AbortSignal): Promise<void> {
  const causes = new Map<ObjectKey, string>();
  const workers = Array.from({ length: controller.workers }, async () => {
    while (await workOnce(controller, signal, causes));
  });
  await Promise.all(workers);
}

/** Answers whether there is more to do. */
async function workOnce(
  { queue, reconcile, log }: Controller,
  signal: AbortSignal,
  causes: Map<ObjectKey, string>,
): Promise<boolean> {
  using work = await queue.next(signal).catch(() => undefined);
  if (work === undefined) return false;
  const { key } = work;
  try {
    const outcome = await reconcile(key, signal);
    queue.forget(key);
    causes.delete(key);
    if (outcome.then === "again") queue.addAfter(key, outcome.afterMs);
  } catch (error) {
    if (signal.aborted) {
      log.debug("The pass was ended by the shutdown", { key, error });
      return false;
    }
    const failures = queue.retry(key);
    const cause = messageOf(error);
    if (causes.get(key) === cause) {
      log.debug("The pass failed again and is repeated", { key, error: cause, failures });
    } else log.error("The pass failed and is repeated", { key, error: cause, failures });
    causes.set(key, cause);
  }
  return !signal.aborted;
}

export interface Following<T extends KubeObject> extends WatchForeverOptions {
  readonly source: WatchSource<T>;
  /** This is its only writer. */
  readonly store: Store<T>;
  /** Is called for each changed key after the store has the change; usually `queue.add`. */
  readonly changed: (key: ObjectKey) => void;
}

/** Keeps a store as the watch tells and reports each changed key. Throws the signal's reason. */
export async function followStore<T extends KubeObject>(
  following: Following<T>,
  signal: AbortSignal,
): Promise<void> {
  const { source, store, changed, ...options } = following;
  for await (const change of watchForever(source, signal, options)) {
    for (const key of store.apply(change)) changed(key);
  }
}
