/** A cluster that lacks what a kind needs, or has kinds that the agent does not work on. */
import assert from "node:assert/strict";
import type { CustomResourceDefinition } from "../../lib/api/custom_resource_definition.ts";
import { dataUploads } from "../../lib/api/data_movement.ts";
import { labels } from "../../lib/api/names.ts";
import type { CoreEvent } from "../../lib/kube/events.ts";
import { until } from "../support/children.ts";
import { assertWhole, assertWholeLog } from "../support/messages.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");
const uploads = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";

Deno.test({ ignore, name: "a cluster that lacks something", fn: lacking });

async function lacking(t: Deno.TestContext) {
  await using stage = await startStage({ crds: { change: withoutFields } });
  const step = stepsOf(t);
  const { call } = stage.controlPlane;
  const own = await stage.pod({ namespace: "velero", name: "node-agent-x" });
  await installUploads(stage);
  const kept = await addUpload(stage, "kept");
  const mover = await stage.pod({
    ...{ namespace: "velero", name: "moved", labels: { [labels.dataUpload]: "moved" } },
    ownerReferences: [await addUpload(stage, "moved")],
  });
  const env = { POD_NAME: own.name };
  await using agent = await stage.agent({ env, flags: ["--log-level", "info"] });

  await step(
    "is told by log, event on the agent's pod, and metric what its CRDs lack",
    async () => {
      const error = agent.log().find(({ level }) => level === "error");
      assert.match(String(error?.["skew"]), /"podvolumebackups.*status fields snapshotID; install/);
      const warning = agent.log().find(({ msg }) => msg === "A CRD lacks something");
      assert.match(
        String(warning?.["skew"]),
        /podvolumerestores.*no status\.progress: .*; install/,
      );
      const events = await eventsAbout(stage, own.uid, 2);
      for (const { type, reason, message } of events) {
        assert.deepEqual([type, reason], ["Warning", "CrdSkew"]);
        assertWhole(message);
      }
      const metrics = await agent.metrics();
      for (const crd of ["podvolumebackups.velero.io", "podvolumerestores.velero.io"]) {
        assert.match(metrics, new RegExp(`^longshore_crd_skew\\{crd="${crd}"\\} 1$`, "m"));
      }
      const { text } = await agent.page("/readyz?verbose");
      assert.doesNotMatch(text, /podvolumebackups/);
    },
  );

  await step("is told that DataUploads stay, by a warning at the start", async () => {
    await agent.line(/"moved"/);
    const told = agent.log().filter(({ kind }) => kind === "DataUpload");
    assert.deepEqual(told.map(({ level, name }) => [level, name]), [
      ["warning", undefined],
      ["warning", "moved"],
    ]);
    assert.equal(agent.log().filter(({ kind }) => kind === "DataDownload").length, 0);
  });

  await step("sees it on the DataUpload that a pod still moves here", async () => {
    const [owner] = (await call<{ metadata: { ownerReferences: { uid: string }[] } }>(
      "GET",
      `/api/v1/namespaces/velero/pods/${mover.name}`,
    )).metadata.ownerReferences;
    const [event] = await eventsAbout(stage, owner?.uid ?? "", 1);
    assert.deepEqual([event?.type, event?.reason], ["Warning", "KindUnsupported"]);
    assert.match(event?.message ?? "", /Pod "moved" still moves its data on node "node-1"/);
    assertWhole(event?.message ?? "");
  });

  await step("is told of each new DataUpload once, and it is not touched", async () => {
    const { name } = await addUpload(stage, "late");
    await agent.line(/"late"/);
    await call("PATCH", `${uploads}/${name}`, { spec: { cancel: true } });
    await addUpload(stage, "later");
    await agent.line(/"later"/);
    assert.equal(agent.log().filter(({ name }) => name === "late").length, 1);
    for (const one of [kept.name, "late"]) {
      const { metadata } = await call<{ metadata: { generation: number } }>(
        "GET",
        `${uploads}/${one}`,
      );
      assert.equal(metadata.generation, one === "late" ? 2 : 1);
    }
  });

  await step("leaves a backup alone that could not be written down", async () => {
    const name = await stage.backup(await stage.pod());
    await stage.log.until(name, () => true);
    assert.equal((await agent.stop()).code, 0);
    assert.deepEqual(stage.log.phases(name), [""]);
    assertWholeLog(agent.log());
  });
}

/** Backups cannot be restored with these CRDs, restores only do not tell how far they are. */
function withoutFields(definition: CustomResourceDefinition): CustomResourceDefinition {
  const lacking: Readonly<Record<string, string>> = {
    "podvolumebackups.velero.io": "snapshotID",
    "podvolumerestores.velero.io": "progress",
  };
  const field = lacking[definition.metadata.name];
  if (field === undefined) return definition;
  const changed = structuredClone(definition);
  for (const { schema } of changed.spec.versions) {
    const fields = schema?.openAPIV3Schema?.properties?.["status"]?.properties as
      | Record<string, unknown>
      | undefined;
    delete fields?.[field];
  }
  return changed;
}

async function installUploads({ controlPlane: { call } }: Stage) {
  const { group, version, plural, kind } = dataUploads;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const name = `${plural}.${group}`;
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await call("POST", path, {
    metadata: { name },
    spec: {
      ...{ group, names: { kind, plural }, scope: "Namespaced" },
      versions: [
        { name: version, served: true, storage: true, schema: { openAPIV3Schema: open } },
      ],
    },
  }).catch((error: Error) => {
    if (!/: 409 /.test(error.message)) throw error; // the CRDs under test have it
  });
  await until("DataUploads are served", () => call("GET", uploads).then(() => true, () => false));
}

/** Answers a reference to it. */
async function addUpload({ controlPlane: { call } }: Stage, name: string) {
  const { group, version, kind } = dataUploads;
  const apiVersion = `${group}/${version}`;
  const spec = {
    ...{ snapshotType: "CSI", backupStorageLocation: "default", operationTimeout: "10m0s" },
    ...{ sourceNamespace: "app", sourcePVC: "data" },
    csiSnapshot: { volumeSnapshot: "s", storageClass: "c", snapshotClass: "c" },
  };
  const { metadata } = await call<{ metadata: { uid: string } }>("POST", uploads, {
    ...{ apiVersion, kind, spec },
    metadata: { name },
  });
  return { apiVersion, kind, name, uid: metadata.uid, controller: true };
}

/** As `kubectl describe` asks for them. */
async function eventsAbout({ controlPlane: { call } }: Stage, uid: string, count: number) {
  const path = `/api/v1/namespaces/velero/events?fieldSelector=involvedObject.uid=${uid}`;
  return await until(`there are ${count} events`, async () => {
    const { items } = await call<{ items: CoreEvent[] }>("GET", path);
    return items.length >= count && items;
  });
}
