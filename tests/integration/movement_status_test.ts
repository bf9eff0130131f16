import assert from "node:assert/strict";
import type { CustomResourceDefinition } from "../../lib/api/custom_resource_definition.ts";
import { configureLog } from "../../lib/base/log.ts";
import { namespaces } from "../../lib/api/core.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import { heldOf, holderAnnotation, statusWriter } from "../../lib/movement/status.ts";
import { startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import { podVolumeBackup } from "../support/objects.ts";

const signal = new AbortController().signal;

/** With a status address, as no Velero has it and a later one may. */
function withStatusAddress(definition: CustomResourceDefinition): CustomResourceDefinition {
  const versions = definition.spec.versions.map((one) => ({
    ...one,
    subresources: { status: {} },
  }));
  return { ...definition, spec: { ...definition.spec, versions } };
}

Deno.test("the status of a movement", async (t) => {
  for (const statusSubresource of [false, true]) {
    await using controlPlane = await startControlPlane();
    await installCrds(controlPlane, statusSubresource ? { change: withStatusAddress } : {});
    const connection = await connect({ kubeconfig: controlPlane.kubeconfig });
    await using client = createClient(connection, { userAgent: "test" });
    await client.create(namespaces, { metadata: { name: "velero" } }, signal);
    const where = statusSubresource ? "through its own address" : "with its object";
    await check(t, client, { where, statusSubresource });
    if (statusSubresource) continue;
    await t.step("a result waits for rights that were taken away", async () => {
      const user = await connect({ kubeconfig: await controlPlane.userKubeconfig("agent", []) });
      await using poor = createClient(user, { userAgent: "test", retryFirstMs: 10 });
      const held = heldOf(
        await client.create(podVolumeBackups, podVolumeBackup({ name: "poor" }), signal),
      );
      const capabilities = { statusSubresource };
      const writer = statusWriter({
        client: poor,
        resource: podVolumeBackups,
        capabilities,
        holder: "a",
      });
      const refused = Promise.withResolvers<void>();
      configureLog({ level: "warning", format: "text", write: () => refused.resolve() });
      const writing = writer.finish(held, { status: { phase: "Failed", message: "m" } }, signal);
      await refused.promise;
      await controlPlane.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: "agent" },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "cluster-admin",
        },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "agent" }],
      });
      assert.equal(await writing, "written");
    });
  }
});

interface Case {
  readonly where: string;
  readonly statusSubresource: boolean;
}

async function check(t: Deno.TestContext, client: KubeClient, { where, statusSubresource }: Case) {
  const writer = (holder: string) =>
    statusWriter({
      client,
      resource: podVolumeBackups,
      capabilities: { statusSubresource },
      holder,
    });
  const make = (name: string) => client.create(podVolumeBackups, podVolumeBackup({ name }), signal);
  const read = (name: string): Promise<PodVolumeBackup> =>
    client.get(podVolumeBackups, { namespace: "velero", name }, signal);
  const inProgress = { status: { phase: "InProgress" } };
  const progress = { status: { progress: { bytesDone: 1, totalBytes: 2 } } };
  const failed = {
    status: { phase: "Failed", message: "m", completionTimestamp: "2026-01-01T00:00:00Z" },
  };

  await t.step(`of two claims of one object one wins, ${where}`, async () => {
    const held = heldOf(await make("race"));
    const claims = await Promise.all(
      ["a", "b", "c", "d"].map((holder) => writer(holder).claim(held, inProgress, signal)),
    );
    assert.equal(claims.filter((claim) => claim !== undefined).length, 1);
    assert.equal((await read("race")).status?.phase, "InProgress");
  });

  await t.step(`a claim whose answer was lost is known again, ${where}`, async () => {
    const held = heldOf(await make("lost"));
    assert.ok(await writer("a").claim(held, inProgress, signal));
    assert.ok(await writer("a").claim(held, inProgress, signal), "the same claim, sent again");
    assert.equal(await writer("b").claim(held, inProgress, signal), undefined);
    assert.equal((await read("lost")).metadata.annotations?.[holderAnnotation], "a");
  });

  await t.step(`a claim of an object that is gone is none, ${where}`, async () => {
    const held = heldOf(await make("gone"));
    await client.delete(podVolumeBackups, { namespace: "velero", name: "gone" }, signal);
    assert.equal(await writer("a").claim(held, inProgress, signal), undefined);
    assert.equal(await writer("a").finish(held, failed, signal), "overtaken");
  });

  await t.step(
    `a result is written through a conflict and keeps foreign edits, ${where}`,
    async () => {
      const held = heldOf(await make("edited"));
      const name = { namespace: "velero", name: "edited" };
      const label = { metadata: { labels: { "example.org/edited": "yes" } } };
      await client.patch(podVolumeBackups, { ...name, body: label }, signal);
      assert.equal(await writer("a").finish(held, failed, signal), "written");
      const { status, metadata } = await read("edited");
      assert.equal(status?.phase, "Failed");
      assert.equal(metadata.labels?.["example.org/edited"], "yes");
    },
  );

  await t.step(
    `a result that was written with its answer lost is not written twice, ${where}`,
    async () => {
      const held = heldOf(await make("twice"));
      assert.equal(await writer("a").finish(held, failed, signal), "written");
      const { resourceVersion } = (await read("twice")).metadata;
      assert.equal(await writer("a").finish(held, failed, signal), "written");
      assert.equal((await read("twice")).metadata.resourceVersion, resourceVersion);
    },
  );

  await t.step(`a final phase that someone else wrote stays, ${where}`, async () => {
    const held = heldOf(await make("ended"));
    await writer("a").finish(held, failed, signal);
    const completed = { status: { phase: "Completed", snapshotID: "s" } };
    assert.equal(await writer("b").finish(held, completed, signal), "overtaken");
    assert.equal((await read("ended")).status?.phase, "Failed");
  });

  await t.step(`a result is not written to another object of the same name, ${where}`, async () => {
    const held = heldOf(await make("again"));
    await client.delete(podVolumeBackups, { namespace: "velero", name: "again" }, signal);
    await make("again");
    assert.equal(await writer("a").finish(held, failed, signal), "overtaken");
    assert.equal((await read("again")).status?.phase, undefined);
  });

  await t.step(`progress is written whatever the version of the object, ${where}`, async () => {
    const held = heldOf(await make("moving"));
    const claimed = await writer("a").claim(held, inProgress, signal);
    assert.ok(claimed);
    const reported = await writer("a").report(held, progress, signal);
    const { metadata, status } = await read("moving");
    assert.deepEqual(status?.progress, { bytesDone: 1, totalBytes: 2 });
    assert.equal(status?.phase, "InProgress");
    assert.equal(reported.resourceVersion, metadata.resourceVersion);
  });

  await t.step(`progress after the end gives no right to write a result, ${where}`, async () => {
    const held = heldOf(await make("late"));
    await writer("a").finish(held, failed, signal);
    const reported = await writer("b").report(held, progress, signal);
    assert.deepEqual(reported, held);
    const completed = { status: { phase: "Completed", snapshotID: "s" } };
    assert.equal(await writer("b").finish(reported, completed, signal), "overtaken");
    assert.equal((await read("late")).status?.phase, "Failed");
  });
}
