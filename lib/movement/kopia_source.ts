/**
 * Which kopia source a pod volume is stored under. kopia reads a volume incrementally against the
 * newest snapshot of the same source, so the source must stay the same when the pod changes.
 */
import type { PodVolumeBackup } from "../api/pod_volume_backup.ts";
import { annotations, labels, requesters } from "../api/names.ts";

/** On a completed PodVolumeBackup: the kopia source path of its snapshot. */
export const sourceAnnotation = "longshore/kopia-source";

/**
 * The source of the parent if there is one, else a name that does not depend on the pod's uid: the
 * form of Velero 1.17, which a StatefulSet's pod keeps as well.
 */
export function kopiaSource(backup: PodVolumeBackup, parent: PodVolumeBackup | undefined): string {
  return (parent && storedSource(parent)) ?? stableSource(backup);
}

/**
 * The newest completed backup of the same claim to the same place by the same uploader: Velero's rule
 * for a parent. `candidates` are the objects of the namespace with the same claim label.
 */
export function parentOf(
  backup: PodVolumeBackup,
  candidates: readonly PodVolumeBackup[],
): PodVolumeBackup | undefined {
  const claim = backup.metadata.labels?.[labels.pvcUid];
  if (!claim) return undefined;
  return candidates
    .filter(({ metadata, spec, status }) =>
      metadata.labels?.[labels.pvcUid] === claim &&
      status?.phase === "Completed" && !!status.snapshotID &&
      spec?.uploaderType === backup.spec?.uploaderType &&
      spec?.backupStorageLocation === backup.spec?.backupStorageLocation
    )
    .sort((a, b) => startedAt(b) - startedAt(a))[0];
}

/**
 * Where the parent's snapshot is: as we noted it; else as Velero stores it, under the host path up to
 * 1.16 (which it notes in status.path) and under a stable name from 1.17 on (status.path is then the
 * path inside the hosting pod).
 */
function storedSource(parent: PodVolumeBackup): string | undefined {
  const noted = parent.metadata.annotations?.[sourceAnnotation];
  if (noted) return noted;
  const path = parent.status?.path ?? "";
  return path.includes("/volumes/") ? path : stableSource(parent);
}

function stableSource({ metadata, spec }: PodVolumeBackup): string {
  const volume = metadata.annotations?.[annotations.pvcName] || spec?.volume;
  return [requesters.podVolume, "kopia", spec?.pod.namespace, spec?.pod.name, volume].join("/");
}

function startedAt({ status }: PodVolumeBackup): number {
  return Date.parse(status?.startTimestamp ?? "") || 0;
}
