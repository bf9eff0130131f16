/** When a comparison looks as if made with the wrong cluster, and must not take anything away. */
import type { CnsEntity } from "../vsphere/cns_types.ts";

export interface StopLimits {
  /** Of all our entities in CNS, the most that may be stale; from 0 to 1. */
  readonly mostStaleShare?: number;
  /** So few may be stale whatever their share: in a small cluster one is much. */
  readonly fewStale?: number;
}

export type Stop =
  /** The objects were not found, or all of them are gone. */
  | { readonly is: "nothing-desired"; readonly removals: number }
  | { readonly is: "too-many-stale"; readonly removals: number; readonly of: number }
  /** Much of a cluster's id names what its objects never speak of: another has the same id. */
  | {
    readonly is: "duplicate-cluster-id";
    readonly clusterId: string;
    readonly strangers: number;
    readonly of: number;
  };

interface Placed {
  readonly entity: CnsEntity;
}

export interface StopFacts {
  readonly desired: readonly Placed[];
  /** The entities of our clusters in CNS. */
  readonly ours: readonly Placed[];
  readonly removals: number;
}

/** Empty when entities may be taken away. */
export function stopsOf(
  { desired, ours, removals }: StopFacts,
  { mostStaleShare = 0.2, fewStale = 10 }: StopLimits,
): readonly Stop[] {
  const isMuch = (part: number, of: number) => part > fewStale && part > of * mostStaleShare;
  const byId = ({ entity }: Placed) => entity.clusterId;
  const wanted = Map.groupBy(desired, byId);
  const clusters = [...Map.groupBy(ours, byId)].sort(([one], [other]) => one < other ? -1 : 1);
  const doubles = clusters.map(([clusterId, own]) => {
    const strangers = strangersIn(own, wanted.get(clusterId) ?? []);
    return { is: "duplicate-cluster-id", clusterId, strangers, of: own.length } as const;
  }).filter(({ strangers, of }) => isMuch(strangers, of));
  const isNothing = desired.length === 0 && removals > 0;
  return [
    ...(isNothing ? [{ is: "nothing-desired", removals } as const] : []),
    ...(isMuch(removals, ours.length)
      ? [{ is: "too-many-stale", removals, of: ours.length } as const]
      : []),
    ...doubles,
  ];
}

/** Also those of orphan volumes: of another cluster's volumes nothing is known here. */
function strangersIn(own: readonly Placed[], desired: readonly Placed[]): number {
  const namespaces = new Set(desired.map(({ entity }) => entity.namespace));
  const names = new Set(
    desired.filter(({ entity }) => entity.namespace === "").map(({ entity }) => entity.entityName),
  );
  return own.filter(({ entity: { namespace, entityName } }) =>
    namespace === "" ? !names.has(entityName) : !namespaces.has(namespace)
  ).length;
}
