/** Which intents go to CNS together. Pure; by the rules for which CNS refuses a whole call. */
import type { CnsEntity, CnsUpdate } from "../vsphere/cns_types.ts";
import type { Fault } from "../vsphere/fault.ts";
import { entityKey } from "./entity_record.ts";
import type { Intent } from "./plan.ts";

/** What is sent about one volume, and for whose intents. */
export interface Spec<T extends Intent> {
  readonly update: CnsUpdate;
  /** In their order. */
  readonly intents: readonly T[];
}

/** One call: no volume stands in it twice. */
export type Batch<T extends Intent> = readonly Spec<T>[];

export interface CoalesceOptions {
  /** The most specs of a call. */
  readonly size: number;
  /** Volumes of type FILE may have several entities of a type for each cluster; others may not. */
  readonly isFile?: (volumeId: string) => boolean;
}

/**
 * The calls that carry out all intents. Those of one wave may be made at once, for no volume is in
 * two of them; a wave begins when the one before it has ended, or the order at a volume is lost.
 */
export function wavesOf<T extends Intent>(
  intents: readonly T[],
  { size, isFile = () => false }: CoalesceOptions,
): readonly (readonly Batch<T>[])[] {
  const waves: Spec<T>[][] = [];
  for (const [volumeId, own] of Map.groupBy(intents, (intent) => intent.volumeId)) {
    const keyOf = isFile(volumeId) ? entityKey : typeKey;
    for (const [nth, group] of groupsOf(removalsFirst(own), keyOf).entries()) {
      const wave = waves[nth] ??= [];
      wave.push(specOf(group));
    }
  }
  return waves.map((wave) => chunksOf(wave, size));
}

/** What to do about a call that was refused as a whole. */
export type AfterFault<T extends Intent> =
  /** In these calls, one after the other, to find out which intent was refused. */
  | { readonly do: "divide"; readonly batches: readonly Batch<T>[] }
  | { readonly do: "fail" };

/** CNS looks at a whole call before it does any of it, so one bad entity hinders all the others. */
export function afterFault<T extends Intent>(batch: Batch<T>, fault: Fault): AfterFault<T> {
  if (isNobodysFault(fault)) return { do: "fail" };
  if (batch.length > 1) return { do: "divide", batches: batch.map((spec) => [spec]) };
  const intents = batch.flatMap((spec) => spec.intents);
  if (intents.length > 1) {
    return { do: "divide", batches: intents.map((intent) => [specOf([intent])]) };
  }
  return { do: "fail" };
}

/** The session's or the task's: any call would have met it. */
function isNobodysFault({ class: kind, type }: Fault): boolean {
  return kind === "session" || kind === "login" || type === "ManagedObjectNotFound";
}

/**
 * An entity that takes another's place must find it empty: what is removed goes before what is set,
 * but never before something earlier about the same entity.
 */
function removalsFirst<T extends Intent>(intents: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  const isEarly = intents.map((intent) => {
    const key = entityKey(intent.entity);
    const early = intent.entity.remove === true && !seen.has(key);
    seen.add(key);
    return early;
  });
  return [
    ...intents.filter((_, nth) => isEarly[nth]),
    ...intents.filter((_, nth) => !isEarly[nth]),
  ];
}

/** Cuts where an intent does not go with those before it: another cluster, or its key is taken. */
function groupsOf<T extends Intent>(
  intents: readonly T[],
  keyOf: (entity: CnsEntity) => string,
): T[][] {
  const groups: T[][] = [];
  let taken = new Set<string>();
  for (const intent of intents) {
    const last = groups.at(-1);
    const key = keyOf(intent.entity);
    if (last?.[0]?.cluster.clusterId === intent.cluster.clusterId && !taken.has(key)) {
      last.push(intent);
    } else {
      groups.push([intent]);
      taken = new Set();
    }
    taken.add(key);
  }
  return groups;
}

/** The cluster is that of the newest intent: its user and distribution may have changed. */
function specOf<T extends Intent>(intents: readonly T[]): Spec<T> {
  const newest = intents.at(-1);
  if (newest === undefined) throw new Error("a spec without an intent");
  const { volumeId, cluster } = newest;
  return { update: { volumeId, cluster, entities: intents.map(({ entity }) => entity) }, intents };
}

function typeKey({ clusterId, entityType }: CnsEntity): string {
  return JSON.stringify([clusterId, entityType]);
}

function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const chunks = Math.ceil(items.length / size);
  return Array.from({ length: chunks }, (_, nth) => items.slice(nth * size, (nth + 1) * size));
}
