/** How CNS differs from what the objects ask for. Pure, and always in the same order. */
import type { CnsEntity, CnsReference, CnsVolume } from "../vsphere/cns_types.ts";
import { type Stop, type StopLimits, stopsOf } from "./drift_stops.ts";
import { entityKey } from "./entity_record.ts";

/** An entity that a volume should have. */
export interface Desired {
  readonly volumeId: string;
  readonly entity: CnsEntity;
  /** Of the entity's cluster; empty when the object does not say. */
  readonly distribution: string;
}

/** One difference. What `entity` says is what it should be, but for a stale one. */
export type Drift =
  | {
    readonly is: "missing-entity" | "stale-entity";
    readonly volumeId: string;
    readonly entity: CnsEntity;
  }
  | {
    readonly is: "label-drift" | "reference-drift";
    readonly volumeId: string;
    readonly entity: CnsEntity;
    readonly actual: CnsEntity;
  }
  | {
    readonly is: "distribution-drift";
    readonly volumeId: string;
    readonly clusterId: string;
    readonly distribution: string;
    readonly actual: string;
  }
  /** Entities are desired of it, but CNS does not have it. */
  | {
    readonly is: "unknown-volume";
    readonly volumeId: string;
    readonly entities: readonly CnsEntity[];
  }
  /** It is our clusters' alone, and no PersistentVolume stands for it: only to be reported. */
  | { readonly is: "orphan-volume"; readonly volumeId: string; readonly name: string }
  /** It has entities of a cluster that nobody here claims: only to be reported. */
  | {
    readonly is: "foreign-cluster";
    readonly volumeId: string;
    readonly clusterId: string;
    readonly entityCount: number;
  };

export interface CompareOptions extends StopLimits {
  /** Whose entities are compared: all that is desired of these clusters is given. */
  readonly clusterIds: ReadonlySet<string>;
  /** Claimed here too, but not compared, such as the supervisor's own. */
  readonly otherClusterIds?: ReadonlySet<string>;
  /** Of every PersistentVolume there is, whether or not anything is desired of it. */
  readonly persistentVolumeIds: ReadonlySet<string>;
  /** What this vCenter cannot keep is no drift. */
  readonly unknownElements?: ReadonlySet<string>;
}

export interface Comparison {
  /** By volume, then class, then entity. */
  readonly drifts: readonly Drift[];
  /** Why nothing may be taken away without being forced. */
  readonly stops: readonly Stop[];
  readonly volumeCount: number;
  /** Of our clusters, in CNS. */
  readonly entityCount: number;
}

/** `actual` may name a volume twice, as pages of a changing list do: the later one counts. */
export function compare(
  desired: readonly Desired[],
  actual: readonly CnsVolume[],
  options: CompareOptions,
): Comparison {
  const wanted = Map.groupBy(desired, ({ volumeId }) => volumeId);
  const volumes = new Map(actual.map((volume) => [volume.volumeId, volume]));
  const unknown = [...wanted].filter(([volumeId]) => !volumes.has(volumeId))
    .map(([volumeId, own]): Drift => {
      const entities = own.map(({ entity }) => entity).sort(byText(entityKey));
      return { is: "unknown-volume", volumeId, entities };
    });
  const known = [...volumes.values()].flatMap((volume) =>
    driftsOf(volume, wanted.get(volume.volumeId) ?? [], options)
  );
  const drifts = [...unknown, ...known].map((drift) => ({ drift, text: sortText(drift) }))
    .sort(byText(({ text }) => text)).map(({ drift }) => drift);
  const ours = [...volumes.values()].flatMap(({ entities }) =>
    entities.filter(({ clusterId }) => options.clusterIds.has(clusterId))
      .map((entity) => ({ entity }))
  );
  const removals = drifts.filter(({ is }) => is === "stale-entity").length;
  const stops = stopsOf({ desired, ours, removals }, options);
  return { drifts, stops, volumeCount: volumes.size, entityCount: ours.length };
}

function driftsOf(
  volume: CnsVolume,
  wanted: readonly Desired[],
  options: CompareOptions,
): readonly Drift[] {
  const { volumeId } = volume;
  const desired = new Map(wanted.map(({ entity }) => [entityKey(entity), entity]));
  const ours = new Map(
    volume.entities.filter(({ clusterId }) => options.clusterIds.has(clusterId))
      .map((entity) => [entityKey(entity), entity]),
  );
  const isOrphan = isOrphanVolume(volume, wanted, options);
  // An orphan's entities are all that tells whose it was.
  const stale = isOrphan ? [] : [...ours].filter(([key]) => !desired.has(key));
  return [
    ...(isOrphan ? [{ is: "orphan-volume", volumeId, name: volume.name } as const] : []),
    ...stale.map(([, entity]) => ({ is: "stale-entity", volumeId, entity }) as const),
    ...[...desired].flatMap(([key, entity]): readonly Drift[] => {
      const found = ours.get(key);
      if (found === undefined) return [{ is: "missing-entity", volumeId, entity }];
      return entityDrifts(volumeId, { entity, found }, options);
    }),
    ...distributionDrifts(volume, wanted, options),
    ...foreignClusters(volume, options),
  ];
}

function isOrphanVolume(
  { volumeId, clusters }: CnsVolume,
  wanted: readonly Desired[],
  options: CompareOptions,
): boolean {
  if (wanted.length > 0 || options.persistentVolumeIds.has(volumeId)) return false;
  return clusters.length > 0 && clusters.every(({ clusterId }) => isClaimed(clusterId, options));
}

function isClaimed(clusterId: string, { clusterIds, otherClusterIds }: CompareOptions): boolean {
  return clusterIds.has(clusterId) || otherClusterIds?.has(clusterId) === true;
}

interface Pair {
  readonly entity: CnsEntity;
  readonly found: CnsEntity;
}

function entityDrifts(
  volumeId: string,
  { entity, found }: Pair,
  { unknownElements }: CompareOptions,
): readonly Drift[] {
  const marks = entity.entityType === "PERSISTENT_VOLUME" ? marksOf(found.labels) : {};
  // Setting an entity replaces its labels: the marks are kept with those that are asked for.
  const whole = { ...entity, labels: { ...entity.labels, ...marks } };
  const drift = { volumeId, entity: whole, actual: found } as const;
  const isSameLabels = isSameRecord(whole.labels, found.labels);
  const isSameReferences = unknownElements?.has("referredEntity") === true ||
    isSameSet(entity.references, found.references);
  return [
    ...(isSameLabels ? [] : [{ is: "label-drift", ...drift } as const]),
    ...(isSameReferences ? [] : [{ is: "reference-drift", ...drift } as const]),
  ];
}

/** Labels that the full sync of the CSI driver puts on a PERSISTENT_VOLUME for its own purposes. */
const markNames = ["pv_missing", "pv_retained"];

function marksOf(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => markNames.includes(key)));
}

function isSameRecord(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const entries = Object.entries(one);
  return entries.length === Object.keys(other).length &&
    entries.every(([key, value]) => Object.hasOwn(other, key) && other[key] === value);
}

function isSameSet(one: readonly CnsReference[], other: readonly CnsReference[]): boolean {
  const keys = new Set(one.map(entityKey));
  const others = new Set(other.map(entityKey));
  return keys.size === others.size && keys.isSubsetOf(others);
}

function distributionDrifts(
  { volumeId, clusters }: CnsVolume,
  wanted: readonly Desired[],
  { unknownElements }: CompareOptions,
): readonly Drift[] {
  if (unknownElements?.has("clusterDistribution")) return [];
  const said = wanted.filter(({ distribution }) => distribution !== "");
  const byCluster = Map.groupBy(said, ({ entity }) => entity.clusterId);
  return [...byCluster].flatMap(([clusterId, own]): readonly Drift[] => {
    const actual = clusters.find((cluster) => cluster.clusterId === clusterId)?.distribution ?? "";
    // Objects that disagree would be at odds for ever: one that is met is enough.
    const [distribution = ""] = own.map((one) => one.distribution).sort();
    if (own.some((one) => one.distribution === actual)) return [];
    return [{ is: "distribution-drift", volumeId, clusterId, distribution, actual }];
  });
}

function foreignClusters(volume: CnsVolume, options: CompareOptions): readonly Drift[] {
  const { volumeId, entities } = volume;
  const foreign = entities.filter(({ clusterId }) =>
    clusterId !== "" && !isClaimed(clusterId, options)
  );
  return [...Map.groupBy(foreign, ({ clusterId }) => clusterId)].map(([clusterId, own]) => ({
    is: "foreign-cluster",
    volumeId,
    clusterId,
    entityCount: own.length,
  }));
}

/** Also what a difference is known by in a second look. */
export function sortText(drift: Drift): string {
  const what = "entity" in drift
    ? entityKey(drift.entity)
    : "clusterId" in drift
    ? drift.clusterId
    : "";
  return JSON.stringify([drift.volumeId, drift.is, what]);
}

function byText<T>(textOf: (item: T) => string) {
  return (one: T, other: T) => {
    const [first, second] = [textOf(one), textOf(other)];
    return first < second ? -1 : first > second ? 1 : 0;
  };
}
