/** What is special to a PodVolumeBackup: it reads a folder of this node, in place, with kopia. */
import { MovementError } from "../base/error.ts";
import { type Pod, pods } from "../api/core.ts";
import { annotations, finalizers, labels, requesters, snapshotNames } from "../api/names.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../api/pod_volume_backup.ts";
import { openBackup } from "../datapath/kopia_backup.ts";
import { openResticBackup } from "../datapath/restic_backup.ts";
import { forgetSnapshot } from "../datapath/restic_move.ts";
import type { Repositories } from "../datapath/repositories.ts";
import { deleteSnapshot } from "../datapath/snapshots.ts";
import { hostPath } from "../expose/host_path.ts";
import { volumeFolder } from "../expose/pod_volume.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import { listPages } from "../kube/pages.ts";
import type { MovementKind, Opened } from "./kind.ts";
import { kopiaSource, parentOf, sourceAnnotation } from "./kopia_source.ts";
import { trimMovable } from "./trim.ts";
import { parallelFiles, uploaderOf } from "./uploader.ts";

export interface PodVolumeBackupOptions {
  readonly client: KubeClient;
  readonly node: string;
  /** The folder with a folder for each pod of the node. */
  readonly hostPods: string;
  readonly repositories: Repositories;
}

type Spec = NonNullable<PodVolumeBackup["spec"]>;

export function podVolumeBackupKind(
  options: PodVolumeBackupOptions,
): MovementKind<PodVolumeBackup> {
  return {
    resource: podVolumeBackups,
    finalizer: finalizers.podVolume,
    nodeField: ".spec.node",
    again: "back up again",
    isMine: ({ spec }, node) => spec?.node === node,
    trim: trimMovable,
    open: (backup, signal) => open(options, backup, signal),
  };
}

async function open(
  options: PodVolumeBackupOptions,
  backup: PodVolumeBackup,
  signal: AbortSignal,
): Promise<Opened> {
  const { client, hostPods, repositories } = options;
  const { spec } = backup;
  const uploader = uploaderOf(spec);
  const parallel = parallelFiles(spec, {
    setting: "ParallelFilesUpload",
    advice: "correct uploaderConfig.parallelFilesUpload of the Backup",
  });
  const [pod, parent] = await Promise.all([
    runningPod(options, spec, signal),
    findParent(client, backup, signal),
  ]);
  const folder = await volumeFolder(client, { pod, volume: spec.volume }, signal);
  const podUid = pod.metadata.annotations?.[annotations.mirrorPod] ?? pod.metadata.uid ?? "";
  const path = await hostPath({ root: hostPods, podUid, ...folder });
  const found = { spec, path, parent };
  if (uploader === "restic") return await openWithRestic(repositories, found, signal);
  const source = kopiaSource(backup, parent);
  const session = await repositories.open(repositoryOf(spec), signal);
  const dataPath = openBackup(session, {
    volumePath: path,
    sourcePath: source,
    tags: {
      ...spec.tags,
      [snapshotNames.requesterTag]: requesters.podVolumeInPlace,
      [snapshotNames.uploaderTag]: snapshotNames.uploader,
    },
    ...(parallel !== undefined && { parallel }),
  });
  return {
    path: dataPath,
    result: ({ snapshotID }) => ({ path, snapshotID }),
    annotations: { [sourceAnnotation]: source },
    discard: (snapshotID, signal) => deleteSnapshot(session, snapshotID, signal),
    [Symbol.asyncDispose]: () => dataPath[Symbol.asyncDispose](), // the session's as well
  };
}

interface Found {
  readonly spec: Spec;
  readonly path: string;
  readonly parent: PodVolumeBackup | undefined;
}

/** ParallelFilesUpload is not for restic, which is said nowhere: Velero ignores it as well. */
async function openWithRestic(
  repositories: Repositories,
  { spec, path, parent }: Found,
  signal: AbortSignal,
): Promise<Opened> {
  const key = { ...repositoryOf(spec), identifier: spec.repoIdentifier };
  const session = await repositories.openRestic(key, signal);
  const before = parent?.status?.snapshotID;
  const dataPath = openResticBackup(session, {
    volumePath: path,
    tags: spec.tags ?? {},
    ...(before && { parent: before }),
  });
  return {
    path: dataPath,
    result: ({ snapshotID }) =>
      snapshotID === ""
        ? { path, message: "volume was empty so no snapshot was taken" }
        : { path, snapshotID },
    discard: (snapshotID, signal) => forgetSnapshot(session, snapshotID, signal),
    [Symbol.asyncDispose]: () => dataPath[Symbol.asyncDispose](), // the session's as well
  };
}

function repositoryOf({ pod, backupStorageLocation }: Spec) {
  return { volumeNamespace: pod.namespace ?? "", storageLocation: backupStorageLocation };
}

/** The pod of the object, which must be the very one and running on this node. */
async function runningPod(
  { client, node }: PodVolumeBackupOptions,
  { pod: wanted }: Spec,
  signal: AbortSignal,
): Promise<Pod> {
  const namespace = wanted.namespace ?? "";
  const name = wanted.name ?? "";
  if (namespace === "" || name === "") {
    throw new MovementError(
      "PodGone",
      "The object does not say which pod: spec.pod needs a namespace and a name; back up again",
    );
  }
  const label = `"${namespace}/${name}"`;
  const pod = await client.get(pods, { namespace, name }, signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new MovementError("PodGone", `The pod ${label} does not exist any more; back up again`);
  });
  if (wanted.uid && pod.metadata.uid !== wanted.uid) {
    throw new MovementError(
      "PodReplaced",
      `The pod ${label} was replaced by another one of the same name since the backup began; back up again`,
    );
  }
  if (pod.spec.nodeName !== node) {
    throw new MovementError(
      "PodOnOtherNode",
      `The pod ${label} is on node "${pod.spec.nodeName ?? ""}", not on "${node}"; back up again`,
    );
  }
  if (pod.status?.phase !== "Running") {
    throw new MovementError(
      "PodNotRunning",
      `The pod ${label} is ${
        pod.status?.phase ?? "of unknown state"
      }, not Running, so its volumes ` +
        "are not mounted; exclude it from the backup or start it",
    );
  }
  return pod;
}

async function findParent(
  client: KubeClient,
  backup: PodVolumeBackup,
  signal: AbortSignal,
): Promise<PodVolumeBackup | undefined> {
  const claim = backup.metadata.labels?.[labels.pvcUid];
  if (!claim) return undefined;
  const where = {
    namespace: backup.metadata.namespace ?? "",
    labelSelector: `${labels.pvcUid}=${claim}`,
  };
  let parent: PodVolumeBackup | undefined;
  for await (const { items } of listPages({ client, what: podVolumeBackups }, where, signal)) {
    parent = parentOf(backup, parent === undefined ? items : [parent, ...items]);
  }
  return parent;
}
