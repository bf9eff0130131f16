/**
 * Why a movement waits, ended or was refused. The same code stands in the object's message, the
 * event, the metric label, the log field and the JSON output.
 *
 * The list lives in base because the exposure and the data path give reasons as well as the movement.
 */
export const reasons = [
  // the volume
  "PodGone",
  "PodReplaced",
  "PodNotRunning",
  "PodOnOtherNode",
  "VolumeNotInPod",
  "VolumeUnbound",
  "BlockVolumeUnsupported",
  "HostPathMissing",
  "HostPathAmbiguous",
  "HostPathUnsafe",
  "VolumeReadError",
  "VolumeWriteError",
  "VolumeFull",
  "DoneFileError",
  // the repository
  "StorageLocationMissing",
  "StorageLocationInvalid",
  "CredentialsMissing",
  "RepositoryNotReady",
  "RepositoryNotInitialized",
  "RepositoryPassword",
  "RepositoryUnreachable",
  "RepositoryAccessDenied",
  "RepositoryFull",
  "RepositoryLocked",
  "BucketMissing",
  "SnapshotMissing",
  "SnapshotDamaged",
  // the uploader
  "UploaderUnsupported",
  "UploaderSettingInvalid",
  "UploaderNotStarted",
  "KopiaMissing",
  "KopiaTooOld",
  "KopiaKilled",
  "KopiaOutOfMemory",
  "KopiaFailed",
  "ResticMissing",
  "ResticKilled",
  "ResticOutOfMemory",
  "ResticFailed",
  "NodeDiskFull",
  // the life of the movement
  "SlotWait",
  "Canceled",
  "NodeShutdown",
  "AgentRestarted",
  "AgentGone",
  "NodeGone",
  "OwnerMissing",
  "ObjectDeleted",
  "KubernetesError",
  "InternalError",
] as const;

export type Reason = typeof reasons[number];
