// Generated from manifests/crds/cns.vmware.com_cnsvolumemetadatas.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** One object of a guest cluster with the volumes that it uses. */
export interface CnsVolumeMetadata extends KubeObject {
  readonly spec: CnsVolumeMetadataSpec;
  readonly status?: CnsVolumeMetadataStatus;
}

/** How the API server addresses CnsVolumeMetadata objects. */
export const cnsVolumeMetadatas: Resource<CnsVolumeMetadata> = {
  group: "cns.vmware.com",
  version: "v1alpha1",
  plural: "cnsvolumemetadatas",
  kind: "CnsVolumeMetadata",
  namespaced: true,
};

/** What vCenter is to know. Written by the guest cluster. */
export interface CnsVolumeMetadataSpec {
  /** Claims of the supervisor, in the object's own namespace. */
  readonly volumenames: readonly string[];
  /** The guest cluster's UID. */
  readonly guestclusterid: string;
  /** PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM or POD. */
  readonly entitytype: string;
  /** The name in the guest cluster. */
  readonly entityname: string;
  /** What it refers to; of a POD the nth belongs to the nth volume. */
  readonly entityreferences: readonly CnsVolumeMetadataEntityreferences[];
  /** The labels in the guest cluster; a POD has none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The namespace in the guest cluster; a PERSISTENT_VOLUME has none. */
  readonly namespace?: string;
  /** What kind of cluster the guest is, in free words. */
  readonly clusterdistribution?: string;
}

/** Another object. The keys begin with a capital. */
export interface CnsVolumeMetadataEntityreferences {
  readonly EntityType?: string;
  readonly EntityName?: string;
  readonly Namespace?: string;
  /** Empty for an object of the supervisor. */
  readonly ClusterID?: string;
}

/** What became of it in vCenter. Written by the controller. */
export interface CnsVolumeMetadataStatus {
  /** An entry for each volume, in their order. */
  readonly volumestatus?: readonly CnsVolumeMetadataVolumestatus[];
}

/** What became of one volume's metadata. */
export interface CnsVolumeMetadataVolumestatus {
  readonly volumename: string;
  readonly updated: boolean;
  /** Why it is not updated, or why nothing was to be done. */
  readonly errormessage?: string;
}
