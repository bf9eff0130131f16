/** What must be known of a kind to find its stale objects. */
import { type Backup, backups } from "../api/backup.ts";
import { finalizers } from "../api/names.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../api/pod_volume_backup.ts";
import { type PodVolumeRestore, podVolumeRestores } from "../api/pod_volume_restore.ts";
import { type Restore, restores } from "../api/restore.ts";
import type { KubeObject, Resource } from "../kube/object.ts";
import type { Movable } from "./kind.ts";

/** An unfinished object, with the fields of either kind that are read. */
export interface StaleObject extends Movable {
  readonly spec?: {
    readonly cancel?: boolean;
    readonly node?: string;
    readonly pod?: {
      readonly namespace?: string;
      readonly name?: string;
      readonly uid?: string;
    };
  };
  readonly status?: NonNullable<Movable["status"]> & {
    readonly node?: string;
    readonly startTimestamp?: string | null;
    readonly acceptedTimestamp?: string | null;
  };
}

export interface StaleKind {
  /** What one calls it at the command line, beside its plural. */
  readonly short: string;
  readonly resource: Resource<StaleObject>;
  readonly finalizer: string;
  readonly owner: Resource<KubeObject & { readonly status?: { readonly phase?: string } }>;
  /** The label of pods that move one object each; its value is the object's name. */
  readonly hostingLabel: string;
  /** It needs its pod, and is where that is. */
  readonly needsPod: boolean;
  readonly again: string;
}

export const staleKinds: readonly StaleKind[] = [
  {
    short: "pvb",
    resource: podVolumeBackups satisfies Resource<PodVolumeBackup> as Resource<StaleObject>,
    finalizer: finalizers.podVolume,
    owner: backups satisfies Resource<Backup>,
    hostingLabel: "velero.io/pod-volume-backup",
    needsPod: false,
    again: "back up again",
  },
  {
    short: "pvr",
    resource: podVolumeRestores satisfies Resource<PodVolumeRestore> as Resource<StaleObject>,
    finalizer: finalizers.podVolume,
    owner: restores satisfies Resource<Restore>,
    hostingLabel: "velero.io/pod-volume-restore",
    needsPod: true,
    again: "restore again",
  },
];
