import assert from "node:assert/strict";
import { MovementError } from "../../lib/base/error.ts";
import type { Reason } from "../../lib/base/reason.ts";
import { openBackup } from "../../lib/datapath/kopia_backup.ts";
import {
  eventsOf,
  folderBench,
  kopiaBench,
  never,
  password,
  randomFile,
} from "../support/kopia.ts";
import { runProcess } from "../support/process.ts";
import { tempFolder } from "../support/temp.ts";
import { tool, toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia");
const sourcePath = "snapshot-pod-volume/kopia/ns/pod/data";

function failsWith(reason: Reason, pattern: RegExp) {
  return (error: unknown) => {
    assert(error instanceof MovementError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

/** A kopia that counts how often it is started, by command. */
async function countingKopia(folder: string, real: string) {
  const path = `${folder}/kopia`;
  const log = `${folder}/calls`;
  const script = `#!/bin/sh\necho "$1 $2" >>"${log}"\nexec "${real}" "$@"\n`;
  await Deno.writeTextFile(path, script, { mode: 0o755 });
  return {
    path,
    async calls() {
      const text = await Deno.readTextFile(log).catch(() => "");
      await Deno.writeTextFile(log, "");
      return text.trim().split("\n").map((line) => line.trim());
    },
  };
}

Deno.test({
  ignore,
  name: "the first use connects and sets the policy; each further backup costs one kopia process",
  async fn() {
    using programs = tempFolder("programs");
    const counting = await countingKopia(programs.path, await tool("kopia"));
    await using bench = await folderBench({ programs: { kopia: counting.path } });
    using volume = tempFolder("volume");
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    const backup = async () => (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert.equal((await backup())?.type, "completed");
    assert.deepEqual(await counting.calls(), [
      "--version",
      "repository connect",
      "policy show",
      "policy set",
      "snapshot create",
    ]);
    assert.equal((await backup())?.type, "completed");
    assert.deepEqual(await counting.calls(), ["snapshot create"]);
  },
});

Deno.test({
  ignore,
  name: "two sessions at once share one connection, and both backups succeed",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 20);
    const ends = await Promise.all(["a", "b"].map(async (name) => {
      const order = { volumePath: volume.path, sourcePath: name, tags: {} };
      return (await eventsOf(openBackup(await bench.session(), order))).at(-1)?.type;
    }));
    assert.deepEqual(ends, ["completed", "completed"]);
    assert.equal([...Deno.readDirSync(`${bench.folder}/repositories`)].length, 1);
  },
});

Deno.test({
  ignore,
  name: "a wrong password is told as such and leaves the good connection in use alone",
  async fn() {
    await using bench = await folderBench();
    using volume = tempFolder("volume");
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    const good = await bench.session();
    await assert.rejects(
      bench.session({ password: "a-wrong-password" }),
      failsWith("RepositoryPassword", /^(?!.*a-wrong-password).*velero-repo-credentials/),
    );
    assert.equal((await eventsOf(openBackup(good, order))).at(-1)?.type, "completed");
  },
});

Deno.test({
  ignore,
  name: "a password that changes on the store: the old one is refused, the new one serves",
  async fn() {
    await using bench = await folderBench();
    const held = await bench.session(); // still in use while the new one is made
    await bench.kopia("repository", "change-password", "--new-password=a-new-password");
    await using session = await bench.session({ password: "a-new-password" });
    const args = ["snapshot", "list", "--all", "--json"];
    assert.match(await session.run({ args, doing: "list" }, never), /^\[/);
    await assert.rejects(
      bench.session(),
      failsWith("RepositoryPassword", /the password in Secret/),
    );
    await held[Symbol.asyncDispose]();
    await held[Symbol.asyncDispose](); // giving back twice counts once
  },
});

Deno.test({
  ignore,
  name: "a connection that is out of date goes when its last user has given it back",
  async fn() {
    await using bench = await folderBench();
    const folders = () => [...Deno.readDirSync(`${bench.folder}/repositories`)].length;
    const first = await bench.session();
    const other = { ...bench.parameters, path: `${bench.parameters.store}` };
    assert.equal(folders(), 1);
    await assert.rejects(bench.session({ parameters: other as typeof bench.parameters }));
    const link = `${bench.folder}/link`;
    assert(bench.parameters.store === "filesystem");
    await Deno.symlink(bench.parameters.path, link);
    const second = await bench.session({ parameters: { store: "filesystem", path: link } });
    assert.equal(folders(), 2);
    await first[Symbol.asyncDispose]();
    assert.equal(folders(), 1);
    await second[Symbol.asyncDispose]();
    assert.equal(folders(), 1);
  },
});

Deno.test({
  ignore,
  name: "a connection whose files were tidied away is made anew",
  async fn() {
    await using bench = await folderBench();
    await (await bench.session())[Symbol.asyncDispose]();
    await Deno.remove(`${bench.folder}/repositories`, { recursive: true });
    await using session = await bench.session();
    const args = ["snapshot", "list", "--all", "--json"];
    assert.match(await session.run({ args, doing: "list" }, never), /^\[/);
  },
});

Deno.test({
  ignore,
  name: "a repository folder that is missing or empty is told as not initialized",
  async fn() {
    await using bench = await folderBench();
    using empty = tempFolder("empty");
    for (const path of [empty.path, `${empty.path}/missing`]) {
      await assert.rejects(
        bench.session({ parameters: { store: "filesystem", path } }),
        failsWith(
          "RepositoryNotInitialized",
          /repository "ns-default-kopia".*BackupStorageLocation/,
        ),
      );
    }
  },
});

/** A small file system; undefined (and said so) where mounting is not allowed. */
async function smallDisk(megabytes: number) {
  const folder = tempFolder("disk");
  const options = ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder.path];
  const { code, stderr } = await runProcess("mount", options);
  if (code !== 0) {
    folder[Symbol.dispose]();
    console.error(`SKIPPED: a full disk cannot be tested, mount says: ${stderr.trim()}`);
    return undefined;
  }
  return {
    path: folder.path,
    async [Symbol.asyncDispose]() {
      await runProcess("umount", ["--lazy", folder.path]);
      folder[Symbol.dispose]();
    },
  };
}

Deno.test({
  ignore,
  name: "a full store ends the backup at once as RepositoryFull, without a snapshot id",
  async fn() {
    await using disk = await smallDisk(30);
    if (disk === undefined) return;
    const path = `${disk.path}/kopia/ns`;
    await Deno.mkdir(path, { recursive: true });
    await using bench = await kopiaBench({ store: "filesystem", path });
    using volume = tempFolder("volume");
    for (let file = 0; file < 8; file++) await randomFile(`${volume.path}/${file}`, 40);
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    const end = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert(end?.type === "failed", JSON.stringify(end));
    assert.equal(end.reason, "RepositoryFull", end.message);
    assert.match(end.message, /no space left on device/);
    assert.equal(end.snapshotID, undefined);
    // One file alone: its manifest is printed before it turns out that it cannot be saved.
    for (let file = 1; file < 8; file++) await Deno.remove(`${volume.path}/${file}`);
    await randomFile(`${volume.path}/0`, 12);
    const small = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert(small?.type === "failed", JSON.stringify(small));
    assert.equal(small.reason, "RepositoryFull", small.message);
    assert.equal(small.snapshotID, undefined);
  },
});

Deno.test({
  ignore,
  name: "a full disk of the node is told apart from a full store",
  async fn() {
    await using disk = await smallDisk(1);
    if (disk === undefined) return;
    await using bench = await folderBench({ folder: `${disk.path}/agent` });
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 20);
    const session = await bench.session();
    const rest = Deno.openSync(`${disk.path}/filler`, { write: true, create: true });
    try {
      while (true) rest.writeSync(new Uint8Array(4_096));
    } catch {
      rest.close(); // full
    }
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    const end = (await eventsOf(openBackup(session, order))).at(-1);
    assert(end?.type === "failed", JSON.stringify(end));
    assert.equal(end.reason, "NodeDiskFull", end.message);
    assert.equal(password.length > 0 && end.message.includes(password), false);
  },
});
