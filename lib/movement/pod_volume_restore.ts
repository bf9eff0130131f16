/** What is special to a PodVolumeRestore: it fills a volume of a pod that waits for it on this node. */
import { MovementError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { type Pod, pods } from "../api/core.ts";
import { annotations, finalizers } from "../api/names.ts";
import { type PodVolumeRestore, podVolumeRestores } from "../api/pod_volume_restore.ts";
import type { DataPath } from "../datapath/data_path.ts";
import { openRestore } from "../datapath/kopia_restore.ts";
import { openResticRestore, requireResticID } from "../datapath/restic_restore.ts";
import type { Repositories } from "../datapath/repositories.ts";
import { requirePlainName, writeDoneFile } from "../expose/done_file.ts";
import { syncFileSystem } from "../expose/file_system_sync.ts";
import { folderIdentity, requireSameFolder } from "../expose/folder_identity.ts";
import { hostPath } from "../expose/host_path.ts";
import { volumeFolder } from "../expose/pod_volume.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import type { WatchHealth } from "../kube/watch.ts";
import type { MovementKind, Opened } from "./kind.ts";
import { judgePod, podGone, targetOf } from "./target_pod.ts";
import { targetPods } from "./target_pods.ts";
import { trimMovable } from "./trim.ts";
import { isSettingTrue, parallelFiles, refuseSetting, uploaderOf } from "./uploader.ts";

export interface PodVolumeRestoreOptions {
  readonly client: KubeClient;
  readonly node: string;
  /** The folder with a folder for each pod of the node. */
  readonly hostPods: string;
  readonly repositories: Repositories;
  /** Of the watch over the node's pods. */
  readonly health: WatchHealth;
  readonly log: Log;
}

type Spec = PodVolumeRestore["spec"];

export function podVolumeRestoreKind(
  options: PodVolumeRestoreOptions,
): MovementKind<PodVolumeRestore> {
  return {
    resource: podVolumeRestores,
    finalizer: finalizers.podVolume,
    again: "restore again",
    isMine: () => true, // only its pod tells
    standings: targetPods(options),
    trim: trimMovable,
    open: (restore, signal) => open(options, restore, signal),
  };
}

async function open(
  options: PodVolumeRestoreOptions,
  restore: PodVolumeRestore,
  signal: AbortSignal,
): Promise<Opened> {
  const { client, hostPods, repositories, log } = options;
  const { spec } = restore;
  const uploader = uploaderOf(spec);
  const order = orderOf(restore);
  requireNamespace(spec.sourceNamespace);
  const doneUid = ownerUid(restore);
  const pod = await waitingPod(options, restore, signal);
  const folder = await volumeFolder(client, { pod, volume: spec.volume }, signal);
  const podUid = pod.metadata.annotations?.[annotations.mirrorPod] ?? pod.metadata.uid ?? "";
  const targetPath = await hostPath({ root: hostPods, podUid, ...folder });
  const identity = await folderIdentity(targetPath);
  const dataPath = uploader === "kopia"
    ? openRestore(await repositories.open(repositoryOf(spec), signal), { ...order, targetPath })
    : await openWithRestic(repositories, { spec, order: { ...order, targetPath } }, signal);
  return {
    path: withDoneFile(dataPath, async (signal) => {
      await syncFileSystem(targetPath, signal);
      await requireSameFolder(targetPath, identity);
      await writeDoneFile(targetPath, doneUid, log);
    }),
    result: () => ({}),
    discard: () => Promise.resolve(), // the snapshot belongs to its backup
    [Symbol.asyncDispose]: () => dataPath[Symbol.asyncDispose](), // the session's as well
  };
}

interface ResticWanted {
  readonly spec: Spec;
  readonly order: ReturnType<typeof orderOf> & { readonly targetPath: string };
}

async function openWithRestic(
  repositories: Repositories,
  { spec, order }: ResticWanted,
  signal: AbortSignal,
): Promise<DataPath> {
  refuseSetting(spec, { ...parallelDownload, advice: "remove it from the Restore" });
  requireResticID(spec.snapshotID);
  const key = { ...repositoryOf(spec), identifier: spec.repoIdentifier };
  return openResticRestore(await repositories.openRestic(key, signal), order);
}

function repositoryOf({ sourceNamespace, backupStorageLocation }: Spec) {
  return { volumeNamespace: sourceNamespace, storageLocation: backupStorageLocation };
}

const parallelDownload = {
  setting: "ParallelFilesDownload",
  advice: "correct uploaderConfig.parallelFilesDownload of the Restore",
};

function orderOf({ spec }: PodVolumeRestore) {
  const parallel = parallelFiles(spec, parallelDownload);
  const sparse = isSettingTrue(spec, {
    setting: "WriteSparseFiles",
    advice: "correct uploaderConfig.writeSparseFiles of the Restore",
  });
  return {
    snapshotID: spec.snapshotID,
    sparse,
    ...(parallel !== undefined && { parallel }),
    ...(spec.snapshotSize && { sizeBytes: spec.snapshotSize }),
  };
}

/** It is a part of the repository's place, and must not lead to another. */
function requireNamespace(name: string): void {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return;
  const what = name === ""
    ? "The object does not say of which namespace the data is"
    : `The source namespace ${JSON.stringify(name)} of the object cannot be a namespace`;
  throw new MovementError(
    "SnapshotMissing",
    `${what}, so there is no repository to take it from; restore again`,
  );
}

/** The waiting container looks for a file with the uid of the Restore. */
function ownerUid({ metadata }: PodVolumeRestore): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) {
    throw new MovementError(
      "OwnerMissing",
      "The object has no owner that controls it, so nobody can be told that it is done; " +
        "restore again",
    );
  }
  requirePlainName(owner.uid);
  return owner.uid;
}

/** The pod as it is now: what the watch told may be old. */
async function waitingPod(
  { client, node }: PodVolumeRestoreOptions,
  restore: PodVolumeRestore,
  signal: AbortSignal,
): Promise<Pod> {
  const { namespace, name } = targetOf(restore);
  const pod = await client.get(pods, { namespace, name }, signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    const { reason, message } = podGone(restore);
    throw new MovementError(reason, message);
  });
  const judged = judgePod(restore, pod, node);
  if (judged.is === "lost" || judged.is === "leaving") {
    throw new MovementError(judged.loss.reason, judged.loss.message);
  }
  return pod;
}

/** The pod may go on when all of its data is there, and no sooner. */
function withDoneFile(path: DataPath, done: (signal: AbortSignal) => Promise<void>): DataPath {
  return {
    async *events(signal) {
      for await (const event of path.events(signal)) {
        if (event.type === "completed") await done(signal);
        yield event;
      }
    },
    cancel: path.cancel,
    [Symbol.asyncDispose]: () => path[Symbol.asyncDispose](),
  };
}
