import { equal, rejects } from "node:assert/strict";
import { tempFolder } from "../../tests/support/temp.ts";
import { MovementError } from "../base/error.ts";
import { syncFileSystem } from "./file_system_sync.ts";

const never = new AbortController().signal;

/** Whether a file of this process, of which other tests are a part, is open on the path. */
function isOpen(path: string): boolean {
  return [...Deno.readDirSync("/proc/self/fd")].some(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`) === path;
    } catch {
      return false; // closed meanwhile
    }
  });
}

Deno.test("a folder's file system is synced, and no file stays open", async () => {
  using folder = tempFolder("sync");
  await Deno.writeTextFile(`${folder.path}/file`, "text");
  const held = Deno.openSync(folder.path);
  equal(isOpen(folder.path), true);
  held.close();
  await syncFileSystem(folder.path, never);
  equal(isOpen(folder.path), false);
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
