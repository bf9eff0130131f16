/** Follows the objects of one kind and lets their movements run, until it is told to stop. */
import { linked, orAbort, sleep } from "../base/abort.ts";
import type { Log } from "../base/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { runController } from "../kube/controller.ts";
import { kubeSource } from "../kube/kube_source.ts";
import type { ObjectKey } from "../kube/object.ts";
import { type WorkQueue, workQueue } from "../kube/queue.ts";
import { createStore, type Store } from "../kube/store.ts";
import { type WatchChange, watchForever, type WatchHealth } from "../kube/watch.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable, MovementKind } from "./kind.ts";
import { isFinal } from "./lifecycle.ts";
import { movementReconciler } from "./reconcile.ts";
import { type SlotPool, slotPool } from "./slots.ts";
import type { Observer, Runs } from "./start.ts";
import { statusWriter } from "./status.ts";

export interface MovementOptions<T extends Movable> {
  readonly client: KubeClient;
  readonly kind: MovementKind<T>;
  /** Where the objects are; those of other namespaces are not seen. */
  readonly namespace: string;
  readonly node: string;
  readonly capabilities: Capabilities;
  /** Movements at once, at least 1. */
  readonly concurrency: number;
  readonly progressIntervalMs: number;
  /** How long movements may go on after the intake has ended. */
  readonly graceMs: number;
  /** Names this process among the agents of a node. */
  readonly holder: string;
  readonly health: WatchHealth;
  readonly observe: Observer<T>;
  readonly log: Log;
}

export interface MovementSignals {
  /** Aborted: no new movement is taken on. */
  readonly intake: AbortSignal;
  /** Aborted: movements end at once, without a written result. */
  readonly work: AbortSignal;
}

export interface Movements {
  readonly slots: Pick<SlotPool, "used" | "waiting" | "waitingSinceMs">;
  readonly queue: Pick<WorkQueue<ObjectKey>, "length">;
  /** Returns when the intake was ended and every movement has its result written, or `work` ended. */
  run(signals: MovementSignals): Promise<void>;
}

const workers = 8;

export function createMovements<T extends Movable>(options: MovementOptions<T>): Movements {
  const queue = workQueue<ObjectKey>();
  const slots = slotPool({ limit: options.concurrency, wake: queue.add });
  return {
    slots,
    queue,
    run: (signals) => run(options, { queue, slots }, signals),
  };
}

async function run<T extends Movable>(
  options: MovementOptions<T>,
  { queue, slots }: { readonly queue: WorkQueue<ObjectKey>; readonly slots: SlotPool },
  { intake, work }: MovementSignals,
): Promise<void> {
  const { client, kind, capabilities, holder, log } = options;
  const store = createStore<T>();
  const leftovers = new Set<string>();
  const runs: Runs = { byKey: new Map(), ends: new Set() };
  const reconcile = movementReconciler<T>({
    ...options,
    now: () => new Date(),
    status: statusWriter({ client, resource: kind.resource, capabilities, holder }),
    slots,
    runs,
    unanswered: new Set(),
    work,
    read: store.get,
    again: queue.add,
    isLeftover: (uid) => leftovers.has(uid),
  });
  const watching = follow(options, { store, queue, leftovers }, intake);
  try {
    await Promise.all([watching, runController({ queue, reconcile, workers, log }, intake)]);
  } finally {
    await endRuns(runs, options, work);
  }
}

interface Followed<T extends Movable> {
  readonly store: Store<T>;
  readonly queue: WorkQueue<ObjectKey>;
  readonly leftovers: Set<string>;
}

/** Keeps the store as the API server says, and queues what changed; ends with the signal. */
async function follow<T extends Movable>(
  { client, kind, namespace, node, health }: MovementOptions<T>,
  { store, queue, leftovers }: Followed<T>,
  signal: AbortSignal,
): Promise<void> {
  /** Only that is kept for which there may still be something to do here. */
  const trim = (object: T): T | undefined => {
    const done = isFinal(object.status?.phase ?? "New") &&
      !object.metadata.finalizers?.includes(kind.finalizer);
    return kind.isMine(object, node) && !done ? kind.trim(object) : undefined;
  };
  const source = kubeSource(client, kind.resource, { namespace, trim });
  try {
    for await (const change of watchForever(source, signal, { health })) {
      if (!store.synced) noteLeftovers(change, leftovers);
      for (const key of store.apply(change)) queue.add(key);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** What is under way in the first list was begun by an agent that is gone. */
function noteLeftovers<T extends Movable>(change: WatchChange<T>, leftovers: Set<string>): void {
  if (change.type !== "set") return;
  const { metadata, status = {} } = change.object;
  if ((status.phase ?? "New") !== "New") leftovers.add(metadata.uid ?? "");
}

/**
 * Lets the movements end by themselves for the grace time, then stops them and awaits their results.
 * What still tidies up when `work` ends is left to the end of the program.
 */
async function endRuns<T extends Movable>(
  { byKey, ends }: Runs,
  { graceMs, log }: MovementOptions<T>,
  work: AbortSignal,
): Promise<void> {
  if (ends.size === 0) return;
  log.info("Waiting for the movements under way to end", { running: ends.size, graceMs });
  using grace = linked(work);
  const all = Promise.all(ends).finally(() => grace.abort());
  await sleep(graceMs, grace.signal).catch(() => {});
  for (const run of byKey.values()) run.stop("NodeShutdown");
  await orAbort(all, work).catch(() => {});
}
