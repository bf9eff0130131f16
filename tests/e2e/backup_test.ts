import assert from "node:assert/strict";
import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { type TempFolder, tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a backup", fn: backup });

async function backup(t: Deno.TestContext) {
  using folder = tempFolder("backup");
  await using stage = await startStage({ apiServerArgs: await auditTo(folder.path) });
  await using agent = await stage.agent();
  const step = stepsOf(t);

  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, agent, folder }));
  }
}

interface Ground {
  readonly stage: Stage;
  readonly agent: Agent;
  readonly folder: TempFolder;
}

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "is restored by the stock kopia to an equal tree"({ stage, folder }) {
    const pod = await stage.pod();
    await fillWithOddThings(pod.volume);
    const name = await stage.backup(pod, { spec: { tags: oddTags } });
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    const target = `${folder.path}/restored`;
    await stage.kopia("snapshot", "restore", status.snapshotID ?? "", target);
    assert.deepEqual(await describeTree(target), await describeTree(pod.volume));
    await assertConventions(stage, { pod, name });
    await assertOneEvent(stage, name);
  },

  async "of a tiny volume costs three writes"({ stage, agent, folder }) {
    const pod = await stage.pod();
    await Deno.writeTextFile(`${pod.volume}/a`, "a");
    const name = await stage.backup(pod);
    await stage.ended(name);
    await agent.line(new RegExp(`is Completed.*${name}`));
    await stage.endEventsOf(name);
    assert.deepEqual(await writesAbout(folder.path, name), [
      "create events",
      "patch podvolumebackups",
      "patch podvolumebackups",
    ]);
    assert.equal(stage.log.versions(name).length, 3); // made, claimed, ended
  },

  async "reports its progress once per interval, growing to the whole"({ stage }) {
    const node = "node-3";
    await using agent = await stage.agent({ node, flags: ["--progress-interval", "1s"] });
    const pod = await stage.pod({ spec: { nodeName: node } });
    await randomFile(`${pod.volume}/random`, 200);
    const name = await stage.backup(pod, { spec: { node } });
    const stopped = await agent.freeze();
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < 2_600) { // a slow uploader: 30 ms of work, then a rest
      stopped.resume();
      await new Promise((resolve) => setTimeout(resolve, 30));
      if (!stopped.isAlive()) break;
      Deno.kill(stopped.pid, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (stopped.isAlive()) stopped.resume();
    const { status } = await stage.ended(name);
    const reports = stage.log.versions(name).filter(({ object }) =>
      object.status?.phase === "InProgress" && object.status.progress !== undefined
    );
    assert(reports.length >= 1, "no progress was reported");
    const times = [...reports.map(({ atMs }) => atMs)];
    for (const [at, ms] of times.slice(1).entries()) assert(ms - (times[at] ?? 0) > 600);
    const done = reports.map(({ object }) => object.status?.progress?.bytesDone ?? -1);
    assert.deepEqual(done, done.toSorted((a, b) => a - b));
    const bytes = 200 * 1_048_576;
    assert.deepEqual(status?.progress, { bytesDone: bytes, totalBytes: bytes });
  },

  async "of a replaced pod reads only what is new"({ stage }) {
    const claim = objects.ofClaim("data-claim", "9a0ac04c-6c12-4b55-8e44-9d8f9b1f5d10");
    const first = await stage.pod();
    await randomFile(`${first.volume}/random`, 20);
    const before = await stage.ended(await stage.backup(first, claim));
    const second = await stage.pod();
    await runProcess("cp", ["-a", `${first.volume}/.`, second.volume]);
    await Deno.writeTextFile(`${second.volume}/new`, "new");
    const after = await stage.ended(await stage.backup(second, claim));
    const [one, two] = await Promise.all(
      [before, after].map(({ status }) => manifest(stage, status?.snapshotID ?? "")),
    );
    assert.deepEqual(one?.source, two?.source);
    assert.equal(two?.stats.cachedFiles, 1, JSON.stringify(two?.stats));
    assert(two?.stats.nonCachedFiles === 1, JSON.stringify(two?.stats));
  },

  async "for another node or namespace is not touched"({ stage }) {
    const pod = await stage.pod();
    await stage.controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
    const foreign = objects.podVolumeBackup({ name: "foreign", namespace: "other" });
    const path = "/apis/velero.io/v1/namespaces/other/podvolumebackups";
    const made = await stage.controlPlane.call("POST", path, foreign);
    const elsewhere = await stage.backup(pod, { spec: { node: "node-2" } });
    await stage.ended(await stage.backup(pod)); // made later, so the others have been seen
    assert.equal(stage.log.versions(elsewhere).length, 1);
    assert.deepEqual(await stage.controlPlane.call("GET", `${path}/foreign`), made);
  },

  async "of an object with the longest name works"({ stage }) {
    const pod = await stage.pod();
    const name = await stage.backup(pod, { name: `${"n".repeat(252)}x` });
    assert.equal((await stage.ended(name)).status?.phase, "Completed");
    await assertOneEvent(stage, name);
  },

  async "leaves a log without empty places, and counts"({ agent }) {
    assertWholeLog(agent.log());
    const scrape = await agent.metrics();
    assert.match(scrape, /^podVolume_pod_volume_backup_enqueue_count\{node="node-1"\} 6$/m);
    assert.match(scrape, /^podVolume_pod_volume_backup_dequeue_count\{node="node-1"\} 6$/m);
    assert.match(scrape, /^longshore_movements_total\{.*result="Completed".*\} 6$/m);
  },
};

/** Of all there may be in a tag, what could be taken for something else. */
const oddTags = {
  backup: "nightly",
  lines: "one\ntwo",
  flag: "--override-source=evil@evil:/etc",
  equal: "a=b:c",
  "--delete": "--json",
};

async function fillWithOddThings(volume: string) {
  const file = (name: string, text: string) => Deno.writeTextFile(`${volume}/${name}`, text);
  await Deno.mkdir(`${volume}/empty folder`);
  await Deno.mkdir(`${volume}/deep/er`, { recursive: true });
  await file("empty", "");
  await file("with blank and 'quotes\"", "blank");
  await file("two\nlines", "lines");
  await file("grüße-✓-日本", "not ASCII");
  await file("-rf", "like a flag");
  await file("x".repeat(250), "long");
  await file("nobody", "mode 0000");
  await Deno.chmod(`${volume}/nobody`, 0o000);
  await file("setuid", "mode 4755");
  await Deno.chown(`${volume}/setuid`, 1234, 5678);
  await Deno.chmod(`${volume}/setuid`, 0o4755);
  await Deno.symlink("nowhere/at all", `${volume}/deep/dangling`);
  await Deno.symlink("/etc/passwd", `${volume}/deep/er/outside`);
  using sparse = await Deno.open(`${volume}/sparse`, { write: true, create: true });
  await sparse.truncate(8 * 1_048_576);
  await sparse.seek(4 * 1_048_576, Deno.SeekMode.Start);
  await sparse.write(new TextEncoder().encode("middle"));
}

interface Manifest {
  readonly source: { readonly host: string; readonly userName: string; readonly path: string };
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly pins: readonly string[];
  readonly incomplete?: string;
  readonly stats: { readonly cachedFiles?: number; readonly nonCachedFiles?: number };
}

async function manifest(stage: Stage, id: string): Promise<Manifest> {
  return JSON.parse(
    await stage.kopia("manifest", "show", id).then((text) => text.slice(text.indexOf("{"))),
  );
}

/** What a Velero server and an operator expect of object and snapshot. */
async function assertConventions(
  stage: Stage,
  { pod, name }: { readonly pod: StagePod; readonly name: string },
) {
  const { metadata, status } = await stage.ended(name);
  assert.match(status?.snapshotID ?? "", /^[0-9a-f]{32}$/);
  assert.equal(status?.path, pod.volume);
  assert.equal(status?.message, undefined);
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  assert.match(status?.startTimestamp ?? "", time);
  assert.match(status?.completionTimestamp ?? "", time);
  assert(status?.startTimestamp! <= status?.completionTimestamp!);
  assert.equal(status?.progress?.bytesDone, status?.progress?.totalBytes);
  const { source, description, tags, pins, incomplete } = await manifest(
    stage,
    status!.snapshotID!,
  );
  const path = `snapshot-pod-volume/kopia/app/${pod.name}/data`;
  assert.deepEqual(source, { host: "default", userName: "default", path });
  assert.equal(metadata.annotations?.["longshore/kopia-source"], path);
  assert.equal(description, "Kopia Uploader");
  assert.deepEqual(pins, ["velero-pin"]);
  assert.equal(incomplete, undefined);
  const wanted = {
    ...oddTags,
    "snapshot-requester": "pod-volume-backup-restore",
    "snapshot-uploader": "kopia",
  };
  const prefixed = Object.entries(wanted).map(([key, value]) => [`tag:${key}`, value]);
  assert.deepEqual(tags, Object.fromEntries(prefixed));
}

async function assertOneEvent(stage: Stage, name: string) {
  const events = await stage.endEventsOf(name);
  const texts = events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  const { status } = await stage.ended(name);
  assert.deepEqual(texts, [`Normal Completed: Moved ${status?.progress?.bytesDone} bytes`]);
}

async function auditTo(folder: string): Promise<string[]> {
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Request" }] };
  await Deno.writeTextFile(`${folder}/policy.json`, JSON.stringify(policy));
  return [`--audit-log-path=${folder}/audit.log`, `--audit-policy-file=${folder}/policy.json`];
}

/** The agent's writes in which the object is named, sorted. */
async function writesAbout(folder: string, name: string): Promise<string[]> {
  const lines = (await Deno.readTextFile(`${folder}/audit.log`)).trim().split("\n");
  return lines.filter((line) => line.includes(`"${name}"`)).map((line) => JSON.parse(line))
    .filter(({ userAgent, stage, verb }) =>
      userAgent.startsWith("longshore/") && stage === "ResponseComplete" &&
      !["get", "list", "watch"].includes(verb)
    )
    .map(({ verb, objectRef }) => `${verb} ${objectRef.resource}`).sort();
}
