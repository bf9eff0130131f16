import assert from "node:assert/strict";
import { until } from "../support/children.ts";
import { assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import {
  assertCompleted,
  assertFailed,
  type RestoreSteps,
  runRestoreSteps,
} from "../support/restores.ts";
import type { StagePod } from "../support/stage.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a restore follows its pod:", fn: (t) => runRestoreSteps(t, steps) });

const steps: RestoreSteps = {
  async "waits until its pod waits for it"({ restores, agent, small }) {
    const pod = await restores.pod({ status: { phase: "Pending" } });
    const name = await restores.restore(pod, { spec: { snapshotID: small } });
    const ready = await restores.pod();
    await assertCompleted(restores, await restores.restore(ready, { spec: { snapshotID: small } }));
    assert.deepEqual(restores.log.phases(name), [""]);
    await restores.podStatus(pod, objects.waitingForRestore().status);
    await assertCompleted(restores, name);
    assertWholeLog(agent.log());
  },

  async "begins also where another init container stands in front, with a warning"(
    { restores, agent, small },
  ) {
    const pod = await restores.pod(objects.waitingForRestore({ before: ["init"] }));
    await assertCompleted(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
    await agent.line(/restore-wait is not the first one/, 1_000);
  },

  async "of a pod without the init container, or of another node, is left alone"(
    { restores, agent, small },
  ) {
    const plain = await restores.pod({ spec: { initContainers: [] } });
    const foreign = await restores.pod({ spec: { nodeName: "node-2" } });
    const names = [
      await restores.restore(plain, { spec: { snapshotID: small } }),
      await restores.restore(foreign, { spec: { snapshotID: small } }),
    ];
    await agent.line(/has no init container restore-wait/, 5_000);
    const ready = await restores.pod();
    await assertCompleted(restores, await restores.restore(ready, { spec: { snapshotID: small } }));
    for (const name of names) assert.equal(restores.log.versions(name).length, 1);
  },

  async "into a pod that is gone or was replaced fails after a look at the API server"(
    { restores, small },
  ) {
    const gone = {
      namespace: "app",
      name: "never-was",
      uid: "11111111-0000-4000-8000-000000000000",
    };
    const pod = await restores.pod();
    const replaced = { ...pod, uid: "22222222-0000-4000-8000-000000000000" };
    const spec = { snapshotID: small };
    const names = [
      await restores.restore(gone, { spec }),
      await restores.restore(replaced, { spec }),
    ];
    await assertFailed(restores, names[0] ?? "", "PodGone");
    await assertFailed(restores, names[1] ?? "", "PodReplaced");
  },

  async "fails at once when its pod goes or ends before it begins"({ restores, small }) {
    const pods = [
      await restores.pod({ status: { phase: "Pending" } }),
      await restores.pod({ status: { phase: "Pending" } }),
    ];
    const [leaving, ending] = pods as [StagePod, StagePod];
    const spec = { snapshotID: small };
    const names = [
      await restores.restore(leaving, { spec }),
      await restores.restore(ending, { spec }),
    ];
    const ready = await restores.pod(); // when this is done the others have been seen
    await assertCompleted(restores, await restores.restore(ready, { spec }));
    const startedMs = performance.now();
    await restores.removePod(leaving);
    await restores.podStatus(ending, { phase: "Failed" });
    await assertFailed(restores, names[0] ?? "", "PodGone");
    await assertFailed(restores, names[1] ?? "", "PodNotRunning");
    assert(performance.now() - startedMs < 3_000);
  },

  async "does not begin in a pod that is being deleted, and ends in one that is meanwhile"(
    { stage, restores, agent, large, small },
  ) {
    const leave = ({ name }: StagePod) =>
      stage.controlPlane.call("DELETE", `/api/v1/namespaces/app/pods/${name}`); // waits for a kubelet
    const leaving = await restores.pod();
    await leave(leaving);
    const late = await restores.restore(leaving, { spec: { snapshotID: small } });
    assert.match(await assertFailed(restores, late, "PodGone"), /is being deleted/);
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    await leave(pod);
    frozen.resume();
    await assertCompleted(restores, name);
  },

  async "is stopped when its pod goes in the middle"({ restores, agent, large, small }) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    await restores.removePod(pod);
    await frozen.resumeWhenToldToEnd();
    await assertFailed(restores, name, "PodGone");
    await until("kopia is gone", () => !frozen.isAlive());
    const next = await restores.pod();
    await assertCompleted(restores, await restores.restore(next, { spec: { snapshotID: small } }));
  },
};
