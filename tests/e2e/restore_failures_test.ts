import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { Reason } from "../../lib/base/reason.ts";
import * as objects from "../support/objects.ts";
import {
  assertCompleted,
  assertFailed,
  type RestoreSteps,
  runRestoreSteps,
} from "../support/restores.ts";
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
    { reason: "VolumeNotInPod", change: { spec: { snapshotID, volume: "other" } } },
    { reason: "UploaderUnsupported", change: { spec: { snapshotID, uploaderType: "restic" } } },
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
  ];
}
