import type { CnsVolumeMetadata } from "../api/cns_volume_metadata.ts";
import type { CnsReference } from "../vsphere/cns_types.ts";

/** On an object until its entity is out of CNS; the controllers before ours have the same one. */
export const finalizer = "cns.vmware.com";

/** Volumes of other drivers are unknown to CNS. */
export const csiDriver = "csi.vsphere.vmware.com";

/** As much as CNS stores of the id of a cluster. */
export const longestClusterId = 64;

/** What an object says, with nothing missing and its references in one spelling. */
export interface EntityRecord {
  readonly entityType: string;
  readonly entityName: string;
  /** In the guest cluster; empty for what has none. */
  readonly namespace: string;
  readonly clusterId: string;
  readonly distribution: string;
  /** Absent is more than empty: a POD may not even have an empty map. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumeNames: readonly string[];
  readonly references: readonly CnsReference[];
}

/** Reads whatever an API server may hold, also what an older definition let pass. */
export function entityRecord({ spec }: CnsVolumeMetadata): EntityRecord {
  // Not all of it need be there: a definition with fewer rules may have stood here before.
  const said: Partial<CnsVolumeMetadata["spec"]> = spec;
  return {
    entityType: said.entitytype ?? "",
    entityName: said.entityname ?? "",
    namespace: said.namespace ?? "",
    clusterId: said.guestclusterid ?? "",
    distribution: said.clusterdistribution ?? "",
    ...(said.labels && { labels: said.labels }),
    volumeNames: said.volumenames ?? [],
    references: (said.entityreferences ?? []).map(referenceOf),
  };
}

/** The small spelling is that of guests of one development state; the server keeps it as it is. */
function referenceOf(item: object): CnsReference {
  const fields = new Map<string, unknown>(Object.entries(item));
  const text = (...names: readonly string[]) =>
    names.map((name) => fields.get(name)).find((value) => typeof value === "string") ?? "";
  return {
    entityType: text("EntityType", "entityType"),
    entityName: text("EntityName", "entityName"),
    namespace: text("Namespace", "namespace"),
    clusterId: text("ClusterID", "clusterId"),
  };
}

/** What an entity of a volume goes by in CNS; equal texts are the same entity. */
export function entityKey({ clusterId, entityType, namespace, entityName }: CnsReference): string {
  return JSON.stringify([clusterId, entityType, namespace, entityName]);
}
