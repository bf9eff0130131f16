/** Follows the objects of one kind and lets their movements run, until it is told to stop. */
import { linked, orAbort, sleep } from "../base/abort.ts";
import type { Log } from "../base/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { type Controller, runController } from "../kube/controller.ts";
import { kubeSource } from "../kube/kube_source.ts";
import type { ObjectKey } from "../kube/object.ts";
import { type WorkQueue, workQueue } from "../kube/queue.ts";
import { createStore, type Store } from "../kube/store.ts";
import { watchForever, type WatchHealth } from "../kube/watch.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable, MovementKind } from "./kind.ts";
import { leftIn } from "./leftovers.ts";
import { isFinal } from "./lifecycle.ts";
import { movementReconciler } from "./reconcile.ts";
import type { SlotPool } from "./slots.ts";
import type { Observer, Runs } from "./start.ts";
import { statusWriter } from "./status.ts";

export interface MovementOptions<T extends Movable> {
  readonly client: KubeClient;
  readonly kind: MovementKind<T>;
  /** Where the objects are; those of other namespaces are not seen. */
  readonly namespace: string;
  readonly node: string;
  readonly capabilities: Capabilities;
  /** The node's, shared with the other kinds. */
  readonly slots: SlotPool;
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
  readonly queue: { readonly length: number };
  /** Returns when the intake was ended and every movement has its result written, or `work` ended. */
  run(signals: MovementSignals): Promise<void>;
}

const workers = 8;
/** Those of a line of their own for what a former agent left, so that no new work waits behind it. */
const leftoverWorkers = 16;

interface Queues {
  readonly fresh: WorkQueue<ObjectKey>;
  readonly leftover: WorkQueue<ObjectKey>;
}

export function createMovements<T extends Movable>(options: MovementOptions<T>): Movements {
  const queues = { fresh: workQueue<ObjectKey>(), leftover: workQueue<ObjectKey>() };
  return {
    queue: {
      get length() {
        return queues.fresh.length + queues.leftover.length;
      },
    },
    run: (signals) => run(options, queues, signals),
  };
}

async function run<T extends Movable>(
  options: MovementOptions<T>,
  queues: Queues,
  { intake, work }: MovementSignals,
): Promise<void> {
  const { client, kind, capabilities, holder, log } = options;
  const store = createStore<T>();
  const leftovers = new Set<string>();
  const isLeftover = (uid: string) => leftovers.has(uid);
  const add = (key: ObjectKey) => {
    const { fresh, leftover } = queues;
    (isLeftover(store.get(key)?.metadata.uid ?? "") ? leftover : fresh).add(key);
  };
  const runs: Runs = { byKey: new Map(), ends: new Set() };
  const reconcile = movementReconciler<T>({
    ...options,
    now: () => new Date(),
    status: statusWriter({ client, resource: kind.resource, capabilities, holder }),
    slots: options.slots.line(add),
    runs,
    unanswered: new Set(),
    work,
    read: store.get,
    again: add,
    isLeftover,
  });
  try {
    await Promise.all([
      follow(options, { store, add, leftovers }, intake),
      kind.standings?.follow(add, intake),
      runController({ queue: queues.fresh, reconcile, workers, log }, intake),
      endLeftovers(
        { queue: queues.leftover, reconcile, workers: leftoverWorkers, log },
        store,
        intake,
      ),
    ]);
  } finally {
    await endRuns(runs, options, work);
  }
}

/** After the first list: new work that it has is taken on before the API server is busy with these. */
async function endLeftovers<T extends Movable>(
  controller: Controller,
  store: Store<T>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await store.whenSynced(signal);
  } catch {
    return; // told to stop
  }
  const { queue: { length }, log } = controller;
  if (length > 0) log.info("Objects that were under way before are judged", { count: length });
  await runController(controller, signal);
}

interface Followed<T extends Movable> {
  readonly store: Store<T>;
  readonly add: (key: ObjectKey) => void;
  readonly leftovers: Set<string>;
}

/** Where the CRD lets the API server select by node, the objects of other nodes never come. */
function selection<T extends Movable>(
  { kind: { nodeField }, capabilities, node }: MovementOptions<T>,
): { readonly fieldSelector?: string } {
  if (nodeField === undefined || !capabilities.selectable.has(nodeField)) return {};
  return { fieldSelector: `${nodeField.slice(1)}=${node}` };
}

/** Keeps the store as the API server says, and queues what changed; ends with the signal. */
async function follow<T extends Movable>(
  options: MovementOptions<T>,
  { store, add, leftovers }: Followed<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, kind, namespace, node, health, holder } = options;
  const beganMs = Date.now();
  /** Only that is kept for which there may still be something to do here. */
  const trim = (object: T): T | undefined => {
    const done = isFinal(object.status?.phase ?? "New") &&
      !object.metadata.finalizers?.includes(kind.finalizer);
    return kind.isMine(object, node) && !done ? kind.trim(object) : undefined;
  };
  const source = kubeSource(client, kind.resource, { namespace, ...selection(options), trim });
  try {
    for await (const change of watchForever(source, signal, { health })) {
      const since = store.synced ? { beganMs } : "first list";
      for (const uid of leftIn(change, { holder, since })) leftovers.add(uid);
      for (const key of store.apply(change)) add(key);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
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
