/** Builders about CNS: each gives what works; a test changes what it is about. */
import type { CnsVolumeMetadata } from "../../lib/api/cns_volume_metadata.ts";
import type { CnsEntity, CnsVolume } from "../../lib/vsphere/cns_types.ts";
import type { Change } from "./objects.ts";

/** Object `s/o` of a guest's claim `app/data`, which uses the supervisor's claim `c1`. */
export function claimMetadata(change: Change<CnsVolumeMetadata> = {}): CnsVolumeMetadata {
  const { spec, status, ...metadata } = change;
  return {
    metadata: { name: "o", namespace: "s", ...metadata },
    spec: {
      volumenames: ["c1"],
      guestclusterid: "guest",
      entitytype: "PERSISTENT_VOLUME_CLAIM",
      entityname: "data",
      namespace: "app",
      entityreferences: [reference("PERSISTENT_VOLUME", "pv-1")],
      ...spec,
    },
    ...(status && { status }),
  };
}

/** Of a guest's volume: it has no namespace, and refers to a claim of the supervisor. */
export function volumeMetadata(change: Change<CnsVolumeMetadata> = {}): CnsVolumeMetadata {
  const entityreferences = [
    { EntityType: "PERSISTENT_VOLUME_CLAIM", EntityName: "c1", Namespace: "s", ClusterID: "" },
  ];
  const spec = { entitytype: "PERSISTENT_VOLUME", entityname: "pv-1", entityreferences };
  const { namespace: _, ...rest } = claimMetadata().spec;
  return claimMetadata({ ...change, spec: { ...rest, ...spec, namespace: "", ...change.spec } });
}

/** Of a guest's pod with a claim for each of the supervisor's: `data-1` at `c1`, and so on. */
export function podMetadata(
  count: number,
  change: Change<CnsVolumeMetadata> = {},
): CnsVolumeMetadata {
  const nths = Array.from({ length: count }, (_, nth) => nth + 1);
  const spec = {
    volumenames: nths.map((nth) => `c${nth}`),
    entitytype: "POD",
    entityname: "web",
    entityreferences: nths.map((nth) => reference("PERSISTENT_VOLUME_CLAIM", `data-${nth}`, "app")),
  };
  return claimMetadata({ ...change, spec: { ...spec, ...change.spec } });
}

/** What CNS keeps of a guest's claim. */
export function entity(change: Partial<CnsEntity> = {}): CnsEntity {
  return {
    entityType: "PERSISTENT_VOLUME_CLAIM",
    entityName: "data",
    namespace: "app",
    clusterId: "guest",
    labels: {},
    references: [],
    ...change,
  };
}

/** A volume of the cluster `guest` with these entities. */
export function cnsVolume(
  volumeId: string,
  entities: readonly CnsEntity[],
  change: Partial<CnsVolume> = {},
): CnsVolume {
  const cluster = { clusterId: "guest", user: "u", flavor: "GUEST_CLUSTER", distribution: "" };
  return {
    volumeId,
    name: `name of ${volumeId}`,
    type: "BLOCK",
    datastoreUrl: "",
    healthStatus: "",
    clusters: [cluster],
    entities,
    ...change,
  };
}

function reference(EntityType: string, EntityName: string, Namespace = "") {
  return { EntityType, EntityName, Namespace, ClusterID: "guest" };
}
