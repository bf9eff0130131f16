import assert from "node:assert/strict";
import { pod, podUid, podVolumeRestore, waitingForRestore } from "../../tests/support/objects.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { logger } from "../base/log.ts";
import type { Repositories } from "../datapath/repositories.ts";
import type { KubeClient } from "../kube/client.ts";
import { newWatchHealth } from "../kube/watch.ts";
import { podVolumeRestoreKind } from "./pod_volume_restore.ts";

/** A kind over one waiting pod, which notes how often a repository is asked for. */
function restores(hostPods: string) {
  let opened = 0;
  const open = () => {
    opened++;
    return Promise.reject(new Error("a repository is asked for"));
  };
  const waiting = pod({ uid: podUid, ...waitingForRestore() });
  const kind = podVolumeRestoreKind({
    client: { get: () => Promise.resolve(waiting) } as unknown as KubeClient,
    node: "node-1",
    hostPods,
    repositories: { open, openRestic: open } as unknown as Repositories,
    health: newWatchHealth(),
    log: logger("test"),
  });
  return { kind, opened: () => opened };
}

Deno.test("a restic restore of what is no snapshot opens no session, which nobody would end", async () => {
  using root = tempFolder("pods");
  const volume = `${root.path}/${podUid}/volumes/kubernetes.io~empty-dir/data`;
  await Deno.mkdir(volume, { recursive: true });
  const { kind, opened } = restores(root.path);
  const openOf = (snapshotID: string) =>
    kind.open(
      podVolumeRestore({ spec: { uploaderType: "restic", snapshotID } }),
      new AbortController().signal,
    );
  for (const snapshotID of ["", "latest", "--target=/"]) {
    await assert.rejects(openOf(snapshotID), { name: "MovementError", reason: "SnapshotMissing" });
  }
  assert.equal(opened(), 0);
  await assert.rejects(openOf("0123abcd"), /a repository is asked for/);
});
