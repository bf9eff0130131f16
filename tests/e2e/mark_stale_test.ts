import assert from "node:assert/strict";
import type { CustomResourceDefinition } from "../../lib/api/custom_resource_definition.ts";
import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { StaleReport, StaleRow } from "../../cmd/mark_stale_report.ts";
import { agentProgram } from "../support/agent.ts";
import { asInVelero115 } from "../support/old_crd.ts";
import * as objects from "../support/objects.ts";
import { type ProcessResult, runProcess } from "../support/process.ts";
import { grant } from "../support/rights.ts";
import { type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, startStage, velero } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "mark-stale", fn: markStale });

async function markStale(t: Deno.TestContext) {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  const step = stepsOf(t);
  for (const name of ["n1", "n2", "silent"]) await addNode(stage, name);
  await addAgent(stage, { node: "n2", startedAt: "2026-01-01T00:00:00Z" });
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, restores }));
  }
}

interface Ground {
  readonly stage: Stage;
  readonly restores: Restores;
}

const before = "2025-12-31T00:00:00Z"; // the agent of n2 was started
const after = "2026-01-02T00:00:00Z";

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "finds nothing in a cluster without objects"({ stage }) {
    const { code, stdout } = await run(stage, "--all-nodes");
    assert.equal(code, 0);
    assert.equal(stdout, "0 stale, 0 marked\n");
  },

  async "of a node ends what its agent left, and nothing else (case D1)"({ stage, restores }) {
    const d1 = {
      a: await backupOn(stage, "n1", { phase: "InProgress", startTimestamp: after }),
      b: await backupOn(stage, "n2", { phase: "InProgress", startTimestamp: before }),
      c: await backupOn(stage, "n1"),
      d: await backupOn(stage, "n1", { phase: "Completed" }),
    };
    const pod = await restores.pod({ spec: { nodeName: "n1" } });
    const restore = await restores.restore(pod, { status: { phase: "InProgress" } });
    const planned = await report(stage, 4, "--node", "n1", "--dry-run");
    assert.deepEqual(decisions(planned), { [d1.a]: "fail AgentGone", [restore]: "fail AgentGone" });
    assert.deepEqual(planned.objects.map(({ result }) => result), ["planned", "planned"]);
    for (const name of Object.values(d1)) assert.equal(stage.log.versions(name).length, 1);

    const done = await report(stage, 0, "--node", "n1");
    assert.deepEqual(done.summary.marked, 2);
    const { status } = await stage.ended(d1.a);
    assert.equal(status?.phase, "Failed");
    assert.match(
      status.message ?? "",
      /^AgentGone: There is no agent on node "n1"; .* back up again$/,
    );
    assert(status.completionTimestamp);
    assert.match((await restores.ended(restore)).status?.message ?? "", /restore again$/);
    for (const name of [d1.b, d1.c, d1.d]) assert.equal(stage.log.versions(name).length, 1);
    assert.deepEqual((await report(stage, 0, "--node", "n1")).objects, []);
    await stage.remove(d1.b);
  },

  async "leaves alone what a living agent has, and what is in doubt, and says why"({ stage }) {
    const alive = await backupOn(stage, "n2", { phase: "InProgress", startTimestamp: after });
    const left = await backupOn(stage, "n2", { phase: "InProgress", startTimestamp: before });
    const silent = await backupOn(stage, "silent", { phase: "InProgress", startTimestamp: after });
    await patchNode(stage, "silent", [{ type: "Ready", status: "Unknown" }]);
    const undated = await backupOn(stage, "n2", { phase: "InProgress" });
    const told = await report(stage, 0, "--all-nodes");
    assert.deepEqual(decisions(told), {
      [alive]: "leave mover-alive",
      [left]: "fail AgentRestarted",
      [silent]: "leave in-doubt",
      [undated]: "leave in-doubt",
    });
    assert.equal(stage.log.versions(alive).length, 1);
    assert.match(rowOf(told, silent).why, /does not report/);
    assert.equal(rowOf(told, alive).evidence.agent, "running since 2026-01-01T00:00:00Z");
    for (const name of [alive, silent, undated]) await stage.remove(name);
  },

  async "leaves alone what a pod of its own moves"({ stage }) {
    const name = await backupOn(stage, "n1", { phase: "InProgress", startTimestamp: after });
    const mover = await stage.pod({
      ...{ namespace: "velero", name, labels: { "velero.io/pod-volume-backup": name } },
      spec: { nodeName: "n1" },
    });
    assert.deepEqual(decisions(await report(stage, 0, "--all-nodes")), {
      [name]: "leave mover-alive",
    });
    const path = `/api/v1/namespaces/velero/pods/${mover.name}`;
    await stage.controlPlane.call("PATCH", `${path}/status`, { status: { phase: "Failed" } });
    assert.deepEqual(decisions(await report(stage, 0, "--all-nodes")), {
      [name]: "fail AgentGone",
    });
  },

  async "covers nodes that do not exist, and pods that are gone or replaced"({ stage, restores }) {
    const lost = await backupOn(stage, "n9", { phase: "InProgress", startTimestamp: after });
    const never = await backupOn(stage, "n9");
    const pod = await restores.pod({ spec: { nodeName: "n1" } });
    const gone = await restores.restore({ ...pod, name: "gone" });
    const goneLater = await restores.restore({ ...pod, name: "gone" }, {
      status: { phase: "InProgress" },
    });
    const replaced = await restores.restore({ ...pod, uid: "other" });
    const fine = await restores.restore(pod, { ownerReferences: [] });
    const done = await report(stage, 0, "--all-nodes");
    assert.deepEqual(decisions(done), {
      [lost]: "fail NodeGone",
      [never]: "fail NodeGone",
      [gone]: "fail PodGone",
      [goneLater]: "fail PodGone",
      [replaced]: "fail PodReplaced",
    });
    assert.equal(rowOf(done, lost).evidence.nodeState, "gone");
    assert.equal(restores.log.versions(fine).length, 1);
    assert.deepEqual((await report(stage, 0, "--all-nodes")).objects, []);
  },

  async "reports what belongs to an ended Backup, and cancels it when told (case D6)"(
    { stage },
  ) {
    const ownerReferences = [await addOwner(stage, "b1", "Failed")];
    const gone = [{ ...ownerReferences[0]!, name: "b0" }];
    const status = { phase: "InProgress", startTimestamp: after } as const;
    const names = [
      await stage.backup(pod, { spec: { node: "n2", pod: { ...pod } }, status, ownerReferences }),
      await stage.backup(pod, { spec: { node: "n2" }, status, ownerReferences: gone }),
    ];
    const told = await report(stage, 0, "--all-nodes");
    assert.deepEqual(Object.values(decisions(told)).toSorted(), [
      "report owner-gone",
      "report owner-terminal",
    ]);
    assert.equal(rowOf(told, names[0] ?? "").evidence.ownerState, "Failed");
    for (const name of names) assert.equal(stage.log.versions(name).length, 1);
    assert.equal(
      (await report(stage, 4, "--all-nodes", "--dry-run", "--cancel")).summary.planned,
      2,
    );
    assert.equal((await report(stage, 0, "--all-nodes", "--cancel")).summary.canceled, 2);
    for (const name of names) {
      const { spec } = await stage.log.until(name, ({ spec }) => spec.cancel === true);
      assert.equal(spec.cancel, true);
    }
    assert.equal((await report(stage, 0, "--all-nodes", "--cancel")).summary.canceled, 0);
    for (const name of names) await stage.remove(name);
  },

  async "takes the flags at their word"({ stage, restores }) {
    const status = { phase: "InProgress", startTimestamp: new Date().toISOString() } as const;
    const backup = await backupOn(stage, "n1", status);
    const pod = await restores.pod({ spec: { nodeName: "n1" } });
    const restore = await restores.restore(pod, { status });
    const young = await report(stage, 0, "--node", "n1", "--older-than", "1h");
    assert.deepEqual(new Set(Object.values(decisions(young))), new Set(["leave too-young"]));
    assert.deepEqual(
      Object.keys(decisions(await report(stage, 0, "--node", "n1", "--kind", "PVR"))),
      [
        restore,
      ],
    );
    const { code, stdout } = await run(stage, "--node", "n1", "--kind=podvolumebackups");
    assert.equal(code, 0);
    assert.match(
      stdout,
      new RegExp(`^PodVolumeBackup +${backup} +fail +AgentGone +InProgress`, "m"),
    );
    assert.match(stdout, /^1 stale, 1 marked$/m);
    for (
      const wrong of [["--node", "a", "--all-nodes"], ["--all-nodes", "--kind=x"], [], [
        "--all-nodes",
        "--older-than=-1s",
      ]]
    ) {
      assert.equal((await run(stage, ...wrong)).code, 2, wrong.join(" "));
    }
  },

  async "takes off what agents of Velero 1.17 put on, so that the object can be deleted"(
    { stage },
  ) {
    const name = await stage.backup(pod, {
      finalizers: ["velero.io/pod-volume-finalizer", "example.org/kept"],
      labels: { "velero.io/expose-on-going": "true" },
      spec: { node: "n9" },
      status: { phase: "Prepared" },
    });
    await report(stage, 0, "--all-nodes");
    const { metadata } = await stage.ended(name);
    assert.deepEqual(metadata.finalizers, ["example.org/kept"]);
    assert.equal(metadata.labels?.["velero.io/expose-on-going"], undefined);
  },

  async "tells of what it could not write, and ends the rest"({ stage }) {
    const names = [
      await backupOn(stage, "n1", { phase: "InProgress", startTimestamp: after }),
      await backupOn(stage, "n1", { phase: "InProgress", startTimestamp: after }),
    ];
    const { call } = stage.controlPlane;
    await refuseChangesOf(stage, names[0] ?? "");
    try {
      const { summary, objects } = await report(stage, 3, "--node", "n1");
      assert.deepEqual([summary.marked, summary.errors], [1, 1]);
      assert.match(objects.find(({ error }) => error !== undefined)?.error ?? "", /hands off/);
    } finally {
      const group = "/apis/admissionregistration.k8s.io/v1";
      await call("DELETE", `${group}/validatingadmissionpolicybindings/hands-off`);
      await call("DELETE", `${group}/validatingadmissionpolicies/hands-off`);
    }
  },
};

Deno.test({
  ignore,
  name: "mark-stale knows the CRDs of Velero 1.15, and a cluster without some",
  async fn() {
    const withoutRestores = (definition: CustomResourceDefinition) => asInVelero115(definition);
    await using stage = await startStage({ crd: withoutRestores });
    await addNode(stage, "n1");
    await addAgent(stage, { node: "n1", startedAt: before });
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (const plural of ["podvolumerestores", "restores"]) {
      await stage.controlPlane.call("DELETE", `${path}/${plural}.velero.io`);
    }
    const ownerReferences = [await addOwner(stage, "b1", "Completed")];
    const status = { phase: "InProgress", startTimestamp: after } as const;
    const name = await stage.backup(pod, { spec: { node: "n1" }, status, ownerReferences });
    const told = await report(stage, 0, "--all-nodes", "--cancel");
    assert.deepEqual(decisions(told), { [name]: "report owner-terminal" });
    assert.equal(rowOf(told, name).result, "uncancelable");
    assert.deepEqual(told.absentKinds, ["PodVolumeRestore"]);
    assert.equal(stage.log.versions(name).length, 1);
  },
});

/** No pod of this name is ever looked at: a backup is judged by its node. */
const pod = { namespace: "app", name: "web", uid: objects.podUid, volume: "" };

function backupOn(
  stage: Stage,
  node: string,
  status?: NonNullable<PodVolumeRestore["status"]>,
): Promise<string> {
  return stage.backup(pod, { spec: { node }, ownerReferences: [], ...(status && { status }) });
}

async function addNode({ controlPlane: { call } }: Stage, name: string) {
  await call("POST", "/api/v1/nodes", { metadata: { name } });
}

async function patchNode(
  { controlPlane: { call } }: Stage,
  name: string,
  conditions: readonly unknown[],
) {
  await call("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions } });
}

async function addAgent(
  stage: Stage,
  { node, startedAt }: { readonly node: string; readonly startedAt: string },
) {
  await stage.pod({
    ...{ namespace: "velero", name: `node-agent-${node}`, labels: { name: "node-agent" } },
    spec: { nodeName: node },
    status: {
      phase: "Running",
      containerStatuses: [{
        ...objects.containerRunning("web"),
        state: { running: { startedAt } },
      }],
    },
  });
}

async function addOwner({ controlPlane: { call } }: Stage, name: string, phase: string) {
  const made = await call<{ metadata: { uid: string } }>("POST", `${velero}/backups`, {
    apiVersion: "velero.io/v1",
    kind: "Backup",
    metadata: { name, namespace: "velero" },
    spec: {},
    status: { phase },
  });
  const { uid } = made.metadata;
  return { apiVersion: "velero.io/v1", kind: "Backup", name, uid, controller: true };
}

/** By a rule of the API server, as only it knows who may change one object. */
async function refuseChangesOf({ controlPlane: { call } }: Stage, name: string) {
  const group = "/apis/admissionregistration.k8s.io/v1";
  const rule = {
    apiGroups: ["velero.io"],
    apiVersions: ["v1"],
    operations: ["UPDATE"],
    resources: ["podvolumebackups"],
  };
  await call("POST", `${group}/validatingadmissionpolicies`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "hands-off" },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: `object.metadata.name != "${name}"`, message: "hands off" }],
    },
  });
  await call("POST", `${group}/validatingadmissionpolicybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "hands-off" },
    spec: { policyName: "hands-off", validationActions: ["Deny"] },
  });
  // The server takes a moment to know its own rule.
  for (let tries = 0; tries < 200; tries++) {
    const body = { metadata: { annotations: { tried: String(tries) } } };
    const path = `${velero}/podvolumebackups/${name}?dryRun=All`;
    const refused = await call("PATCH", path, body).then(() => false, () => true);
    if (refused) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the API server never refused the change");
}

async function run(stage: Stage, ...flags: string[]): Promise<ProcessResult> {
  const [program, ...args] = agentProgram();
  const kubeconfig = await kubeconfigOf(stage);
  return await runProcess(program, [...args, "mark-stale", "--kubeconfig", kubeconfig, ...flags], {
    env: { NODE_NAME: "" },
  });
}

const kubeconfigs = new WeakMap<Stage, Promise<string>>();

/** With the rights of manifests/mark-stale-rbac.yaml and no other. */
function kubeconfigOf(stage: Stage): Promise<string> {
  const made = kubeconfigs.get(stage) ?? grant(stage.controlPlane, "mark-stale-rbac.yaml");
  kubeconfigs.set(stage, made);
  return made;
}

async function report(stage: Stage, code: number, ...flags: string[]): Promise<StaleReport> {
  const result = await run(stage, ...flags, "-o", "json");
  assert.equal(result.code, code, `${result.stdout}\n${result.stderr}`);
  return JSON.parse(result.stdout);
}

function decisions({ objects }: StaleReport): Readonly<Record<string, string>> {
  return Object.fromEntries(
    objects.map(({ name, decision, reason }) => [name, `${decision} ${reason}`]),
  );
}

function rowOf({ objects }: StaleReport, name: string): StaleRow {
  const row = objects.find((object) => object.name === name);
  assert(row !== undefined);
  return row;
}
