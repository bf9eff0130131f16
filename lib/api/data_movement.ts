/** Snapshot data movements, with the little that is read of them. */
import type { KubeObject, Resource } from "../kube/object.ts";

/** A DataUpload or DataDownload. */
export interface DataMovement extends KubeObject {
  readonly status?: { readonly phase?: string };
}

export const dataUploads: Resource<DataMovement> = {
  group: "velero.io",
  version: "v2alpha1",
  plural: "datauploads",
  kind: "DataUpload",
  namespaced: true,
};

export const dataDownloads: Resource<DataMovement> = {
  group: "velero.io",
  version: "v2alpha1",
  plural: "datadownloads",
  kind: "DataDownload",
  namespaced: true,
};
