import assert from "node:assert/strict";
import {
  addOwner,
  after,
  backupOn,
  decisions,
  pod,
  report,
  rowOf,
  run,
  runStaleSteps,
  type StaleSteps,
} from "../support/stale.ts";
import { type Stage, velero } from "../support/stage.ts";
import { toolsMissing } from "../support/tools.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "the command mark-stale", fn: (t) => runStaleSteps(t, steps) });

const steps: StaleSteps = {
  async "finds nothing in a cluster without objects"({ stage }) {
    const { code, stdout } = await run(stage, "--all-nodes");
    assert.equal(code, 0);
    assert.equal(stdout, "0 stale, 0 marked\n");
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
    if (isCancelKnown) await assertCanceled(stage, names);
    else await assertNotCancelable(stage, names);
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
      status: { phase: isCancelKnown ? "Prepared" : "InProgress" },
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
      await stage.remove(names[0] ?? "");
    }
  },

  async "does without CRDs that are not there"({ stage }) {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (const plural of ["podvolumerestores", "restores"]) {
      await stage.controlPlane.call("DELETE", `${path}/${plural}.velero.io`);
    }
    const name = await backupOn(stage, "n9", { phase: "InProgress", startTimestamp: after });
    const told = await report(stage, 0, "--all-nodes");
    assert.equal(rowOf(told, name).reason, "NodeGone");
    assert.deepEqual(told.absentKinds, ["PodVolumeRestore"]);
    assert.equal((await stage.ended(name)).status?.phase, "Failed");
  },
};

async function assertCanceled(stage: Stage, names: readonly string[]) {
  const planned = await report(stage, 4, "--all-nodes", "--dry-run", "--cancel");
  assert.equal(planned.summary.planned, 2);
  assert.equal((await report(stage, 0, "--all-nodes", "--cancel")).summary.canceled, 2);
  for (const name of names) await stage.log.until(name, ({ spec }) => spec.cancel === true);
  assert.equal((await report(stage, 0, "--all-nodes", "--cancel")).summary.canceled, 0);
}

/** Velero 1.15 and 1.16 have no such field. */
async function assertNotCancelable(stage: Stage, names: readonly string[]) {
  const told = await report(stage, 0, "--all-nodes", "--cancel");
  for (const name of names) {
    assert.equal(rowOf(told, name).result, "uncancelable");
    assert.equal(stage.log.versions(name).length, 1);
  }
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
