import assert from "node:assert/strict";
import { reasonOf } from "../support/messages.ts";
import { startStage } from "../support/stage.ts";
import { toolsMissing } from "../support/tools.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({
  ignore,
  name: "an agent that starts fails what a former one left on its node, no other (case D1)",
  async fn() {
    await using stage = await startStage();
    const pod = await stage.pod();
    const status = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:00Z" } as const;
    const later = isCancelKnown ? ["Accepted", "Prepared", "Canceling"] as const : [];
    const left = [
      await stage.backup(pod, { status }),
      ...await Promise.all(later.map((phase) => stage.backup(pod, { status: { phase } }))),
    ];
    const others = [
      await stage.backup(pod, { spec: { node: "node-2" }, status }),
      await stage.backup(pod, { status: { phase: "Completed", snapshotID: "one" } }),
      await stage.backup(pod, { status: { phase: isCancelKnown ? "Canceled" : "Failed" } }),
    ];
    const fresh = await stage.backup(pod);
    await using _agent = await stage.agent();
    for (const name of left) {
      const ended = await stage.ended(name);
      assert.equal(reasonOf(ended), "AgentRestarted");
      assert.equal(ended.status?.phase, "Failed");
      assert(ended.status.completionTimestamp);
    }
    assert.equal((await stage.ended(fresh)).status?.phase, "Completed");
    const late = await stage.backup(pod, { status }); // its claim arrives after the first list
    assert.equal(reasonOf(await stage.ended(late)), "AgentRestarted");
    for (const name of others) assert.equal(stage.log.versions(name).length, 1, name);
  },
});
