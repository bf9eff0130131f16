/** What a Velero server asks of the agent: a backup, and the restore of it. */
import { stringify } from "yaml";
import { type PodVolumeBackup, podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { type PodVolumeRestore, podVolumeRestores } from "../../lib/api/pod_volume_restore.ts";
import { deadline } from "../../lib/base/abort.ts";
import { createClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import type { Resource } from "../../lib/kube/object.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { pod, podVolumeRestore, restoreUid, waitingForRestore } from "../support/objects.ts";
import { megabytes, seconds } from "./narrator.ts";
import { backupOf, type DemoPod, makePod, namespace, type Scene } from "./scene.ts";

const limitMs = 180_000;

/** Answers the snapshot's id. */
export async function backUp(
  scene: Scene,
  cluster: ControlPlane,
  podUid: string,
): Promise<string> {
  const ended = await follow(scene, cluster, {
    resource: podVolumeBackups,
    object: backupOf(podUid),
  });
  return ended.status?.snapshotID ?? "";
}

/** A pod whose init container holds it back, as a Velero server makes it from a backup. */
export async function makeWaitingPod(scene: Scene, cluster: ControlPlane): Promise<DemoPod> {
  return await makePod(scene, cluster, pod({ ...waitingForRestore(), name: "web-again" }));
}

export async function restore(
  scene: Scene,
  cluster: ControlPlane,
  what: { readonly pod: DemoPod; readonly snapshotID: string },
): Promise<void> {
  const object = restoreOf(what.pod, what.snapshotID);
  await follow(scene, cluster, { resource: podVolumeRestores, object });
  const done = `.velero/${restoreUid}`;
  await Deno.lstat(`${what.pod.volume}/${done}`);
  scene.tell.detail(`the sign for the waiting container is there: ${done}`);
  await Deno.remove(`${what.pod.volume}/.velero`, { recursive: true });
}

/** A new PodVolumeRestore of the demo, as a Velero server would make it. */
export function restoreOf(
  { name: podName, uid }: DemoPod,
  snapshotID: string,
  name = "demo-again-1",
): PodVolumeRestore {
  const pod = { kind: "Pod", namespace: "app", name: podName, uid };
  return podVolumeRestore({ name, spec: { pod, snapshotID } });
}

/** Creates the object and tells each change of it until it is Completed. */
async function follow<T extends PodVolumeBackup | PodVolumeRestore>(
  { tell }: Scene,
  controlPlane: ControlPlane,
  { resource, object }: { readonly resource: Resource<T>; readonly object: T },
): Promise<T> {
  const connection = await connect({ kubeconfig: controlPlane.kubeconfig });
  await using client = createClient(connection, { userAgent: "longshore-demo" });
  const started = performance.now();
  const never = new AbortController().signal;
  const { metadata } = await client.create(resource, object, never);
  tell.detail(`${resource.kind} ${namespace}/${metadata.name}`);
  using limit = deadline(never, limitMs, `The ${resource.kind}`);
  const events = client.watch(resource, {
    namespace,
    resourceVersion: metadata.resourceVersion ?? "",
    timeoutSeconds: limitMs / 1_000,
    readDeadlineMs: limitMs,
  }, limit.signal);
  for await (const event of events) {
    if (!("object" in event) || event.object.metadata.name !== metadata.name) continue;
    const { status } = event.object;
    tell.detail(`${seconds(performance.now() - started).padStart(6)}  ${progressOf(status)}`);
    if (status?.phase === "Failed") throw new Error(`It has Failed: ${status.message}`);
    if (status?.phase !== "Completed") continue;
    tell.detail(stringify({ status }));
    return event.object;
  }
  throw new Error(`The watch ended before the ${resource.kind} was Completed`);
}

function progressOf(status: (PodVolumeBackup | PodVolumeRestore)["status"]): string {
  const { bytesDone, totalBytes } = status?.progress ?? {};
  const phase = (status?.phase ?? "New").padEnd(11);
  if (bytesDone === undefined) return phase;
  return `${phase} ${megabytes(bytesDone)}${totalBytes ? ` of ${megabytes(totalBytes)}` : ""}`;
}
