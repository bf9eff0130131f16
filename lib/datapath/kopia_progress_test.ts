import assert from "node:assert/strict";
import { humanText, parseProgress, parseSize } from "./kopia_progress.ts";

const golden = new URL("../../tests/golden/", import.meta.url);

for (const { name } of Deno.readDirSync(golden)) {
  if (!name.startsWith("kopia_progress_")) continue;
  Deno.test(`every line that a real kopia wrote is understood: ${name}`, () => {
    const lines = Deno.readTextFileSync(new URL(name, golden)).split(/[\r\n]+/);
    const progress = lines.map(parseProgress).filter((line) => line !== undefined);
    assert(progress.length > 20);
    assert.equal(progress[0]?.bytesDone, 65_500);
    assert.equal(progress[0]?.totalBytes, undefined);
    const last = progress.at(-1);
    assert.equal(last?.bytesDone, 374_600_000); // 20 MB hashed and 354.6 MB cached
    assert(progress.some(({ totalBytes }) => totalBytes === 354_600_000));
    const human = lines.map(humanText).filter((text) => text.trim() !== "");
    assert.deepEqual(human, [
      "Snapshotting default@default:g ...",
      ' ! Error when processing "lock.db": unable to open file: unable to open local file: ' +
      "open /volume/lock.db: permission denied",
      "Found 1 fatal error(s) while snapshotting default@default:g.",
      "Snapshotting default@default:g ...",
    ]);
  });
}

Deno.test("a message that kopia prints behind the progress is told apart from it", () => {
  const line =
    " / 1 hashing, 9 hashed (400 MB), 2 cached (1.5 GB), uploaded 1.7 GB (8 fatal errors)" +
    ", estimated 2.4 GB (79.0%) 1m3s leftasync write error: unable to write content chunk 6";
  assert.deepEqual(parseProgress(line), {
    bytesDone: 1_900_000_000,
    totalBytes: 2_400_000_000,
    rest: "async write error: unable to write content chunk 6",
  });
});

Deno.test("sizes in binary units are read as well", () => {
  assert.equal(parseSize("1.5 KiB"), 1_536);
  assert.equal(parseSize("0 B"), 0);
  assert.equal(parseSize("0.9 TB"), 900_000_000_000);
  assert.equal(parseSize("12 parsecs"), undefined);
});

Deno.test("an unknown form is no progress and stays text (case H8)", () => {
  for (
    const line of [
      "",
      "hashed 12 files",
      " | 2 hashing, 1 hashed (many), 0 cached (0 B), uploaded 0 B",
      " | 2 hashing, 1 hashed (9 MB)",
      "Processed 2 (1 MB) of 3 (2 MB).",
    ]
  ) {
    assert.equal(parseProgress(line), undefined);
    assert.equal(humanText(line), line);
  }
});
