import assert from "node:assert/strict";
import { assertIdle } from "../support/agent.ts";
import { assertWholeLog } from "../support/messages.ts";
import {
  assertCompleted,
  assertFailed,
  type RestoreSteps,
  runRestoreSteps,
} from "../support/restores.ts";
import { toolsMissing } from "../support/tools.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a restore under way", fn: (t) => runRestoreSteps(t, steps) });

const cancel: RestoreSteps = {
  async "is canceled before and in the middle"({ restores, agent, large }) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    const waiting = await restores.restore(await restores.pod(), { spec: { snapshotID: large } });
    await restores.patch(waiting, { spec: { cancel: true } });
    assert.equal((await restores.ended(waiting)).status?.phase, "Canceled");
    assert.deepEqual(restores.log.phases(waiting), ["", "Canceled"]);
    await restores.patch(name, { spec: { cancel: true } });
    await frozen.resumeWhenToldToEnd();
    assert.equal((await restores.ended(name)).status?.phase, "Canceled");
    assert.deepEqual(restores.log.phases(name), ["", "InProgress", "Canceling", "Canceled"]);
    assert.throws(() => Deno.lstatSync(`${pod.volume}/.velero`), Deno.errors.NotFound);
  },
};

const steps: RestoreSteps = {
  ...(isCancelKnown ? cancel : {}),

  async "shares the slot with backups, in order of creation"({ stage, restores, agent, large }) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    const source = await stage.pod();
    await Deno.writeTextFile(`${source.volume}/file`, "text");
    const backup = await stage.backup(source);
    await agent.line(new RegExp(`waits for a slot.*${backup}`), 5_000);
    assert.match(await agent.metrics(), /^longshore_slots\{state="used"\} 1$/m);
    assert.match(await agent.metrics(), /^longshore_slots\{state="waiting"\} 1$/m);
    frozen.resume();
    await assertCompleted(restores, name);
    assert.equal((await stage.ended(backup)).status?.phase, "Completed");
    await assertIdle(agent);
  },

  async "that a killed agent left fails, those of other nodes stay (case D2)"(
    { stage, restores, agent, large },
  ) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    await agent.freeze();
    const status = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:00Z" } as const;
    const foreign = await restores.pod({ spec: { nodeName: "node-2" } });
    const others = [
      await restores.restore(foreign, { status }),
      await restores.restore({ ...foreign, name: "gone" }, { status }),
    ];
    agent.kill("SIGKILL");
    await agent.ended();
    await using next = await stage.agent();
    await assertFailed(restores, name, "AgentRestarted");
    const ready = await restores.pod();
    await assertCompleted(restores, await restores.restore(ready, { spec: { snapshotID: large } }));
    for (const other of others) assert.equal(restores.log.versions(other).length, 1);
    assert.equal((await next.stop()).code, 0);
    assertWholeLog(next.log());
  },
};
