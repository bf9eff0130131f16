import assert from "node:assert/strict";
import type { DataPathEvent } from "../../lib/datapath/data_path.ts";
import { openResticBackup } from "../../lib/datapath/restic_backup.ts";
import { forgetSnapshot } from "../../lib/datapath/restic_move.ts";
import { openResticRestore } from "../../lib/datapath/restic_restore.ts";
import { isAlive, isListening, isStopped, until } from "../support/children.ts";
import { eventsOf, never, password, randomFile } from "../support/kopia.ts";
import { startProcess } from "../support/process.ts";
import { type ResticBench, resticBench, type ResticOptions } from "../support/restic.ts";
import { startS3 } from "../support/s3.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = await toolsMissing("restic", "versitygw");
const tags = { backup: "nightly", volume: "data" };

interface Snapshot {
  readonly id: string;
  readonly hostname: string;
  readonly tags: readonly string[];
  readonly parent?: string;
}

async function snapshotsOf(bench: ResticBench): Promise<readonly Snapshot[]> {
  return JSON.parse(await bench.restic("snapshots", "--json"));
}

async function locksOf(bench: ResticBench): Promise<readonly string[]> {
  const text = await bench.restic("list", "locks", "--no-lock");
  return text.split("\n").filter((line) => line !== "");
}

function endOf(events: readonly DataPathEvent[]): DataPathEvent {
  return events.at(-1) ?? assert.fail("the stream was empty");
}

async function backUp(bench: ResticBench, volumePath: string, parent?: string) {
  const order = { volumePath, tags, ...(parent !== undefined && { parent }) };
  const end = endOf(await eventsOf(openResticBackup(bench.session(), order)));
  assert(end.type === "completed", JSON.stringify(end));
  return end.result;
}

async function stores(): Promise<ResticOptions & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const s3 = stack.use(await startS3({ tls: true }));
  const { path } = stack.use(tempFolder("ca"));
  const caFile = `${path}/ca.pem`;
  await Deno.writeTextFile(caFile, s3.caCerts ?? "");
  const owned = stack.move();
  return {
    identifier: `s3:https://${s3.endpoint}/backups/pre/restic/app`,
    keys: s3.keys,
    caFile,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function roundTrip(options: ResticOptions) {
  await using bench = await resticBench(options);
  using volume = tempFolder("volume");
  await randomFile(`${volume.path}/random`, 3);
  await Deno.mkdir(`${volume.path}/sub`, { mode: 0o711 });
  await Deno.writeTextFile(`${volume.path}/sub/file`, "text", { mode: 0o640 });
  await Deno.chown(`${volume.path}/sub/file`, 1234, 5678);
  await Deno.symlink("../random", `${volume.path}/sub/link`);
  const { snapshotID, sizeBytes } = await backUp(bench, volume.path);
  assert.equal(sizeBytes, 3 * 1_048_576 + 4);
  const [snapshot] = await snapshotsOf(bench);
  assert.equal(snapshot?.id, snapshotID);
  assert.equal(snapshot.hostname, "velero");
  assert.deepEqual([...snapshot.tags].sort(), ["backup=nightly", "volume=data"]);

  using target = tempFolder("target");
  await Deno.writeTextFile(`${target.path}/other`, "kept");
  // Velero notes the first eight digits.
  const order = { snapshotID: snapshotID.slice(0, 8), targetPath: target.path, sparse: true };
  const events = await eventsOf(openResticRestore(bench.session(), order));
  assert.deepEqual(events.slice(-2), [
    { type: "progress", bytesDone: sizeBytes, totalBytes: sizeBytes },
    { type: "completed", result: { snapshotID: snapshotID.slice(0, 8), sizeBytes } },
  ]);
  await Deno.remove(`${target.path}/other`);
  await Deno.chmod(target.path, Deno.statSync(volume.path).mode! & 0o777);
  assert.deepEqual(await describeTree(target.path), await describeTree(volume.path));
}

Deno.test({ ignore, name: "restic moves a volume to a folder and back", fn: () => roundTrip({}) });

Deno.test({
  ignore,
  name: "restic forgets a snapshot by its id, and none by a text that begins every id",
  async fn() {
    await using bench = await resticBench();
    using volume = tempFolder("volume");
    await Deno.writeTextFile(`${volume.path}/file`, "text");
    const { snapshotID } = await backUp(bench, volume.path);
    await using session = bench.session();
    for (const none of ["", "latest"]) {
      await assert.rejects(forgetSnapshot(session, none, never), /is not the id of a snapshot/);
    }
    assert.equal((await snapshotsOf(bench)).length, 1);
    await forgetSnapshot(session, snapshotID, never);
    assert.deepEqual(await snapshotsOf(bench), []);
  },
});

Deno.test({
  ignore,
  name: "restic moves a volume to S3 with a CA of one's own and back",
  async fn() {
    await using s3 = await stores();
    await roundTrip(s3);
  },
});

Deno.test({
  ignore,
  name: "restic reads on from the parent, and reads all when the parent is gone",
  async fn() {
    await using bench = await resticBench();
    using first = tempFolder("volume");
    await Deno.writeTextFile(`${first.path}/file`, "text");
    const { snapshotID } = await backUp(bench, first.path);
    using moved = tempFolder("volume");
    await Deno.writeTextFile(`${moved.path}/file`, "text");
    const next = await backUp(bench, moved.path, snapshotID);
    const found = await snapshotsOf(bench);
    assert.equal(found.find(({ id }) => id === next.snapshotID)?.parent, snapshotID);
    const last = await backUp(bench, moved.path, "deadbeefdeadbeef");
    assert.equal((await snapshotsOf(bench)).length, 3);
    assert.notEqual(last.snapshotID, next.snapshotID);
  },
});

Deno.test({
  ignore,
  name: "restic makes no snapshot of an empty volume, which is no failure",
  async fn() {
    await using bench = await resticBench();
    using volume = tempFolder("volume");
    assert.deepEqual(await backUp(bench, volume.path), { snapshotID: "", sizeBytes: 0 });
    assert.deepEqual(await snapshotsOf(bench), []);
  },
});

const failures: readonly {
  readonly name: string;
  readonly reason: string;
  readonly says: RegExp;
  readonly run: (bench: ResticBench, volumePath: string) => AsyncIterable<DataPathEvent>;
}[] = [
  {
    name: "a wrong password",
    reason: "RepositoryPassword",
    says: /wrong password or no key found; .*velero-repo-credentials/,
    run: (bench, volumePath) =>
      openResticBackup(bench.session({ password: "another" }), { volumePath, tags }).events(never),
  },
  {
    name: "no repository",
    reason: "RepositoryNotInitialized",
    says: /repository does not exist/,
    run: (bench, volumePath) =>
      openResticBackup(bench.session({ identifier: `${bench.identifier}-not` }), {
        volumePath,
        tags,
      }).events(never),
  },
  {
    name: "no such snapshot",
    reason: "SnapshotMissing",
    says: /no matching ID found.*; the repository has no such snapshot/,
    run: (bench, targetPath) =>
      openResticRestore(bench.session(), { snapshotID: "deadbeef", targetPath }).events(never),
  },
  {
    name: "a volume that is gone",
    reason: "HostPathMissing",
    says: /is not there any more/,
    run: (bench, path) =>
      openResticBackup(bench.session(), { volumePath: `${path}/gone`, tags }).events(never),
  },
];

for (const { name, reason, says, run } of failures) {
  Deno.test({
    ignore,
    name: `restic fails with the reason: ${name}`,
    async fn() {
      await using bench = await resticBench();
      using volume = tempFolder("volume");
      await Deno.writeTextFile(`${volume.path}/file`, "text");
      const end = endOf(await Array.fromAsync(run(bench, volume.path)));
      assert(end.type === "failed", JSON.stringify(end));
      assert.equal(end.reason, reason, end.message);
      assert.match(end.message, says);
    },
  });
}

/** A restic in the middle of reading a large file. */
async function reading(bench: ResticBench, volumePath: string) {
  await randomFile(`${volumePath}/random`, 200);
  const path = openResticBackup(bench.session(), { volumePath, tags });
  const events = eventsOf(path);
  const pid = await until("restic has locked the repository", () => {
    const held = [...Deno.readDirSync(`${bench.identifier}/locks`)].length > 0;
    return held && resticIn(volumePath);
  });
  await until("restic heeds signals", () => isListening(pid));
  return { path, events, pid };
}

function resticIn(folder: string): number | undefined {
  for (const { name } of Deno.readDirSync("/proc")) {
    try {
      if (/^\d+$/.test(name) && Deno.readLinkSync(`/proc/${name}/cwd`) === folder) {
        return Number(name);
      }
    } catch {
      // It has ended meanwhile.
    }
  }
}

Deno.test({
  ignore,
  name: "a canceled restic leaves no snapshot, no lock and no process",
  async fn() {
    await using bench = await resticBench();
    using volume = tempFolder("volume");
    const { path, events, pid } = await reading(bench, volume.path);
    path.cancel();
    assert.equal(endOf(await events).type, "canceled");
    assert(!isAlive(pid));
    assert.deepEqual(await snapshotsOf(bench), []);
    assert.deepEqual(await locksOf(bench), []);
  },
});

Deno.test({
  ignore,
  name: "a killed restic is told as that, and its lock is removed",
  async fn() {
    await using bench = await resticBench();
    using volume = tempFolder("volume");
    const { events, pid } = await reading(bench, volume.path);
    Deno.kill(pid, "SIGKILL");
    const end = endOf(await events);
    assert(end.type === "failed");
    assert.equal(end.reason, "ResticKilled", end.message);
    assert.deepEqual(await locksOf(bench), []);
  },
});

Deno.test({
  ignore,
  name: "the exclusive lock of a process that is no more is removed, that of a live one is not",
  async fn() {
    await using bench = await resticBench();
    using volume = tempFolder("volume");
    await Deno.writeTextFile(`${volume.path}/file`, "text");
    await backUp(bench, volume.path);
    await using holder = await exclusiveLock(bench);
    const path = openResticBackup(bench.session(), { volumePath: volume.path, tags });
    const end = endOf(await eventsOf(path));
    assert(end.type === "failed", JSON.stringify(end));
    assert.equal(end.reason, "RepositoryLocked", end.message);
    await holder.kill();
    assert.equal((await locksOf(bench)).length, 1);
    await backUp(bench, volume.path);
    assert.deepEqual(await locksOf(bench), []);
  },
});

/** A `restic check` that stands still while it has the repository for itself. */
async function exclusiveLock(bench: ResticBench) {
  const { program } = await bench.settings.find(never);
  const home = tempFolder("home");
  const check = startProcess(program, ["check", "--read-data"], {
    clearEnv: true,
    env: { HOME: home.path, RESTIC_PASSWORD: password, RESTIC_REPOSITORY: bench.identifier },
  });
  await until(
    "restic holds its lock",
    () =>
      [...Deno.readDirSync(`${bench.identifier}/locks`)].some(({ name }) =>
        /^[0-9a-f]{64}$/.test(name)
      ),
  );
  check.kill("SIGSTOP");
  await until("restic stands still", () => isStopped(check.pid));
  const kill = async () => {
    check.kill("SIGKILL");
    await check.status;
  };
  return {
    kill,
    async [Symbol.asyncDispose]() {
      await check[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}
