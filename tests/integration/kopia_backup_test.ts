import assert from "node:assert/strict";
import { openBackup } from "../../lib/datapath/kopia_backup.ts";
import { deleteSnapshot } from "../../lib/datapath/snapshots.ts";
import { folderBench, kopiasUnder, never, randomFile, snapshotsOf } from "../support/kopia.ts";
import { eventsOf, type KopiaBench, password } from "../support/kopia.ts";
import { runProcess } from "../support/process.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia");
const sourcePath = "snapshot-pod-volume/kopia/ns/pod/data";
const tags = { "snapshot-requester": "snapshot-pod-volume", "snapshot-uploader": "kopia" };

function orderFor(volumePath: string) {
  return { volumePath, sourcePath, tags };
}

Deno.test({
  ignore,
  name: "a backup tells its progress and ends with a snapshot that bears Velero's marks",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 20);
    const events = await eventsOf(openBackup(await bench.session(), orderFor(volume.path)));
    const end = events.at(-1);
    assert(end?.type === "completed", JSON.stringify(end));
    assert.equal(end.result.sizeBytes, 20 * 1_048_576);
    assert.deepEqual(events.at(-2), {
      type: "progress",
      bytesDone: end.result.sizeBytes,
      totalBytes: end.result.sizeBytes,
    });
    const [snapshot, ...others] = await snapshotsOf(bench, sourcePath);
    assert.equal(others.length, 0);
    assert.equal(snapshot?.id, end.result.snapshotID);
    assert.equal(snapshot?.description, "Kopia Uploader");
    assert.deepEqual(snapshot?.pins, ["velero-pin"]);
    assert.equal(snapshot?.tags?.["tag:snapshot-uploader"], "kopia");
  },
});

Deno.test({
  ignore,
  name: "an empty volume becomes a real snapshot, and can be deleted",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    const events = await eventsOf(openBackup(await bench.session(), orderFor(volume.path)));
    const end = events.at(-1);
    assert(end?.type === "completed");
    assert.equal(end.result.sizeBytes, 0);
    await using session = await bench.session();
    await deleteSnapshot(session, end.result.snapshotID, never);
    assert.deepEqual(await snapshotsOf(bench, sourcePath), []);
    await deleteSnapshot(session, end.result.snapshotID, never); // again: no error
  },
});

Deno.test({
  ignore,
  name: "retention deletes nothing: fourteen snapshots of a source are all kept",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await Deno.writeTextFile(`${volume.path}/file`, "text");
    for (let made = 0; made < 14; made++) {
      // Without the pin only the policy protects them.
      await using session = await bench.session();
      const args = ["snapshot", "create", volume.path, "--json"];
      const source = `--override-source=default@default:${sourcePath}`;
      await session.run({ args: [...args, source], doing: "make a snapshot" }, never);
    }
    assert.equal((await snapshotsOf(bench, sourcePath)).length, 14);
    const policy = JSON.parse(
      await bench.kopia("policy", "show", `default@default:${sourcePath}`, "--json"),
    );
    assert.equal(policy.retention.keepLatest, 2_147_483_647);
    assert.equal(policy.compression.compressorName, "none");
    assert.equal(policy.upload.parallelUploadAboveSize, 2_147_483_648);
  },
});

Deno.test({
  ignore,
  name: "a volume that is not there fails as HostPathMissing and leaves no snapshot",
  async fn() {
    await using bench = await folderBench();
    const order = orderFor("/nonexistent/volume");
    const [end, ...others] = await eventsOf(openBackup(await bench.session(), order));
    assert.equal(others.length, 0);
    assert(end?.type === "failed");
    assert.equal(end.reason, "HostPathMissing");
    assert.match(end.message, /^Cannot back up "\/nonexistent\/volume": .*no such file/);
    assert.deepEqual(await snapshotsOf(bench, sourcePath), []);
  },
});

Deno.test({
  ignore,
  name: "a volume whose root is a symbolic link is read, and its sockets and pipes are left out",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await Deno.mkdir(`${volume.path}/real`);
    await Deno.writeTextFile(`${volume.path}/real/file`, "text");
    await Deno.symlink("/nonexistent/target", `${volume.path}/real/dangling`);
    assert.equal((await runProcess("mkfifo", [`${volume.path}/real/pipe`])).code, 0);
    using _socket = Deno.listen({ transport: "unix", path: `${volume.path}/real/socket` });
    await Deno.symlink(`${volume.path}/real`, `${volume.path}/link`);
    const order = orderFor(`${volume.path}/link`);
    const end = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert(end?.type === "completed", JSON.stringify(end));
    const target = `${volume.path}/restored`;
    await bench.kopia("snapshot", "restore", end.result.snapshotID, target);
    const names = [...Deno.readDirSync(target)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["dangling", "file"]);
    assert.equal(await Deno.readTextFile(`${target}/file`), "text");
  },
});

Deno.test({
  ignore,
  name: "a volume that vanishes while it is read ends in an answer, and never hangs",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    for (let file = 0; file < 4; file++) await randomFile(`${volume.path}/${file}`, 60);
    const order = { ...orderFor(volume.path), parallel: 1 };
    await using path = openBackup(await bench.session(), order, { progressMs: 50 });
    let end = "";
    for await (const event of path.events(never)) {
      if (event.type === "progress") {
        await Deno.remove(volume.path, { recursive: true }).catch(noop);
      } else end = event.type === "failed" ? event.reason : event.type;
    }
    // The folder itself, or what had been listed in it already: that depends on the moment.
    assert.match(end, /^(HostPathMissing|VolumeReadError)$/);
  },
});

function noop() {}

/** setpriv that also takes root's right to read everything. */
async function weakSetpriv(folder: string): Promise<string> {
  const path = `${folder}/setpriv`;
  const caps = "--bounding-set=-dac_override,-dac_read_search";
  await Deno.writeTextFile(path, `#!/bin/sh\nexec setpriv ${caps} "$@"\n`, { mode: 0o755 });
  return path;
}

Deno.test({
  ignore,
  name:
    "unreadable files: the first one, its error, the number of others and the snapshot are told",
  async fn() {
    using programs = tempFolder("programs");
    const setpriv = await weakSetpriv(programs.path);
    await using bench = await folderBench({ programs: { setpriv } });
    using volume = tempFolder("volume");
    await Deno.writeTextFile(`${volume.path}/good`, "text");
    for (const name of ["lock.db", "other.db", "third.db"]) {
      await Deno.writeTextFile(`${volume.path}/${name}`, "text");
      await Deno.chown(`${volume.path}/${name}`, 1234, 1234);
      await Deno.chmod(`${volume.path}/${name}`, 0o600);
    }
    const order = { ...orderFor(volume.path), parallel: 1 };
    const end = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert(end?.type === "failed", JSON.stringify(end));
    assert.equal(end.reason, "VolumeReadError");
    assert.match(end.message, /"lock\.db" cannot be read: .*permission denied \(and 2 others\)/);
    const [snapshot] = await snapshotsOf(bench, sourcePath);
    assert.equal(end.snapshotID, snapshot?.id);
    assert.equal(snapshot?.incomplete, undefined);
  },
});

Deno.test({
  ignore,
  name: "a canceled backup leaves neither a snapshot nor a process, at whatever moment",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 150);
    await randomFile(`${volume.path}/two`, 150);
    const ends = new Set<string>();
    for (const afterEvents of [0, 1, 2, 4]) {
      await using path = openBackup(await bench.session(), orderFor(volume.path), {
        progressMs: 50,
      });
      ends.add(await cancelAfter(path, afterEvents));
      await path[Symbol.asyncDispose]();
      assert.deepEqual(await snapshotsOf(bench, sourcePath), [], `after ${afterEvents}`);
    }
    assert.deepEqual([...ends], ["canceled"]);
    assert.deepEqual(kopiasUnder(bench.folder), []);
  },
});

async function cancelAfter(path: ReturnType<typeof openBackup>, count: number): Promise<string> {
  if (count === 0) path.cancel();
  let seen = 0;
  let last = "";
  for await (const event of path.events(never)) {
    last = event.type;
    if (++seen === count) path.cancel();
  }
  return last;
}

Deno.test({
  ignore,
  name: "an aborted signal ends a backup like a cancel",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 100);
    const aborter = new AbortController();
    await using path = openBackup(await bench.session(), orderFor(volume.path), {
      progressMs: 50,
    });
    const types: string[] = [];
    for await (const { type } of path.events(aborter.signal)) {
      types.push(type);
      aborter.abort();
    }
    assert.equal(types.at(-1), "canceled");
    await path[Symbol.asyncDispose]();
    assert.deepEqual(await snapshotsOf(bench, sourcePath), []);
  },
});

/** Runs a backup and sends a signal to kopia at its first progress. */
async function signalDuring(bench: KopiaBench, signal: Deno.Signal) {
  using volume = tempFolder("volume");
  await randomFile(`${volume.path}/one`, 200);
  const session = await bench.session();
  let pid = 0;
  const start: typeof session.start = async (args, signal) => {
    const run = await session.start(args, signal);
    pid = run.pid;
    return run;
  };
  await using path = openBackup({ ...session, start }, orderFor(volume.path), { progressMs: 50 });
  for await (const event of path.events(never)) {
    if (event.type !== "progress") return event;
    if (pid !== 0) Deno.kill(pid, signal);
    pid = 0;
  }
}

Deno.test({
  ignore,
  name: "a kopia that somebody kills or interrupts fails the backup and leaves no snapshot",
  async fn() {
    await using bench = await folderBench();
    for (const signal of ["SIGKILL", "SIGINT"] as const) {
      const end = await signalDuring(bench, signal);
      assert(end?.type === "failed", JSON.stringify(end));
      assert.equal(end.reason, "KopiaKilled");
      assert.match(end.message, signal === "SIGKILL" ? /SIGKILL/ : /interrupted/);
      assert.deepEqual(await snapshotsOf(bench, sourcePath), []);
    }
  },
});

Deno.test({
  ignore,
  name: "checkpoints of a killed kopia are found and deleted",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 400);
    const session = await bench.session();
    let pid = 0;
    const start: typeof session.start = async (args, signal) => {
      const run = await session.start([...args, "--checkpoint-interval=200ms"], signal);
      pid = run.pid;
      return run;
    };
    const options = { progressMs: 50, checkpointMs: 0 };
    await using path = openBackup({ ...session, start }, orderFor(volume.path), options);
    let seen = 0;
    for await (const event of path.events(never)) {
      if (event.type !== "progress") continue;
      if (pid === 0 || ++seen < 4) continue;
      if ((await snapshotsOf(bench, sourcePath)).length === 0) continue; // no checkpoint yet
      Deno.kill(pid, "SIGKILL");
      pid = 0;
    }
    assert.equal(pid, 0, "kopia wrote no checkpoint before it ended");
    await path[Symbol.asyncDispose]();
    assert.deepEqual(await snapshotsOf(bench, sourcePath), []);
  },
});

Deno.test({
  ignore,
  name: "no secret is on the command line or in a file of the agent's folder",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 50);
    await using path = openBackup(await bench.session(), orderFor(volume.path), {
      progressMs: 50,
    });
    const lines: string[] = [];
    for await (const _ of path.events(never)) lines.push(...kopiasUnder(bench.folder));
    assert(lines.length > 0);
    assert(!lines.join("\n").includes(password));
    for (const file of filesUnder(bench.folder)) {
      assert(!(await Deno.readTextFile(file)).includes(password), file);
    }
  },
});

function* filesUnder(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesUnder(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}
