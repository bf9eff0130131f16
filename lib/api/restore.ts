// Generated from manifests/crds/velero.io_restores.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** One restore of a backup; it owns the PodVolumeRestores that are part of it. */
export interface Restore extends KubeObject {
  readonly status?: RestoreStatus;
}

/** How the API server addresses Restore objects. */
export const restores: Resource<Restore> = {
  group: "velero.io",
  version: "v1",
  plural: "restores",
  kind: "Restore",
  namespaced: true,
};

/** How far it is. Written by the Velero server. */
export interface RestoreStatus {
  /** Among others New, InProgress, Completed, PartiallyFailed, Failed, FailedValidation. */
  readonly phase?: string;
}
