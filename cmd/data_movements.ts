/**
 * DataUploads and DataDownloads are not worked on, and must not look as if they were: the log says so
 * at the start and for each new one, and an event for each that another agent has left on this node.
 */
import { dataDownloads, type DataMovement, dataUploads } from "../lib/api/data_movement.ts";
import { type Pod, pods } from "../lib/api/core.ts";
import { labels } from "../lib/api/names.ts";
import { messageOf } from "../lib/base/error.ts";
import type { Log } from "../lib/base/log.ts";
import { isNotFound } from "../lib/kube/api_error.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import type { Recorder } from "../lib/kube/events.ts";
import { kubeSource } from "../lib/kube/kube_source.ts";
import { keyOf, type Resource } from "../lib/kube/object.ts";
import { watchForever } from "../lib/kube/watch.ts";
import type { WatchSource } from "../lib/kube/watch_source.ts";

export interface DataMovementsNeeds {
  readonly client: KubeClient;
  readonly recorder: Recorder;
  readonly log: Log;
  /** Velero's. */
  readonly namespace: string;
  readonly node: string;
}

interface Kind {
  readonly resource: Resource<DataMovement>;
  /** The label of the pods that move one object each; its value is the object's name. */
  readonly moverLabel: string;
  readonly insteadDo: string;
}

const kinds: readonly Kind[] = [
  {
    resource: dataUploads,
    moverLabel: labels.dataUpload,
    insteadDo:
      "back the volume up with --default-volumes-to-fs-backup, without --snapshot-move-data",
  },
  {
    resource: dataDownloads,
    moverLabel: labels.dataDownload,
    insteadDo: "restore it where Velero's own node agent runs",
  },
];

/** Returns with the signal. */
export async function followDataMovements(
  needs: DataMovementsNeeds,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(kinds.map((kind) =>
    follow(kind, needs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    })
  ));
}

async function follow(kind: Kind, needs: DataMovementsNeeds, signal: AbortSignal): Promise<void> {
  const { resource, insteadDo } = kind;
  const { log, namespace } = needs;
  const begin = await versionNow(kind, needs, signal);
  if (begin === undefined) return;
  log.warn("A kind is not worked on by this release: its objects stay as they are", {
    kind: resource.kind,
    instead: insteadDo,
  });
  await tellOfMovers(kind, needs, signal);
  const told = new Set<string>();
  for await (const change of watchForever(newcomers(kind, needs, begin), signal)) {
    if (change.type === "gone") told.delete(change.key);
    if (change.type !== "set") continue;
    const key = keyOf(change.object);
    if (told.has(key)) continue;
    told.add(key);
    log.warn("An object is not worked on: this release does not know its kind", {
      ...{ kind: resource.kind, namespace, name: change.object.metadata.name, instead: insteadDo },
    });
  }
}

/**
 * Where a watch of what is new begins; undefined: there is no such kind. Any other failure is left
 * to the watch to tell.
 */
async function versionNow(
  { resource }: Kind,
  { client, namespace }: DataMovementsNeeds,
  signal: AbortSignal,
): Promise<{ readonly version?: string } | undefined> {
  try {
    const { resourceVersion } = await client.list(resource, { namespace, limit: 1 }, signal);
    return { version: resourceVersion };
  } catch (error) {
    signal.throwIfAborted();
    return isNotFound(error) ? undefined : {};
  }
}

/**
 * Those that are New, from now on: a list of one object says where the watch begins, so that what a
 * cluster has kept for months costs nothing.
 */
function newcomers(
  { resource }: Kind,
  { client, namespace }: DataMovementsNeeds,
  { version }: { readonly version?: string },
): WatchSource<DataMovement> {
  let known = version;
  const trim = (
    { metadata: { namespace = "", name, uid = "", resourceVersion = "" }, status }: DataMovement,
  ) =>
    (status?.phase ?? "New") === "New"
      ? { metadata: { namespace, name, uid, resourceVersion } }
      : undefined;
  const source = kubeSource(client, resource, { namespace, trim });
  return {
    ...source,
    async *list(_how, signal) {
      const page = { namespace, limit: 1 };
      const now = known ?? (await client.list(resource, page, signal)).resourceVersion;
      known = undefined; // it is too old when a second one is asked for
      yield { items: [], resourceVersion: now };
    },
  };
}

/** What the agent before this one has begun here: its pods move on, and nobody writes the result. */
async function tellOfMovers(
  { resource, moverLabel }: Kind,
  { client, recorder, log, namespace, node }: DataMovementsNeeds,
  signal: AbortSignal,
): Promise<void> {
  const fieldSelector = `spec.nodeName=${node}`;
  const where = { namespace, labelSelector: moverLabel, fieldSelector };
  let movers: readonly Pod[] = [];
  try {
    ({ items: movers } = await client.list(pods, where, signal));
  } catch (error) {
    signal.throwIfAborted();
    log.warn("The pods that move data here cannot be listed", { error: messageOf(error) });
  }
  for (const { metadata, status } of movers) {
    if (status?.phase === "Succeeded" || status?.phase === "Failed") continue;
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === resource.kind);
    const name = owner?.name ?? metadata.labels?.[moverLabel] ?? "";
    const message = `Pod "${metadata.name}" still moves its data on node "${node}", but the node ` +
      "agent there, Longshore, does not follow it: this release knows no " +
      `${resource.kind}. Run Velero's own node agent on the node until it has ended, or cancel it`;
    log.warn("A pod moves data for an object that is not worked on", {
      ...{ kind: resource.kind, namespace, name, pod: metadata.name },
    });
    const apiVersion = `${resource.group}/${resource.version}`;
    recorder.event(
      { apiVersion, kind: resource.kind, namespace, name, ...(owner && { uid: owner.uid }) },
      { type: "Warning", reason: "KindUnsupported", message },
    );
  }
}
