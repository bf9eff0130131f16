import assert from "node:assert/strict";
import { MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import { writeDoneFile } from "./done_file.ts";

const uid = "22222222-2222-4222-8222-222222222222";
const log = logger("test");

async function inVolume(act: (volume: string, outside: string) => Promise<void>) {
  const root = await Deno.makeTempDir({ prefix: "done-" });
  try {
    await Deno.mkdir(`${root}/volume`);
    await Deno.mkdir(`${root}/outside`);
    await act(`${root}/volume`, `${root}/outside`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const modeOf = (path: string) => (Deno.lstatSync(path).mode ?? 0) & 0o7777;

Deno.test("the done file is empty and readable by everybody", () =>
  inVolume(async (volume) => {
    await writeDoneFile(volume, uid, log);
    assert.equal(modeOf(`${volume}/.velero`), 0o755);
    assert.equal(modeOf(`${volume}/.velero/${uid}`), 0o644);
    assert.equal(Deno.lstatSync(`${volume}/.velero/${uid}`).size, 0);
  }));

Deno.test("done files of other restores, from the snapshot, are removed", () =>
  inVolume(async (volume) => {
    await Deno.mkdir(`${volume}/.velero/deep`, { recursive: true });
    await Deno.writeTextFile(`${volume}/.velero/other`, "");
    await writeDoneFile(volume, uid, log);
    assert.deepEqual([...Deno.readDirSync(`${volume}/.velero`)].map(({ name }) => name), [uid]);
  }));

Deno.test("a link in the place of folder or file is replaced and never followed", () =>
  inVolume(async (volume, outside) => {
    await Deno.writeTextFile(`${outside}/kept`, "kept");
    await Deno.symlink(outside, `${volume}/.velero`);
    await writeDoneFile(volume, uid, log);
    assert.equal(Deno.lstatSync(`${volume}/.velero`).isDirectory, true);
    assert.deepEqual([...Deno.readDirSync(outside)].map(({ name }) => name), ["kept"]);
    await Deno.remove(`${volume}/.velero`, { recursive: true });
    await Deno.mkdir(`${volume}/.velero`);
    await Deno.symlink(`${outside}/made`, `${volume}/.velero/${uid}`);
    await writeDoneFile(volume, uid, log);
    assert.equal(Deno.lstatSync(`${volume}/.velero/${uid}`).isFile, true);
    assert.deepEqual([...Deno.readDirSync(outside)].map(({ name }) => name), ["kept"]);
  }));

Deno.test("a link inside the former folder loses itself, not what it names", () =>
  inVolume(async (volume, outside) => {
    await Deno.writeTextFile(`${outside}/kept`, "kept");
    await Deno.mkdir(`${volume}/.velero`);
    await Deno.symlink(outside, `${volume}/.velero/link`);
    await writeDoneFile(volume, uid, log);
    assert.equal(await Deno.readTextFile(`${outside}/kept`), "kept");
  }));

for (const bad of ["", ".", "..", "../../etc/cron.d/x", "a/b", "a\0b", "-rf", ".hidden"]) {
  Deno.test(`a uid that is no plain name is refused: ${JSON.stringify(bad)}`, () =>
    inVolume(async (volume) => {
      await assert.rejects(
        writeDoneFile(volume, bad, log),
        (error) => error instanceof MovementError && error.reason === "OwnerMissing",
      );
      assert.deepEqual([...Deno.readDirSync(volume)], []);
    }));
}

Deno.test("a volume that is gone is named", () =>
  inVolume(async (volume) => {
    await assert.rejects(
      writeDoneFile(`${volume}/gone`, uid, log),
      (error) =>
        error instanceof MovementError && error.reason === "DoneFileError" &&
        error.message.includes(`"${volume}/gone/.velero"`),
    );
  }));
