/**
 * Which folder name a pod's volume has below the kubelet's folder of that pod: Velero's
 * rules for pod volumes, which the kubelet's own layout gives.
 */
import { messageOf, MovementError } from "../base/error.ts";
import {
  csiDrivers,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  type PodVolume,
} from "../api/core.ts";
import { annotations as names } from "../api/names.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";

/** `folder` is one path segment below `<pod>/volumes/<plugin>/`; `inner` is the mount inside it. */
export interface VolumeFolder {
  readonly folder: string;
  readonly inner?: "mount";
}

/** The volume's folder. Throws `MovementError` for a volume that is absent, unbound or a block device. */
export async function volumeFolder(
  client: KubeClient,
  { pod, volume }: { readonly pod: Pod; readonly volume: string },
  signal: AbortSignal,
): Promise<VolumeFolder> {
  const found = pod.spec.volumes?.find(({ name }) => name === volume);
  if (found === undefined) throw noSuchVolume(pod, volume);
  const claim = claimName(pod, found);
  if (claim === undefined) return ownFolder(pod, found);
  const claimed = await boundVolume(
    client,
    { namespace: pod.metadata.namespace ?? "", claim },
    signal,
  );
  if (claimed.spec.volumeMode === "Block") throw blockVolume(claim, claimed);
  const folder = claimed.metadata.name;
  return await isFromCsi(client, claimed, signal) ? { folder, inner: "mount" } : { folder };
}

/** The claim of a volume; a generic ephemeral volume has one named after pod and volume. */
function claimName({ metadata }: Pod, { name, persistentVolumeClaim, ephemeral }: PodVolume) {
  return persistentVolumeClaim?.claimName ??
    (ephemeral === undefined ? undefined : `${metadata.name}-${name}`);
}

function ownFolder(pod: Pod, { name, csi, hostPath }: PodVolume): VolumeFolder {
  if (hostPath !== undefined) {
    throw new MovementError(
      "HostPathMissing",
      `The volume "${name}" of pod "${
        label(pod)
      }" is a hostPath volume, which does not lie below ` +
        "the kubelet's folder and is not backed up; leave it out of the backup",
    );
  }
  return csi === undefined ? { folder: name } : { folder: name, inner: "mount" };
}

async function boundVolume(
  client: KubeClient,
  { namespace, claim }: { readonly namespace: string; readonly claim: string },
  signal: AbortSignal,
): Promise<PersistentVolume> {
  const found = await client.get(persistentVolumeClaims, { namespace, name: claim }, signal)
    .catch((error: unknown) => {
      throw isNotFound(error)
        ? unbound(`The claim "${namespace}/${claim}" does not exist`, error)
        : error;
    });
  const name = found.spec.volumeName;
  if (!name) throw unbound(`The claim "${namespace}/${claim}" is not bound to a volume`);
  return await client.get(persistentVolumes, { name }, signal).catch((error: unknown) => {
    throw isNotFound(error)
      ? unbound(
        `The claim "${namespace}/${claim}" names the volume "${name}", which does not exist`,
        error,
      )
      : error;
  });
}

/** Also true for in-tree volumes that a CSI driver of the cluster provisioned or took over. */
async function isFromCsi(client: KubeClient, volume: PersistentVolume, signal: AbortSignal) {
  if (volume.spec.csi !== undefined) return true;
  const { annotations = {} } = volume.metadata;
  const drivers = [annotations[names.provisionedBy], annotations[names.migratedTo]].filter(Boolean);
  if (drivers.length === 0) return false;
  const { items } = await client.list(csiDrivers, {}, signal);
  return items.some(({ metadata }) => drivers.includes(metadata.name));
}

function noSuchVolume(pod: Pod, volume: string): MovementError {
  const names = pod.spec.volumes?.map(({ name }) => `"${name}"`).join(", ") || "none";
  return new MovementError(
    "VolumeNotInPod",
    volume === ""
      ? `The object does not say which volume of pod "${label(pod)}"; its volumes: ${names}`
      : `The pod "${label(pod)}" has no volume "${volume}"; its volumes: ${names}`,
  );
}

function blockVolume(claim: string, volume: PersistentVolume): MovementError {
  return new MovementError(
    "BlockVolumeUnsupported",
    `The claim "${claim}" is bound to the block volume "${volume.metadata.name}"; file system ` +
      "backup reads only file systems: leave the volume out (annotation " +
      "backup.velero.io/backup-volumes-excludes of the pod)",
  );
}

function unbound(what: string, cause?: unknown): MovementError {
  return new MovementError(
    "VolumeUnbound",
    `${what}; check it with kubectl describe pvc${
      cause === undefined ? "" : ` (${messageOf(cause)})`
    }`,
  );
}

function label({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
