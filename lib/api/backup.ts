// Generated from manifests/crds/velero.io_backups.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** One backup of the cluster; it owns the PodVolumeBackups that are part of it. */
export interface Backup extends KubeObject {
  readonly status?: BackupStatus;
}

/** How the API server addresses Backup objects. */
export const backups: Resource<Backup> = {
  group: "velero.io",
  version: "v1",
  plural: "backups",
  kind: "Backup",
  namespaced: true,
};

/** How far it is. Written by the Velero server. */
export interface BackupStatus {
  /** Among others New, InProgress, Completed, PartiallyFailed, Failed, FailedValidation. */
  readonly phase?: string;
}
