// Generated from manifests/crds/velero.io_podvolumerestores.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** The restore of one volume of one pod, done by the agent on the node where the pod waits for its data. */
export interface PodVolumeRestore extends KubeObject {
  readonly spec: PodVolumeRestoreSpec;
  readonly status?: PodVolumeRestoreStatus;
}

/** How the API server addresses PodVolumeRestore objects. */
export const podVolumeRestores: Resource<PodVolumeRestore> = {
  group: "velero.io",
  version: "v1",
  plural: "podvolumerestores",
  kind: "PodVolumeRestore",
  namespaced: true,
};

/** What to restore, from where and into which volume. */
export interface PodVolumeRestoreSpec {
  /** The BackupStorageLocation, in the same namespace, that has the data. */
  readonly backupStorageLocation: string;
  /** Asks for an early end. Since Velero 1.17. */
  readonly cancel?: boolean;
  readonly pod: PodVolumeRestorePod;
  /** The repository's address for restic; empty for kopia. */
  readonly repoIdentifier: string;
  /** The snapshot in the repository; for kopia the manifest's id. */
  readonly snapshotID: string;
  /** The bytes of the snapshot's files. Since Velero 1.18. */
  readonly snapshotSize?: number;
  /** The namespace of the pod that was backed up; its repository has the data. */
  readonly sourceNamespace: string;
  /** Settings of the uploader: `WriteSparseFiles` is true or false, `ParallelFilesDownload` is a number of files. */
  readonly uploaderSettings?: Readonly<Record<string, string>> | null;
  readonly uploaderType?: PodVolumeRestoreUploaderType;
  /** The volume's name in the pod. */
  readonly volume: string;
}

/** The pod that gets the data. */
export interface PodVolumeRestorePod {
  readonly apiVersion?: string;
  readonly fieldPath?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  /** Tells the pod from a later one of the same name. */
  readonly uid?: string;
}

/** The program that moves the data; empty means restic. */
export type PodVolumeRestoreUploaderType = "kopia" | "restic" | "";

/** How far the restore is. Written by the agent. */
export interface PodVolumeRestoreStatus {
  /** When the agent took the object on. Since Velero 1.17. */
  readonly acceptedTimestamp?: string | null;
  /** When a final phase was reached, successful or not. */
  readonly completionTimestamp?: string | null;
  /** Why it failed or was canceled. */
  readonly message?: string;
  /** The node whose agent does it. Since Velero 1.17. */
  readonly node?: string;
  readonly phase?: PodVolumeRestorePhase;
  readonly progress?: PodVolumeRestoreProgress;
  /** When the data began to move. */
  readonly startTimestamp?: string | null;
}

/** Before Velero 1.17 only New, InProgress, Completed and Failed. */
export type PodVolumeRestorePhase =
  | "New"
  | "Accepted"
  | "Prepared"
  | "InProgress"
  | "Canceling"
  | "Canceled"
  | "Completed"
  | "Failed";

/** Bytes so far; the total grows until the snapshot is listed. */
export interface PodVolumeRestoreProgress {
  readonly bytesDone?: number;
  readonly totalBytes?: number;
}
