import assert from "node:assert/strict";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import { assertIdle } from "../support/agent.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { type Stage, startStage, velero } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a backup whose object is odd", fn: oddObjects });

type Spec = NonNullable<PodVolumeBackup["spec"]>;

const oddSpecs: readonly [string, Partial<Spec>, string][] = [
  ["names no pod", { pod: {} }, "PodGone"],
  ["names a pod without a namespace", { pod: { name: "pod-1" } }, "PodGone"],
  ["names a pod with a path for a name", { pod: { namespace: "app", name: "../web" } }, "PodGone"],
  ["names no volume", { volume: "" }, "VolumeNotInPod"],
  ["names no location", { backupStorageLocation: "" }, "StorageLocationMissing"],
  ["names a path as location", { backupStorageLocation: "../x" }, "StorageLocationMissing"],
];

async function oddObjects(t: Deno.TestContext) {
  await using stage = await startStage();
  await using agent = await stage.agent();
  const step = stepsOf(t);
  const pod = await stage.pod();

  for (const [what, spec, reason] of oddSpecs) {
    await step(`${what} fails with the reason`, async () => {
      const failed = await stage.ended(await stage.backup(pod, { spec }), 15_000);
      assert.equal(reasonOf(failed), reason, failed.status?.message);
    });
  }

  await step("is of an empty volume completes with 0 bytes", async () => {
    const { status } = await stage.ended(await stage.backup(pod));
    assert.equal(status?.phase, "Completed");
    assert.deepEqual(status.progress, { bytesDone: 0, totalBytes: 0 });
  });

  await step("is changed by others all the time completes once, with all changes", async () => {
    const name = await stage.backup(pod);
    const changes = Array.from({ length: 30 }, (_, at) => `change-${at}`);
    for (const change of changes) {
      await stage.patch(name, { metadata: { labels: { [change]: "yes" } } });
    }
    const { metadata, status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    const last = stage.log.versions(name).at(-1)?.object;
    assert.equal(Object.keys(last?.metadata.labels ?? {}).length, 32);
    assert.equal(metadata.annotations?.["longshore/kopia-source"] !== undefined, true);
    const ids = (await stage.snapshots()).map(({ id }) => id);
    assert(ids.includes(status.snapshotID ?? ""));
    assert.equal(ids.length, 2);
  });

  await step("waits for a repository that nobody makes, fails in time", async () => {
    const flags = ["--resource-timeout", "1500ms"];
    await using _hasty = await stage.agent({ node: "node-3", flags });
    await location(stage, "slow");
    const far = await stage.pod({ spec: { nodeName: "node-3", containers: oneContainer } });
    const spec = { node: "node-3", backupStorageLocation: "slow" };
    const failed = await stage.ended(await stage.backup(far, { spec }));
    assert.equal(reasonOf(failed), "RepositoryNotReady", failed.status?.message);
    assert.match(failed.status?.message ?? "", /"New" after 1\.5 s/);
    const path = `${velero}/backuprepositories/app-slow-kopia`;
    const made = await stage.controlPlane.call<{ spec: unknown }>("GET", path);
    assert(made.spec !== undefined);
  });

  await step("waits for a repository can be deleted, and canceled", async () => {
    for (const act of isCancelKnown ? ["remove", "cancel"] as const : ["remove"] as const) {
      const name = await stage.backup(pod, { spec: { backupStorageLocation: "slow" } });
      await stage.log.until(name, ({ status }) => status?.phase === "InProgress");
      if (act === "remove") await stage.remove(name);
      else await stage.patch(name, { spec: { cancel: true } });
      if (act === "cancel") assert.equal((await stage.ended(name)).status?.phase, "Canceled");
      assert.equal((await stage.ended(await stage.backup(pod))).status?.phase, "Completed");
    }
  });

  await step("waits for a repository goes on when it is ready", async () => {
    const name = await stage.backup(pod, { spec: { backupStorageLocation: "slow" } });
    await stage.log.until(name, ({ status }) => status?.phase === "InProgress");
    await stage.repository(`${stage.folder}/slow place/kopia/app`);
    await stage.controlPlane.call("PATCH", `${velero}/backuprepositories/app-slow-kopia`, {
      status: { phase: "Ready" },
    });
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
  });

  await step("leaves a whole log and no slot taken", async () => {
    await assertIdle(agent);
    assert.equal((await agent.stop()).code, 0);
    assertWholeLog(agent.log());
  });
}

const oneContainer = [{ name: "web", image: "example.invalid/web:1" }];

/** A location without a repository. */
async function location({ controlPlane, folder }: Stage, name: string) {
  const config = { fspath: `${folder}/${name} place` };
  const place = objects.backupStorageLocation({ name, spec: { config } });
  await controlPlane.call("POST", `${velero}/backupstoragelocations`, place);
}
