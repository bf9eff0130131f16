/** Names that Velero and Kubernetes have given: others read and write them too. */

/** Labels of velero.io objects. Longer values than 63 characters are shortened as `validLabelValue` does. */
export const labels = {
  backupName: "velero.io/backup-name",
  backupUid: "velero.io/backup-uid",
  restoreName: "velero.io/restore-name",
  restoreUid: "velero.io/restore-uid",
  /** On a backup: the claim whose earlier snapshots serve as parent. */
  pvcUid: "velero.io/pvc-uid",
  /** On a restore: the restored pod. */
  podUid: "velero.io/pod-uid",
  volumeNamespace: "velero.io/volume-namespace",
  storageLocation: "velero.io/storage-location",
  repositoryType: "velero.io/repository-type",
  asyncOperationId: "velero.io/async-operation-id",
  /** On a pod that moves one object's data: the object's name. */
  dataUpload: "velero.io/data-upload",
  dataDownload: "velero.io/data-download",
  /** Present while an object is Accepted or Prepared. */
  exposeOngoing: "velero.io/expose-on-going",
} as const;

export const annotations = {
  /** On a PodVolumeBackup: the claim's name; part of the snapshot's source path. */
  pvcName: "velero.io/pvc-name",
  /** On a static pod: the name of its folder under the host's pods folder, in place of the UID. */
  mirrorPod: "kubernetes.io/config.mirror",
  /** On a PersistentVolume: the driver that made it. */
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  /** On a PersistentVolume: the CSI driver that took over from an in-tree plugin. */
  migratedTo: "pv.kubernetes.io/migrated-to",
} as const;

export const finalizers = {
  podVolume: "velero.io/pod-volume-finalizer",
  dataMovement: "velero.io/data-upload-download-finalizer",
} as const;

/** The Secret, in Velero's namespace, whose key holds the password of all repositories. */
export const repositoryPassword = {
  secret: "velero-repo-credentials",
  key: "repository-password",
} as const;

/** What a snapshot carries, so that Velero finds it again. */
export const snapshotNames = {
  requesterTag: "snapshot-requester",
  uploaderTag: "snapshot-uploader",
  uploader: "kopia",
  description: "Kopia Uploader",
  pin: "velero-pin",
  /** User and host of every source. */
  owner: "default@default",
} as const;

/** Who asked for a snapshot: the requester tag and the head of the source path. */
export const requesters = {
  podVolume: "snapshot-pod-volume",
  dataMovement: "snapshot-data-upload-download",
  /** Up to Velero 1.16. */
  podVolumeInPlace: "pod-volume-backup-restore",
} as const;

/** The only provider prefix that may be left out of a storage location. */
export const providerPrefix = "velero.io/";

/** The init container that holds a restored pod back until its volumes are filled. */
export const restoreWaitContainer = "restore-wait";

export const defaultNamespace = "velero";
