import assert from "node:assert/strict";
import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { Reason } from "../../lib/base/reason.ts";
import type { Agent } from "../support/agent.ts";
import { until } from "../support/children.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWhole, assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a restore", fn: restore });

async function restore(t: Deno.TestContext) {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  using home = tempFolder("home");
  await using agent = await stage.agent({ home: home.path });
  const step = stepsOf(t);
  const [small, large] = await Promise.all([
    backUp(stage, (volume) => Deno.writeTextFile(`${volume}/file`, "text")),
    backUp(stage, (volume) => randomFile(`${volume}/random`, 120)),
  ]);
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, restores, agent, small, large }));
  }
}

interface Ground {
  readonly stage: Stage;
  readonly restores: Restores;
  readonly agent: Agent;
  /** Snapshots: of one file, and of what takes kopia a moment. */
  readonly small: string;
  readonly large: string;
}

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "of what was backed up gives an equal tree, and the sign that it is done"(
    { stage, restores },
  ) {
    const from = await stage.pod();
    await fill(from.volume);
    const { status: saved } = await stage.ended(await stage.backup(from));
    const to = await restores.pod();
    const name = await restores.restore(to, { spec: { snapshotID: saved?.snapshotID ?? "" } });
    const { status } = await restores.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    await assertDone(to);
    await Deno.remove(`${to.volume}/.velero`, { recursive: true });
    assert.deepEqual(await describeTree(to.volume), await describeTree(from.volume));
    assert.deepEqual(status.progress, saved?.progress);
    assert.equal(status.node, "node-1");
    assert(status.startTimestamp && status.completionTimestamp);
    assert.deepEqual(restores.log.phases(name), ["", "InProgress", "Completed"]);
    const [event, ...more] = await stage.endEventsOf(name);
    assert.equal(event?.reason, "Completed");
    assert.deepEqual(more, []);
  },

  async "replaces what the snapshot has, and leaves the rest"({ restores, small }) {
    const pod = await restores.pod();
    await Deno.writeTextFile(`${pod.volume}/file`, "older and longer than the new");
    await Deno.writeTextFile(`${pod.volume}/other`, "kept");
    await completed(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
    assert.equal(await Deno.readTextFile(`${pod.volume}/file`), "text");
    assert.equal(await Deno.readTextFile(`${pod.volume}/other`), "kept");
  },

  async "waits until its pod waits for it"({ restores, agent, small }) {
    const pod = await restores.pod({ status: { phase: "Pending" } });
    const name = await restores.restore(pod, { spec: { snapshotID: small } });
    const ready = await restores.pod();
    await completed(restores, await restores.restore(ready, { spec: { snapshotID: small } }));
    assert.deepEqual(restores.log.phases(name), [""]);
    await restores.podStatus(pod, objects.waitingForRestore().status);
    await completed(restores, name);
    assertWholeLog(agent.log());
  },

  async "begins also where another init container stands in front, with a warning"(
    { restores, agent, small },
  ) {
    const pod = await restores.pod(objects.waitingForRestore({ before: ["init"] }));
    await completed(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
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
    await completed(restores, await restores.restore(ready, { spec: { snapshotID: small } }));
    for (const name of names) assert.equal(restores.log.versions(name).length, 1);
  },

  async "follows no link that the snapshot puts in the place of the sign"({ stage, restores }) {
    using outside = tempFolder("outside");
    const snapshot = await backUp(
      stage,
      (volume) => Deno.symlink(outside.path, `${volume}/.velero`),
    );
    const pod = await restores.pod();
    await completed(restores, await restores.restore(pod, { spec: { snapshotID: snapshot } }));
    assert.deepEqual([...Deno.readDirSync(outside.path)], []);
    await assertDone(pod);
  },

  async "writes holes where that is asked for"({ stage, restores }) {
    const snapshot = await backUp(stage, async (volume) => {
      using file = await Deno.open(`${volume}/sparse`, { write: true, create: true });
      await file.truncate(16 << 20);
    });
    const blocks = async (uploaderSettings: Readonly<Record<string, string>>) => {
      const pod = await restores.pod();
      const spec = { snapshotID: snapshot, uploaderSettings };
      await completed(restores, await restores.restore(pod, { spec }));
      const { size, blocks } = await Deno.stat(`${pod.volume}/sparse`);
      assert.equal(size, 16 << 20);
      return blocks ?? 0;
    };
    const settings = { WriteSparseFiles: "true", ParallelFilesDownload: "1" };
    assert(await blocks(settings) < 1_000);
    assert(await blocks({ WriteSparseFiles: "false" }) > 30_000);
  },

  async "that cannot be done fails with its reason, and the next one runs"(
    { restores, small },
  ) {
    const pod = await restores.pod();
    for (const { reason, change } of refusals(small)) {
      const name = await restores.restore(pod, change);
      await assertFails(restores, name, reason);
    }
    await completed(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
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
    await assertFails(restores, names[0] ?? "", "PodGone");
    await assertFails(restores, names[1] ?? "", "PodReplaced");
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
    await completed(restores, await restores.restore(ready, { spec }));
    const startedMs = performance.now();
    await restores.removePod(leaving);
    await restores.podStatus(ending, { phase: "Failed" });
    await assertFails(restores, names[0] ?? "", "PodGone");
    await assertFails(restores, names[1] ?? "", "PodNotRunning");
    assert(performance.now() - startedMs < 3_000);
  },

  async "is stopped when its pod goes in the middle"({ restores, agent, large, small }) {
    const pod = await restores.pod();
    const name = await restores.restore(pod, { spec: { snapshotID: large } });
    const frozen = await agent.freeze();
    await restores.removePod(pod);
    await frozen.resumeWhenToldToEnd();
    await assertFails(restores, name, "PodGone");
    await until("kopia is gone", () => !frozen.isAlive());
    const next = await restores.pod();
    await completed(restores, await restores.restore(next, { spec: { snapshotID: small } }));
  },

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
    await completed(restores, name);
    assert.equal((await stage.ended(backup)).status?.phase, "Completed");
    assert.match(await agent.metrics(), /^longshore_slots\{state="used"\} 0$/m);
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
    await assertFails(restores, name, "AgentRestarted");
    const ready = await restores.pod();
    await completed(restores, await restores.restore(ready, { spec: { snapshotID: large } }));
    for (const other of others) assert.equal(restores.log.versions(other).length, 1);
    assert.equal((await next.stop()).code, 0);
    assertWholeLog(next.log());
  },
};

interface Refusal {
  readonly reason: Reason;
  readonly change: objects.Change<PodVolumeRestore>;
}

function refusals(snapshotID: string): readonly Refusal[] {
  const owner = { apiVersion: "velero.io/v1", kind: "Restore", name: "again", controller: true };
  return [
    { reason: "OwnerMissing", change: { ownerReferences: [], spec: { snapshotID } } },
    {
      reason: "OwnerMissing",
      change: { ownerReferences: [{ ...owner, uid: "../../../evil" }], spec: { snapshotID } },
    },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "0".repeat(32) } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "/etc" } } },
    { reason: "SnapshotMissing", change: { spec: { snapshotID: "" } } },
    { reason: "VolumeNotInPod", change: { spec: { snapshotID, volume: "other" } } },
    { reason: "UploaderUnsupported", change: { spec: { snapshotID, uploaderType: "restic" } } },
    {
      reason: "UploaderSettingInvalid",
      change: { spec: { snapshotID, uploaderSettings: { ParallelFilesDownload: "many" } } },
    },
    {
      reason: "UploaderSettingInvalid",
      change: { spec: { snapshotID, uploaderSettings: { WriteSparseFiles: "maybe" } } },
    },
    {
      reason: "StorageLocationMissing",
      change: { spec: { snapshotID, backupStorageLocation: "other" } },
    },
  ];
}

/** Backs up a volume that `fill` fills, and answers the snapshot. */
async function backUp(stage: Stage, fill: (volume: string) => Promise<void>): Promise<string> {
  const pod = await stage.pod();
  await fill(pod.volume);
  const { status } = await stage.ended(await stage.backup(pod));
  assert.equal(status?.phase, "Completed", status?.message);
  return status.snapshotID ?? "";
}

async function fill(volume: string) {
  await Deno.mkdir(`${volume}/deep/er`, { recursive: true });
  await Deno.writeTextFile(`${volume}/deep/er/grüße\n✓`, "not ASCII");
  await Deno.writeTextFile(`${volume}/setuid`, "mode 4755");
  await Deno.chown(`${volume}/setuid`, 1234, 5678);
  await Deno.chmod(`${volume}/setuid`, 0o4755);
  await Deno.writeTextFile(`${volume}/nobody`, "mode 0000");
  await Deno.chmod(`${volume}/nobody`, 0o000);
  await Deno.symlink("/etc/passwd", `${volume}/deep/outside`);
  await Deno.utime(`${volume}/nobody`, 1_000_000_000, 1_000_000_000);
  await randomFile(`${volume}/random`, 3);
}

async function completed(restores: Restores, name: string) {
  const { status } = await restores.ended(name);
  assert.equal(status?.phase, "Completed", status?.message);
}

async function assertFails(restores: Restores, name: string, reason: Reason) {
  const { status } = await restores.ended(name);
  const message = status?.message ?? "";
  assert.equal(status?.phase, "Failed");
  assert(message.startsWith(`${reason}: `), message);
  assertWhole(message);
  assert(status.completionTimestamp);
}

/** What the restored pod waits for: readable by everybody. */
async function assertDone({ volume }: StagePod) {
  const folder = await Deno.lstat(`${volume}/.velero`);
  assert(folder.isDirectory);
  assert.equal((folder.mode ?? 0) & 0o777, 0o755);
  const file = await Deno.lstat(`${volume}/.velero/${objects.restoreUid}`);
  assert(file.isFile);
  assert.equal((file.mode ?? 0) & 0o777, 0o644);
  assert.equal(file.size, 0);
}
