import assert from "node:assert/strict";
import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import { smallDisk } from "../support/small_disk.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a backup fails on a node", fn: nodeFailures });

interface Ground {
  readonly stage: Stage;
  readonly pod: StagePod;
  readonly step: ReturnType<typeof stepsOf>;
}

async function nodeFailures(t: Deno.TestContext) {
  await using stage = await startStage();
  const pod = await stage.pod();
  await randomFile(`${pod.volume}/random`, 30);
  const ground = { stage, pod, step: stepsOf(t) };
  await programs(ground);
  await deaths(ground);
  await unreadableFiles(ground);
  await fullDisks(ground);
}

async function programs({ stage, pod, step }: Ground) {
  await step("where kopia comes later", async () => {
    const kopia = `${stage.folder}/bin/kopia`;
    await using agent = await stage.agent({ kopia });
    await assertFails(stage, await stage.backup(pod), "KopiaMissing");
    await Deno.mkdir(`${stage.folder}/bin`);
    await Deno.symlink(stage.kopiaProgram, kopia);
    await assertCompletes(stage, pod);
    await assertEnds(agent);
  });

  await step("where kopia is too old", async () => {
    const kopia = `${stage.folder}/old-kopia`;
    await Deno.writeTextFile(kopia, "#!/bin/sh\necho '0.17.0 build: x from: y'\n", { mode: 0o755 });
    await using agent = await stage.agent({ kopia });
    const message = await assertFails(stage, await stage.backup(pod), "KopiaTooOld");
    assert.match(message, /0\.17\.0/);
    await assertEnds(agent);
  });

  await step("where kopia is no program", async () => {
    const kopia = `${stage.folder}/text`;
    await Deno.writeTextFile(kopia, "not a program\n", { mode: 0o755 });
    await using agent = await stage.agent({ kopia });
    await assertFails(stage, await stage.backup(pod), "KopiaMissing");
    await assertEnds(agent);
  });
}

async function deaths({ stage, pod, step }: Ground) {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    await step(`where somebody ends kopia by ${signal}`, async () => {
      const count = (await stage.snapshots()).length;
      await using agent = await stage.agent();
      const name = await stage.backup(pod);
      const mover = await agent.freeze();
      Deno.kill(mover.pid, signal);
      if (signal !== "SIGKILL") mover.resume();
      await assertFails(stage, name, "KopiaKilled");
      await assertCompletes(stage, pod);
      assert.equal((await stage.snapshots()).length, count + 1);
      await assertEnds(agent);
    });
  }
}

async function unreadableFiles({ stage, step }: Ground) {
  await step("where some files cannot be read", async () => {
    const weak = "-dac_override,-dac_read_search";
    await using agent = await stage.agent({
      wrapper: ["setpriv", "--bounding-set", weak, "--inh-caps", weak, "--"],
    });
    const pod = await stage.pod();
    await Deno.writeTextFile(`${pod.volume}/readable`, "text");
    for (const name of ["lock.db", "other.db"]) {
      await Deno.writeTextFile(`${pod.volume}/${name}`, "text");
      await Deno.chown(`${pod.volume}/${name}`, 1234, 1234);
      await Deno.chmod(`${pod.volume}/${name}`, 0o600);
    }
    const name = await stage.backup(pod);
    const message = await assertFails(stage, name, "VolumeReadError");
    assert.match(message, /"(lock|other)\.db" cannot be read: .*permission denied.*1 other\)/);
    const { status } = await stage.ended(name);
    const restored = `${stage.folder}/restored`;
    await stage.kopia("snapshot", "restore", status?.snapshotID ?? "", restored);
    assert.deepEqual([...Deno.readDirSync(restored)].map(({ name }) => name), ["readable"]);
    await assertEnds(agent);
  });
}

async function fullDisks({ stage, pod, step }: Ground) {
  await step("where the store is full", async () => {
    const path = `${stage.folder}/full`;
    using disk = await smallDisk(path, 16);
    if (disk === undefined) return;
    await stage.repository(`${path}/kopia/app`);
    await stage.location("full", { config: { fspath: path } });
    await using agent = await stage.agent();
    const name = await stage.backup(pod, { spec: { backupStorageLocation: "full" } });
    await assertFails(stage, name, "RepositoryFull");
    await assertCompletes(stage, pod);
    await assertEnds(agent);
  });

  await step("where the agent's own disk is full", async () => {
    const home = `${stage.folder}/home`;
    using disk = await smallDisk(home, 8);
    if (disk === undefined) return;
    await using agent = await stage.agent({ home });
    await Deno.writeFile(`${home}/ballast`, new Uint8Array(8 * 1_048_576)).catch(() => {});
    await assertFails(stage, await stage.backup(pod), "NodeDiskFull");
    await Deno.remove(`${home}/ballast`);
    await assertCompletes(stage, pod);
    await assertEnds(agent);
  });
}

/** Answers the message. */
async function assertFails(stage: Stage, name: string, reason: string): Promise<string> {
  const failed = await stage.ended(name);
  const message = failed.status?.message ?? "";
  assert.equal(failed.status?.phase, "Failed");
  assert.equal(reasonOf(failed), reason, message);
  return message;
}

async function assertCompletes(stage: Stage, pod: StagePod) {
  const { status } = await stage.ended(await stage.backup(pod));
  assert.equal(status?.phase, "Completed", status?.message);
}

async function assertEnds(agent: Agent) {
  const { code } = await agent.stop();
  assert.equal(code, 0, agent.output());
  assertWholeLog(agent.log());
}
