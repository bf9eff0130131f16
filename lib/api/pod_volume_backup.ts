// Generated from manifests/crds/velero.io_podvolumebackups.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** The backup of one volume of one pod, done by the agent on the pod's node. */
export interface PodVolumeBackup extends KubeObject {
  readonly spec: PodVolumeBackupSpec;
  readonly status?: PodVolumeBackupStatus;
}

/** How the API server addresses PodVolumeBackup objects. */
export const podVolumeBackups: Resource<PodVolumeBackup> = {
  group: "velero.io",
  version: "v1",
  plural: "podvolumebackups",
  kind: "PodVolumeBackup",
  namespaced: true,
};

/** What to back up and where to. */
export interface PodVolumeBackupSpec {
  /** The BackupStorageLocation, in the same namespace, that takes the data. */
  readonly backupStorageLocation: string;
  /** Asks for an early end. Since Velero 1.17. */
  readonly cancel?: boolean;
  /** The node the pod runs on; only the agent of this node acts. */
  readonly node: string;
  readonly pod: PodVolumeBackupPod;
  /** The repository's address for restic; empty for kopia. */
  readonly repoIdentifier: string;
  /** Kept with the snapshot, so that it can be found again. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Settings of the uploader; `ParallelFilesUpload` is a number of files. */
  readonly uploaderSettings?: Readonly<Record<string, string>> | null;
  readonly uploaderType?: PodVolumeBackupUploaderType;
  /** The volume's name in the pod. */
  readonly volume: string;
}

/** The pod that has the volume. */
export interface PodVolumeBackupPod {
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
export type PodVolumeBackupUploaderType = "kopia" | "restic" | "";

/** How far the backup is. Written by the agent. */
export interface PodVolumeBackupStatus {
  /** When the agent took the object on. Since Velero 1.17. */
  readonly acceptedTimestamp?: string | null;
  /** When a final phase was reached, successful or not. */
  readonly completionTimestamp?: string | null;
  /** The bytes that no earlier snapshot had. Since Velero 1.18. */
  readonly incrementalBytes?: number;
  /** Why it failed or was canceled. */
  readonly message?: string;
  /** The folder that was read, as the reading process saw it. */
  readonly path?: string;
  readonly phase?: PodVolumeBackupPhase;
  readonly progress?: PodVolumeBackupProgress;
  /** The snapshot in the repository; for kopia the manifest's id. */
  readonly snapshotID?: string;
  /** When the data began to move. */
  readonly startTimestamp?: string | null;
}

/** Before Velero 1.17 only New, InProgress, Completed and Failed. */
export type PodVolumeBackupPhase =
  | "New"
  | "Accepted"
  | "Prepared"
  | "InProgress"
  | "Canceling"
  | "Canceled"
  | "Completed"
  | "Failed";

/** Bytes so far; the total is an estimate until the end. */
export interface PodVolumeBackupProgress {
  readonly bytesDone?: number;
  readonly totalBytes?: number;
}
