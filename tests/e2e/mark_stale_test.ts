import assert from "node:assert/strict";
import {
  after,
  backupOn,
  before,
  decisions,
  patchNode,
  report,
  rowOf,
  runStaleSteps,
  type StaleSteps,
} from "../support/stale.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "mark-stale", fn: (t) => runStaleSteps(t, steps) });

const steps: StaleSteps = {
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
};
