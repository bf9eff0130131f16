import assert from "node:assert/strict";
import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { Reason } from "../../lib/base/reason.ts";
import { assertIdle } from "../support/agent.ts";
import { assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import {
  assertCompleted,
  assertFailed,
  type RestoreSteps,
  runRestoreSteps,
} from "../support/restores.ts";
import { smallDisk } from "../support/small_disk.ts";
import { velero } from "../support/stage.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({
  ignore,
  name: "a restore fails with its reason",
  fn: (t) => runRestoreSteps(t, steps),
});

const steps: RestoreSteps = {
  async "that cannot be done fails with its reason, and the next one runs"(
    { restores, small },
  ) {
    const pod = await restores.pod();
    for (const { reason, change } of refusals(small)) {
      const name = await restores.restore(pod, change);
      await assertFailed(restores, name, reason);
    }
    await assertCompleted(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
  },

  async "where the volume is too small"({ restores, large }) {
    const pod = await restores.pod();
    using disk = await smallDisk(pod.volume, 8);
    if (disk === undefined) return;
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    assert.match(await assertFailed(restores, name, "VolumeFull"), /no space left.*enlarge/);
  },

  async "where a folder with content is in the place of a file"({ restores, small }) {
    const pod = await restores.pod();
    await Deno.mkdir(`${pod.volume}/file/deep`, { recursive: true });
    const name = await restores.restore(pod, { spec: { snapshotID: small } });
    const message = await assertFailed(restores, name, "VolumeWriteError");
    assert(message.includes(`${pod.volume}/file`), message);
  },

  async "where the volume goes in the middle"({ restores, agent, large }) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    await Deno.rename(pod.volume, `${pod.volume}-elsewhere`);
    await Deno.mkdir(pod.volume);
    frozen.resume();
    await assertFailed(restores, name, "HostPathMissing");
    assert.throws(() => Deno.lstatSync(`${pod.volume}/.velero`), Deno.errors.NotFound);
  },

  async "where the sign for the pod cannot be written"({ restores, agent, small }) {
    const pod = await restores.pod();
    using disk = await smallDisk(`${pod.volume}/.velero`, 1, { access: "ro" });
    if (disk === undefined) return;
    const name = await restores.restore(pod, { spec: { snapshotID: small } });
    assert.match(await assertFailed(restores, name, "DoneFileError"), /the data is restored, but/);
    await agent.line(/former done folder cannot be removed/, 1_000);
  },

  async "where the repository has lost data of the snapshot"({ stage, restores }) {
    await stage.location("damaged", { config: { fspath: `${stage.folder}/damaged` } });
    await stage.repository(`${stage.folder}/damaged/kopia/app`);
    const from = await stage.pod();
    await Deno.writeTextFile(`${from.volume}/file`, "text");
    const place = { backupStorageLocation: "damaged" };
    const { status } = await stage.ended(await stage.backup(from, { spec: place }));
    await Deno.remove(`${stage.folder}/damaged/kopia/app/p`, { recursive: true });
    const pod = await restores.pod();
    const spec = { ...place, snapshotID: status?.snapshotID ?? "" };
    await using _fresh = await stage.agent({ node: "node-2" }); // has nothing in its cache
    const far = await restores.pod({ spec: { nodeName: "node-2" } });
    await assertFailed(restores, await restores.restore(far, { spec }), "SnapshotDamaged");
    await stage.controlPlane.call("DELETE", `${velero}/backupstoragelocations/damaged`);
    const name = await restores.restore(pod, { spec });
    await assertFailed(restores, name, "StorageLocationMissing");
  },

  async "and leaves a log without empty places, and no slot taken"({ agent }) {
    await assertIdle(agent);
    assertWholeLog(agent.log());
  },
};

interface Refusal {
  readonly reason: Reason;
  readonly change: objects.Change<PodVolumeRestore>;
}

function refusals(snapshotID: string): readonly Refusal[] {
  const owner = { apiVersion: "velero.io/v1", kind: "Restore", name: "again", controller: true };
  return [
    { reason: "OwnerMissing", change: { ownerReferences: [], spec: { snapshotID } } },
    {
      reason: "OwnerMissing",
      change: { ownerReferences: [{ ...owner, uid: "../../../evil" }], spec: { snapshotID } },
    },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "0".repeat(32) } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "/etc" } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "" } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "--all" } } },
    { reason: "VolumeNotInPod", change: { spec: { snapshotID, volume: "other" } } },
    { reason: "ResticMissing", change: { spec: { snapshotID, uploaderType: "restic" } } },
    {
      reason: "UploaderSettingInvalid",
      change: { spec: { snapshotID, uploaderSettings: { ParallelFilesDownload: "many" } } },
    },
    {
      reason: "UploaderSettingInvalid",
      change: { spec: { snapshotID, uploaderSettings: { WriteSparseFiles: "maybe" } } },
    },
    {
      reason: "StorageLocationMissing",
      change: { spec: { snapshotID, backupStorageLocation: "other" } },
    },
    {
      reason: "StorageLocationMissing",
      change: { spec: { snapshotID, backupStorageLocation: "../default" } },
    },
    { reason: "SnapshotMissing", change: { spec: { snapshotID, sourceNamespace: "" } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID, sourceNamespace: "../app" } } },
    { reason: "PodGone", change: { spec: { snapshotID, pod: { namespace: "app" } } } },
    {
      reason: "PodGone",
      change: { spec: { snapshotID, pod: { namespace: "app", name: "../x" } } },
    },
  ];
}
