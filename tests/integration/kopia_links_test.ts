import assert from "node:assert/strict";
import { openBackup } from "../../lib/datapath/kopia_backup.ts";
import { openRestore, type RestoreOrder } from "../../lib/datapath/kopia_restore.ts";
import { eventsOf, folderBench, type KopiaBench } from "../support/kopia.ts";
import { runProcess } from "../support/process.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia");

/** A snapshot with a folder `sub`, a file `top`, a folder `plain` of mode 711 and a link `own`. */
async function saved(bench: KopiaBench): Promise<string> {
  using volume = tempFolder("volume");
  await Deno.mkdir(`${volume.path}/sub`);
  await Deno.writeTextFile(`${volume.path}/sub/file`, "of the snapshot");
  await Deno.writeTextFile(`${volume.path}/top`, "of the snapshot");
  await Deno.mkdir(`${volume.path}/plain`);
  await Deno.chmod(`${volume.path}/plain`, 0o711);
  await Deno.symlink("sub/file", `${volume.path}/own`);
  const order = { volumePath: volume.path, sourcePath: "a/source", tags: {} };
  const end = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
  assert(end?.type === "completed", JSON.stringify(end));
  return end.result.snapshotID;
}

for (const sparse of [false, true]) {
  Deno.test({
    ignore,
    name: `no link in the target leads kopia out of the volume, ${sparse ? "sparse" : "usual"}`,
    async fn() {
      await using bench = await folderBench();
      const snapshotID = await saved(bench);
      using outside = tempFolder("outside");
      const victim = `${outside.path}/victim`;
      await Deno.writeTextFile(victim, "not to be touched");
      await Deno.mkdir(`${outside.path}/folder`, { mode: 0o755 });
      using target = tempFolder("target");
      const { path } = target;
      await Deno.symlink(outside.path, `${path}/sub`);
      await Deno.symlink(victim, `${path}/top`);
      await Deno.symlink(`${outside.path}/folder`, `${path}/plain`);
      await Deno.symlink("elsewhere", `${path}/own`);
      await Deno.mkdir(`${path}/mine`);
      await Deno.symlink("/nowhere", `${path}/mine/kept`);
      await runRestore(bench, { snapshotID, targetPath: path, sparse });

      assert.equal(await Deno.readTextFile(victim), "not to be touched");
      assert.deepEqual([...Deno.readDirSync(outside.path)].map(({ name }) => name).sort(), [
        "folder",
        "victim",
      ]);
      assert.equal((Deno.statSync(`${outside.path}/folder`).mode ?? 0) & 0o777, 0o755);
      for (const file of ["sub/file", "top"]) {
        assert.equal(await Deno.readTextFile(`${path}/${file}`), "of the snapshot");
        assert(Deno.lstatSync(`${path}/${file}`).isFile);
      }
      assert.equal(Deno.readLinkSync(`${path}/own`), "sub/file");
      assert.equal(Deno.readLinkSync(`${path}/mine/kept`), "/nowhere");
    },
  });
}

Deno.test({
  ignore,
  name: "no special file in the target takes what is meant for a file",
  async fn() {
    await using bench = await folderBench();
    const snapshotID = await saved(bench);
    using target = tempFolder("target");
    const { path } = target;
    await Deno.mkdir(`${path}/mine`);
    const pipes = [`${path}/top`, `${path}/mine/pipe`];
    assert.equal((await runProcess("mkfifo", pipes)).code, 0);
    await runRestore(bench, { snapshotID, targetPath: path });
    assert.equal(await Deno.readTextFile(`${path}/top`), "of the snapshot");
    assert.equal(Deno.lstatSync(`${path}/mine/pipe`).isFifo, true);
    const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assert.deepEqual(names(path), ["mine", "own", "plain", "sub", "top"]);
    assert.deepEqual(names(`${path}/mine`), ["pipe"]);
  },
});

Deno.test({
  ignore,
  name: "a restore that fails leaves the links of the target as they were",
  async fn() {
    await using bench = await folderBench();
    using target = tempFolder("target");
    await Deno.symlink("/nowhere", `${target.path}/link`);
    const order = { snapshotID: "0".repeat(32), targetPath: target.path };
    const end = (await eventsOf(openRestore(await bench.session(), order))).at(-1);
    assert.equal(end?.type, "failed");
    assert.equal(Deno.readLinkSync(`${target.path}/link`), "/nowhere");
  },
});

/** Names, in Latin-1, that are not UTF-8; each is laid into the target by a shell. */
const unnamed = [
  { what: "link", laid: (outside: string) => `ln -s '${outside}' $'s\\xfcb'` },
  { what: "folder", laid: () => "mkdir $'f\\xfcr'" },
  { what: "pipe", laid: () => "mkfifo $'f\\xfcr'" },
];

for (const { what, laid } of unnamed) {
  Deno.test({
    ignore,
    name: `a ${what} whose name is not UTF-8 does not lead kopia out of the volume`,
    async fn() {
      await using bench = await folderBench();
      using volume = tempFolder("volume");
      await inShell(volume.path, "mkdir $'s\\xfcb' && echo new >$'s\\xfcb/victim'");
      const from = { volumePath: volume.path, sourcePath: "a/source", tags: {} };
      const saved = (await eventsOf(openBackup(await bench.session(), from))).at(-1);
      assert(saved?.type === "completed", JSON.stringify(saved));
      using outside = tempFolder("outside");
      using target = tempFolder("target");
      await Deno.symlink("/nowhere", `${target.path}/link`);
      await inShell(target.path, laid(outside.path));
      const order = { snapshotID: saved.result.snapshotID, targetPath: target.path };
      const end = (await eventsOf(openRestore(await bench.session(), order))).at(-1);
      assert(end?.type === "failed", JSON.stringify(end));
      assert.equal(end.reason, "VolumeWriteError");
      assert.match(end.message, /has a name that is not UTF-8; rename or remove it/);
      assert.deepEqual([...Deno.readDirSync(outside.path)], []);
      assert.equal(Deno.readLinkSync(`${target.path}/link`), "/nowhere");
    },
  });
}

Deno.test({
  ignore,
  name: "what is not UTF-8 and harmless stays: a file's name, and where a link leads to",
  async fn() {
    await using bench = await folderBench();
    const snapshotID = await saved(bench);
    using target = tempFolder("target");
    await inShell(target.path, "echo old >$'\\xfc' && ln -s $'\\xfc' link && ln -s $'\\xfc' sub");
    await runRestore(bench, { snapshotID, targetPath: target.path });
    await inShell(target.path, "[[ $(<$'\\xfc') == old && $(readlink link) == $'\\xfc' ]]");
    assert.equal(await Deno.readTextFile(`${target.path}/sub/file`), "of the snapshot");
  },
});

async function inShell(folder: string, script: string) {
  const { code, stderr } = await runProcess("bash", ["-c", `cd "$0" && ${script}`, folder]);
  assert.equal(code, 0, stderr);
}

async function runRestore(bench: KopiaBench, order: RestoreOrder) {
  const end = (await eventsOf(openRestore(await bench.session(), order))).at(-1);
  assert(end?.type === "completed", JSON.stringify(end));
}
