import assert from "node:assert/strict";
import type { Reason } from "../base/reason.ts";
import { explainFailure } from "./kopia_errors.ts";
import type { ChildExit } from "./child_process.ts";
import { explainRestore, type RestoreFacts } from "./kopia_restore_errors.ts";

const snapshotID = "0123456789abcdef0123456789abcdef";
const facts = {
  snapshotID,
  targetPath: "/pods/u/volumes/data",
  session: {
    explain: (exit: ChildExit, doing: string) =>
      explainFailure(exit, { doing, folder: "/agent", secrets: [] }),
  },
} as unknown as RestoreFacts;

function explained(change: Partial<ChildExit>) {
  const exit = { code: 1, outOfMemory: false, stdout: "", lines: [], ...change };
  return explainRestore(exit, `restore snapshot "${snapshotID}"`, facts);
}

const copying = "error restoring: restore error: copy file: error creating file: ";
const opening = `${copying}unable to open snapshot file for /pods/u/volumes/data/file: unable ` +
  "to open object: ";

/** The last lines of kopia 0.23.1. */
const lines: readonly (readonly [string, string, Reason, RegExp])[] = [
  [
    "a full volume",
    `${copying}cannot write data to file "/pods/u/volumes/data/a": write ` +
    "/pods/u/volumes/data/a: no space left on device",
    "VolumeFull",
    /no space left on device; the volume is too small for the snapshot; enlarge it/,
  ],
  [
    "a folder in the place of a file",
    `${copying}open /pods/u/volumes/data/file: is a directory`,
    "VolumeWriteError",
    /is a directory; check the volume and what it holds already$/,
  ],
  [
    "a volume that takes nothing",
    `${copying}open /pods/u/volumes/data/file: read-only file system`,
    "VolumeWriteError",
    /read-only file system; check the volume/,
  ],
  [
    "a volume that went away",
    `${copying}open /pods/u/volumes/data/file: no such file or directory`,
    "HostPathMissing",
    /the volume's folder is not there any more; restore again$/,
  ],
  [
    "a snapshot that does not exist",
    `error restoring: restore error: error copying: copy file: error creating file: unable to open ` +
    `snapshot file for /pods/u/volumes/data: unable to open object: ${snapshotID}: content ` +
    `${snapshotID} not found: object not found`,
    "SnapshotMissing",
    /the repository has no such snapshot, its backup was perhaps deleted; restore another$/,
  ],
  [
    "lost data",
    `${opening}608a6f47f7f894218d2d44fdf627d252: unexpected content error: error getting cached ` +
    'content from blob "p53a": failed to get blob with ID p53a: BLOB not found',
    "SnapshotDamaged",
    /the repository has lost data of this snapshot; restore another backup$/,
  ],
  [
    "something behind the progress",
    `Processed 2 (5 B) of 2 (20 MB).${copying}open /pods/u/volumes/data/file: is a directory`,
    "VolumeWriteError",
    /snapshot "\w+": error restoring: /,
  ],
  [
    "what is not known",
    "error restoring: it rained",
    "KopiaFailed",
    /: error restoring: it rained$/,
  ],
];

for (const [what, line, reason, text] of lines) {
  Deno.test(`of a restore that failed, ${what} is explained`, () => {
    const failure = explained({ lines: ["Restoring to local filesystem...", line, ""] });
    assert.equal(failure.reason, reason);
    assert.match(failure.message, text);
  });
}

Deno.test("what may happen to any kopia is told in the words of a restore", () => {
  const hungry = explained({ code: 2, lines: ["runtime: out of memory: cannot allocate"] });
  assert.equal(hungry.reason, "KopiaOutOfMemory");
  assert.match(hungry.message, /ParallelFilesDownload/);
  const crashed = explained({ code: 2, lines: ["panic: runtime error: index out of range"] });
  assert.equal(crashed.reason, "KopiaFailed");
  assert.match(crashed.message, /kopia crashed: panic.*; restore again$/);
  const silent = explained({ lines: [] });
  assert.match(silent.message, /exit code 1 and said nothing/);
});
