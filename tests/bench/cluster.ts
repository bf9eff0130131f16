/** A cluster that has been in use: old backups, backups of other nodes, pods. */
import { labels } from "../../lib/api/names.ts";
import { pods as podKind } from "../../lib/api/core.ts";
import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { ofClaim, pod, podVolumeBackup } from "../support/objects.ts";
import type { Site, Stage } from "./stage.ts";

export interface ClusterOptions {
  readonly site: Site;
  readonly backups: number;
  /** One in ten is on the site's node. */
  readonly pods: number;
}

/** Creates the objects, many at a time. None of them is work for the site's node. */
export async function loadCluster(
  { client, signal }: Stage,
  { site, backups, pods }: ClusterOptions,
): Promise<void> {
  const nodeOf = (at: number) => at % 10 === 0 ? site.node : `node-other-${at % 10}`;
  await inParallel(backups, async (at) => {
    await client.create(podVolumeBackups, oldBackup(site, { at, node: nodeOf(at) }), signal);
  });
  await inParallel(pods, async (at) => {
    const spec = { nodeName: nodeOf(at) };
    const object = pod({ name: `pod-${at}`, namespace: site.namespace, spec });
    await client.create(podKind, object, signal);
  });
}

/** Of ten, one is of the site's node and long Completed, one of another node and not begun. */
function oldBackup(
  { namespace }: Site,
  { at, node }: { readonly at: number; readonly node: string },
) {
  const uid = crypto.randomUUID();
  const claim = ofClaim(`data-pod-${at}`, uid);
  const backup = `nightly-${Math.floor(at / 50)}`;
  const object = podVolumeBackup({
    name: `${backup}-${uid.slice(0, 5)}-${at}`,
    namespace,
    ...claim,
    labels: { ...claim.labels, [labels.backupName]: backup },
    spec: {
      node,
      pod: { kind: "Pod", namespace: "app", name: `pod-${at}`, uid: crypto.randomUUID() },
      tags: {
        backup,
        "backup-uid": crypto.randomUUID(),
        ns: "app",
        pod: `pod-${at}`,
        "pod-uid": crypto.randomUUID(),
        "pvc-uid": uid,
        volume: "data",
      },
    },
  });
  return at % 10 === 1 ? object : { ...object, status: completed(uid) };
}

function completed(uid: string) {
  return {
    phase: "Completed",
    path: `/host_pods/${uid}/volumes/kubernetes.io~csi/pvc-${uid}/mount`,
    snapshotID: uid.replaceAll("-", ""),
    startTimestamp: "2026-01-01T01:00:00Z",
    completionTimestamp: "2026-01-01T01:05:00Z",
    progress: { bytesDone: 1_073_741_824, totalBytes: 1_073_741_824 },
  } as const;
}

const writers = 32;

async function inParallel(count: number, work: (at: number) => Promise<void>) {
  let next = 0;
  const writer = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
}
