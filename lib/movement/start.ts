/** Taking a movement on: a slot, the claim, and then its run beside the passes. */
import { messageOf } from "../base/error.ts";
import type { ObjectKey } from "../kube/object.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable } from "./kind.ts";
import { type Claimed, type End, type Run, type RunContext, startRun } from "./run.ts";
import type { SlotLine } from "./slots.ts";
import { heldOf } from "./status.ts";
import { formatTime } from "./text.ts";

/** What metrics and events are made of. */
export interface Observer<T extends Movable> {
  /** A movement has its slot; what is answered is disposed when it gives it back, in any case. */
  started(object: T): Disposable;
  /** `durationMs` is absent for an object that was ended without having run here. */
  ended(object: T, end: End, options: { readonly durationMs?: number }): void;
}

/** The movements under way, and the promises of their ends. */
export interface Runs {
  readonly byKey: Map<ObjectKey, Run>;
  readonly ends: Set<Promise<void>>;
}

export interface StartContext<T extends Movable> extends RunContext<T> {
  readonly node: string;
  readonly capabilities: Capabilities;
  readonly slots: SlotLine;
  /** The object as the watch last gave it. */
  readonly read: (key: ObjectKey) => T | undefined;
  readonly runs: Runs;
  /** The uids of objects whose claim we sent without learning what became of it. */
  readonly unanswered: Set<string>;
  readonly observe: Observer<T>;
  /** Ends the movements themselves; a pass ends earlier, with the intake. */
  readonly work: AbortSignal;
  /** Asks for another pass. */
  readonly again: (key: ObjectKey) => void;
}

/** Takes a slot and claims the object; without a slot the key is woken when its turn has come. */
export async function start<T extends Movable>(
  context: StartContext<T>,
  key: ObjectKey,
  object: T,
): Promise<void> {
  const { slots, status, unanswered, log, now, kind, work, node, capabilities } = context;
  using kept = new DisposableStack();
  const slot = slots.take(key, Date.parse(object.metadata.creationTimestamp ?? "") || 0);
  if (slot === undefined) {
    log.debug("A movement waits for a slot", { key, reason: "SlotWait" });
    return;
  }
  kept.use(slot);
  const startTimestamp = formatTime(now());
  const where = capabilities.statusNode ? { node } : {};
  const change = { status: { phase: "InProgress", startTimestamp, ...where } };
  const wanted = heldOf(object);
  unanswered.add(wanted.uid);
  // Not ended with the intake: a claim whose answer nobody reads would stay InProgress.
  const held = await status.claim(wanted, change, work);
  unanswered.delete(wanted.uid);
  if (held === undefined) {
    log.debug("A movement is not ours: its object was changed meanwhile", { key });
    return;
  }
  log.info(`${kind.resource.kind} is InProgress`, { key });
  follow(context, key, { object, held, release: kept.move() });
}

/** Lets the movement run; its slot is given back when its result is written. */
function follow<T extends Movable>(
  context: StartContext<T>,
  key: ObjectKey,
  { release, ...claimed }: Claimed<T> & { readonly release: Disposable },
): void {
  const { runs, observe, read, again, log } = context;
  const startedMs = performance.now();
  const run = startRun(context, claimed, context.work);
  runs.byKey.set(key, run);
  const started = observe.started(claimed.object);
  const end = run.ended.then((end) => {
    report(context, key, end);
    observe.ended(claimed.object, end, { durationMs: performance.now() - startedMs });
  }).catch((error: unknown) => {
    log.error("A movement ended without a written result", { key, error: messageOf(error) });
  }).finally(() => {
    runs.byKey.delete(key);
    runs.ends.delete(end);
    started[Symbol.dispose]();
    release[Symbol.dispose]();
    const now = read(key);
    if (now !== undefined && now.metadata.uid !== run.uid) again(key); // made anew under this name
  });
  runs.ends.add(end);
}

function report<T extends Movable>({ kind, log }: StartContext<T>, key: ObjectKey, end: End): void {
  const what = kind.resource.kind;
  switch (end.phase) {
    case "Completed":
      return log.info(`${what} is Completed`, { key, sizeBytes: end.sizeBytes });
    case "Canceled":
      return log.info(`${what} is Canceled`, { key, reason: end.reason });
    case "Failed":
      return log.error(`${what} is Failed`, { key, reason: end.reason, error: end.message });
    case "dropped":
      return log.warn(`${what} was deleted or ended by someone else: its movement is stopped`, {
        key,
      });
    default:
      return end satisfies never;
  }
}
