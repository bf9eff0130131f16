import assert from "node:assert/strict";
import { parseRestoreProgress, restoreText } from "./kopia_restore_progress.ts";

const golden = new URL("../../tests/golden/", import.meta.url);

for (const { name } of Deno.readDirSync(golden)) {
  if (!name.startsWith("kopia_restore_")) continue;
  Deno.test(`every line of a real restore is understood: ${name}`, () => {
    const lines = Deno.readTextFileSync(new URL(name, golden)).split(/[\r\n]+/);
    const progress = lines.map(parseRestoreProgress).filter((line) => line !== undefined);
    assert(progress.length > 5);
    const last = progress.at(-1);
    assert.equal(last?.bytesDone, last?.totalBytes);
    const human = lines.map(restoreText).filter((text) => text.trim() !== "");
    assert.deepEqual(human, [
      "Restoring to local filesystem (/volume) with parallelism=2...",
      "Restored 3 files, 3 directories and 1 symbolic links (360 MB).",
    ]);
  });
}

Deno.test("an error that kopia prints behind the progress is told apart from it", () => {
  const line = "Processed 5 (16.8 MB) of 5 (40 MB) 12.3 MB/s (41.9%) remaining 1m3.5s. error " +
    "restoring: restore error: no space left on device";
  assert.deepEqual(parseRestoreProgress(line), {
    bytesDone: 16_800_000,
    totalBytes: 40_000_000,
    rest: "error restoring: restore error: no space left on device",
  });
});

Deno.test("skipped files and ignored errors are part of the progress", () => {
  const line = "Processed 5 (1 KB) of 7 (2 KB), skipped 2 (3.5 KB), ignored 4 errors.";
  assert.deepEqual(parseRestoreProgress(line), { bytesDone: 1_000, totalBytes: 2_000, rest: "" });
});

Deno.test("an unknown form is no progress and stays text", () => {
  for (const line of ["", "Processed many", "Processed 1 (x) of 2 (y).", "Restored 2 files"]) {
    assert.equal(parseRestoreProgress(line), undefined);
    assert.equal(restoreText(line), line);
  }
});
