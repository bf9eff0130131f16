import assert from "node:assert/strict";
import { MovementError } from "../base/error.ts";
import { folderIdentity, requireSameFolder } from "./folder_identity.ts";

Deno.test("a folder is the same until another one or none is in its place", async () => {
  const root = await Deno.makeTempDir();
  try {
    const path = `${root}/mount`;
    await Deno.mkdir(path);
    const identity = await folderIdentity(path);
    await Deno.writeTextFile(`${path}/file`, "text");
    await requireSameFolder(path, identity);
    await Deno.rename(path, `${root}/moved`);
    await assert.rejects(requireSameFolder(path, identity), isMissing(/No such file/));
    await Deno.mkdir(path);
    await assert.rejects(requireSameFolder(path, identity), isMissing(/unmounted or replaced/));
    await Deno.remove(path);
    await Deno.symlink(`${root}/moved`, path);
    await assert.rejects(requireSameFolder(path, identity), isMissing(/unmounted or replaced/));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

function isMissing(text: RegExp) {
  return (error: unknown) =>
    error instanceof MovementError && error.reason === "HostPathMissing" &&
    text.test(error.message);
}
