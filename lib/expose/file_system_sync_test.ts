import { deepEqual, rejects } from "node:assert/strict";
import { tempFolder } from "../../tests/support/temp.ts";
import { MovementError } from "../base/error.ts";
import { syncFileSystem } from "./file_system_sync.ts";

const never = new AbortController().signal;

const files = () => [...Deno.readDirSync("/proc/self/fd")].length;

Deno.test("a folder's file system is synced, and no file stays open", async () => {
  using folder = tempFolder("sync");
  await Deno.writeTextFile(`${folder.path}/file`, "text");
  const before = files();
  await syncFileSystem(folder.path, never);
  deepEqual(files(), before);
});

Deno.test("a folder that has gone, or is none, cannot be synced", async () => {
  using folder = tempFolder("sync");
  await Deno.writeTextFile(`${folder.path}/file`, "text");
  for (const path of [`${folder.path}/gone`, `${folder.path}/file`]) {
    await rejects(syncFileSystem(path, never), (error) => {
      return error instanceof MovementError && error.reason === "VolumeWriteError" &&
        error.message.includes(`"${path}"`);
    });
  }
});

Deno.test("a sync that nobody waits for any more is not begun", async () => {
  const ended = AbortSignal.abort(new Error("enough"));
  await rejects(syncFileSystem("/", ended), { message: "enough" });
});
