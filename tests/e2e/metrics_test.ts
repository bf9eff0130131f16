import assert from "node:assert/strict";
import { sleep } from "../../lib/base/abort.ts";
import { type Agent, assertIdle } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { reasonOf } from "../support/messages.ts";
import { restoresOn } from "../support/restores.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "the metrics of an agent", fn: metrics });

async function metrics(t: Deno.TestContext) {
  await using stage = await startStage();
  await using agent = await stage.agent();
  const step = stepsOf(t);

  await step("are all there after a fresh start, and each counter is 0 (case F1)", async () => {
    const scrape = await settled(agent);
    assert.deepEqual(familiesIn(scrape), families);
    assert.doesNotMatch(scrape, /^podVolume_.*(?<! 0)$/m);
    assert.doesNotMatch(scrape, /^longshore_(movements|bytes)_total.*(?<! 0)$/m);
    for (const line of scrape.match(/^podVolume_.*$/gm) ?? []) {
      assert.match(line, /\{node="node-1"\}/);
    }
  });

  await step("have the same series after movements that ended in each way", async () => {
    const before = seriesIn(await settled(agent));
    await endInEachWay(stage, agent);
    await assertIdle(agent);
    const scrape = await agent.metrics();
    assert.deepEqual(seriesIn(scrape), before);
    assert.equal(valueOf(scrape, 'movements_total{kind="PodVolumeBackup",result="Completed",'), 1);
    assert.equal(valueOf(scrape, 'movements_total{kind="PodVolumeRestore",result="Completed",'), 1);
    assert.equal(valueOf(scrape, '"PodVolumeBackup",result="Failed",reason="VolumeNotInPod"}'), 1);
    assert.equal(valueOf(scrape, '"PodVolumeBackup",result="Failed",reason="KopiaKilled"}'), 1);
    assert.equal(valueOf(scrape, '"PodVolumeBackup",result="dropped",'), 1);
    assert.equal(valueOf(scrape, "backup_enqueue_count{"), 4);
    assert.equal(valueOf(scrape, "backup_dequeue_count{"), 4);
    const seconds = valueOf(scrape, 'seconds_sum{kind="PodVolumeBackup",result="Completed"}');
    assert(seconds > 0 && !Number.isInteger(seconds), `${seconds}`);
  });
}

async function endInEachWay(stage: Stage, agent: Agent): Promise<void> {
  const pod = await stage.pod();
  await Deno.writeTextFile(`${pod.volume}/file`, "text");
  const { status } = await stage.ended(await stage.backup(pod));
  const nothing = await stage.ended(await stage.backup(pod, { spec: { volume: "no-such" } }));
  assert.equal(reasonOf(nothing), "VolumeNotInPod");

  const large = await stage.pod();
  await randomFile(`${large.volume}/random`, 120);
  const killed = await stage.backup(large);
  Deno.kill((await agent.freeze()).pid, "SIGKILL");
  assert.equal(reasonOf(await stage.ended(killed)), "KopiaKilled");
  const deleted = await stage.backup(large);
  const frozen = await agent.freeze();
  await stage.remove(deleted);
  await frozen.resumeWhenToldToEnd();

  await using restores = restoresOn(stage);
  const again = await restores.pod();
  const spec = { snapshotID: status?.snapshotID ?? "" };
  const restored = await restores.ended(await restores.restore(again, { spec }));
  assert.equal(restored.status?.phase, "Completed", restored.status?.message);
}

const families = [
  "process_resident_memory_bytes gauge",
  "process_start_time_seconds gauge",
  "longshore_config_stale gauge",
  "longshore_config_load_failed gauge",
  "longshore_config_info gauge",
  "podVolume_pod_volume_backup_enqueue_count counter",
  "podVolume_pod_volume_backup_dequeue_count counter",
  "longshore_movements_total counter",
  "longshore_movement_seconds histogram",
  "longshore_bytes_total counter",
  "podVolume_data_upload_success_total counter",
  "podVolume_data_upload_failure_total counter",
  "podVolume_data_upload_cancel_total counter",
  "podVolume_data_download_success_total counter",
  "podVolume_data_download_failure_total counter",
  "podVolume_data_download_cancel_total counter",
  "longshore_crd_skew gauge",
  "longshore_slots gauge",
  "longshore_queue_length gauge",
  "longshore_oldest_wait_seconds gauge",
  "longshore_watch_age_seconds gauge",
].sort();

function familiesIn(scrape: string): string[] {
  return (scrape.match(/(?<=^# TYPE ).*$/gm) ?? []).sort();
}

function seriesIn(scrape: string): string[] {
  return scrape.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.replace(/ \S+$/, "")).sort();
}

/** Of the only series whose text has this part. */
function valueOf(scrape: string, part: string): number {
  const found = scrape.split("\n").filter((line) => !line.startsWith("#") && line.includes(part));
  assert.equal(found.length, 1, `${part} is in ${found.length} series`);
  return Number(found[0]?.split(" ").at(-1));
}

/** A scrape once every watch has given its first sign of life. */
async function settled(agent: Agent): Promise<string> {
  for (let tries = 0; tries < 400; tries++) {
    const scrape = await agent.metrics();
    if (scrape.match(/^longshore_watch_age_seconds/gm)?.length === 3) return scrape;
    await sleep(25, new AbortController().signal);
  }
  throw new Error("the watches did not begin");
}
