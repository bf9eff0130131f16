import type { Pod } from "../../lib/api/core.ts";
import { type FailureCase, runFailures } from "../support/failure_case.ts";
import { assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({
  ignore,
  name: "a backup fails with the reason, and lets the next one in,",
  async fn(t) {
    await using stage = await startStage();
    await using agent = await stage.agent();
    await runFailures(t, stage, cases);
    await stepsOf(t)("with log lines that leave nothing empty", async () => {
      await agent.stop();
      assertWholeLog(agent.log());
    });
  },
});

const withVolume = (volume: object): Pod["spec"] =>
  ({ volumes: [{ name: "data", ...volume }] }) as unknown as Pod["spec"];

const cases: readonly FailureCase[] = [
  {
    where: "where the volume's folder is missing",
    reason: "HostPathMissing",
    says: /no folder "data"/,
    async arrange(stage) {
      const pod = await stage.pod();
      await Deno.remove(pod.volume);
      return await stage.backup(pod);
    },
  },
  {
    where: "where the volume's folder is a link to elsewhere",
    reason: "HostPathUnsafe",
    says: /symbolic link/,
    async arrange(stage) {
      const pod = await stage.pod();
      await Deno.remove(pod.volume);
      await Deno.symlink("/etc", pod.volume);
      return await stage.backup(pod);
    },
  },
  {
    where: "where the plugin's folder is a link to elsewhere",
    reason: "HostPathMissing",
    async arrange(stage) {
      const pod = await stage.pod();
      const plugin = pod.volume.replace(/\/data$/, "");
      await Deno.rename(plugin, `${stage.folder}/elsewhere`);
      await Deno.symlink(`${stage.folder}/elsewhere`, plugin);
      return await stage.backup(pod);
    },
  },
  {
    where: "where the object's volume is a way out of the pod's folder",
    reason: "VolumeNotInPod",
    arrange: (stage, good) => stage.backup(good, { spec: { volume: "../../../.." } }),
  },
  {
    where: "where the pod has ended",
    reason: "PodNotRunning",
    says: /is Succeeded/,
    arrange: async (stage) => stage.backup(await stage.pod({ status: { phase: "Succeeded" } })),
  },
  {
    where: "where the pod is gone",
    reason: "PodGone",
    says: /"app\/gone"/,
    arrange: (stage, good) => stage.backup({ ...good, name: "gone" }),
  },
  {
    where: "where the pod was replaced",
    reason: "PodReplaced",
    arrange: (stage, good) => stage.backup({ ...good, uid: objects.podUid }),
  },
  {
    where: "where the pod is on another node",
    reason: "PodOnOtherNode",
    says: /"node-2"/,
    arrange: async (stage) =>
      stage.backup(await stage.pod({ spec: { nodeName: "node-2" } as Pod["spec"] })),
  },
  {
    where: "where the pod has no such volume",
    reason: "VolumeNotInPod",
    says: /"absent".*"data"/,
    arrange: (stage, good) => stage.backup(good, { spec: { volume: "absent" } }),
  },
  {
    where: "where the volume is a folder of the node",
    reason: "HostPathMissing",
    says: /hostPath volume/,
    arrange: async (stage) =>
      stage.backup(await stage.pod({ spec: withVolume({ hostPath: { path: "/etc" } }) })),
  },
  {
    where: "where the volume is a block device",
    reason: "BlockVolumeUnsupported",
    says: /"block-volume"/,
    async arrange(stage) {
      await makeBlockClaim(stage);
      const spec = withVolume({ persistentVolumeClaim: { claimName: "block" } });
      return await stage.backup(await stage.pod({ spec }));
    },
  },
  {
    where: "where the claim is missing",
    reason: "VolumeUnbound",
    says: /"app\/absent"/,
    async arrange(stage) {
      const spec = withVolume({ persistentVolumeClaim: { claimName: "absent" } });
      return await stage.backup(await stage.pod({ spec }));
    },
  },
  {
    where: "where the uploader is restic, which is not there",
    reason: "ResticMissing",
    says: /"restic" at "\/nonexistent\/restic"/,
    arrange: (stage, good) => stage.backup(good, { spec: { uploaderType: "restic" } }),
  },
  {
    where: "where no uploader is named, which means restic",
    reason: "ResticMissing",
    says: /"restic"/,
    arrange: (stage, good) => stage.backup(good, { spec: { uploaderType: "" } }),
  },
  {
    where: "where a setting is no number",
    reason: "UploaderSettingInvalid",
    says: /"many"/,
    arrange: (stage, good) =>
      stage.backup(good, { spec: { uploaderSettings: { ParallelFilesUpload: "many" } } }),
  },
];

async function makeBlockClaim({ controlPlane }: Stage) {
  const shape = { accessModes: ["ReadWriteOnce"], volumeMode: "Block", storageClassName: "" };
  const size = { storage: "1Gi" };
  const csi = { driver: "csi.example", volumeHandle: "one" };
  await controlPlane.call("POST", "/api/v1/persistentvolumes", {
    metadata: { name: "block-volume" },
    spec: { ...shape, capacity: size, csi },
  });
  await controlPlane.call("POST", "/api/v1/namespaces/app/persistentvolumeclaims", {
    metadata: { name: "block" },
    spec: { ...shape, resources: { requests: size }, volumeName: "block-volume" },
  });
}
