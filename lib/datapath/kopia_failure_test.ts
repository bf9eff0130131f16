import assert from "node:assert/strict";
import { explainFailure, isStoreLost } from "./kopia_errors.ts";
import { redact } from "./store_errors.ts";
import type { ChildExit } from "./child_process.ts";

const facts = { doing: 'back up "/v"', folder: "/agent", secrets: ["the-password", "the-key"] };
const id = "3adaec88ee5bfbe24932dfb9f08f4fce";

function failed(changes: Partial<ChildExit>): ChildExit {
  return { code: 1, outOfMemory: false, stdout: "", lines: [], ...changes };
}

function manifest(summary: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ id, rootEntry: { summ: summary } });
}

const packFull =
  "error writing pack: can't save pack data blob p02: error writing pack file: unable " +
  "to complete PutBlobInPath:/mnt/r/p/020/3e.f despite 2 retries: can't write temporary file: " +
  "write /mnt/r/p/020/3e.f.tmp.78: no space left on device";

const unreadable = [
  'Error when processing "lock.db": unable to open file: open /v/lock.db: permission denied',
  'Error when processing "sub/connection refused": read /v/sub/b: input/output error',
  "Found 2 fatal error(s) while snapshotting default@default:x.",
];

Deno.test("unreadable files are told with the first, the number of others and the snapshot", () => {
  const errors = [{ path: "lock.db", error: "open /v/lock.db: permission denied" }];
  const stdout = manifest({ size: 5, numFailed: 2, errors });
  assert.deepEqual(explainFailure(failed({ lines: unreadable, stdout }), facts), {
    reason: "VolumeReadError",
    message: 'Cannot back up "/v": "lock.db" cannot be read: open /v/lock.db: permission denied ' +
      `(and 1 other); the rest was saved as snapshot ${id}`,
    snapshotID: id,
  });
});

Deno.test("a snapshot that was printed but could not be saved is not told", () => {
  const stdout = manifest({ size: 5, numFailed: 1, errors: [{ path: "a", error: "b" }] });
  const lines = [...unreadable.slice(0, 1), `flush error: error flushing contents: ${packFull}`];
  const failure = explainFailure(failed({ lines, stdout }), facts);
  assert.equal(failure.reason, "RepositoryFull");
  assert.equal(failure.snapshotID, undefined);
});

Deno.test("without a manifest the lines tell of unreadable files", () => {
  const failure = explainFailure(failed({ lines: unreadable }), facts);
  assert.equal(failure.reason, "VolumeReadError");
  assert.match(failure.message, /"lock\.db" cannot be read: .*permission denied \(and 1 other\)$/);
});

Deno.test("a kill is told with its signal, and the kernel's for want of memory apart", () => {
  const killed = failed({ code: 137, signal: "SIGKILL" });
  assert.equal(explainFailure(killed, facts).reason, "KopiaKilled");
  assert.match(explainFailure(killed, facts).message, /SIGKILL/);
  const starved = explainFailure({ ...killed, outOfMemory: true }, facts);
  assert.equal(starved.reason, "KopiaOutOfMemory");
  assert.match(starved.message, /memory limit/);
});

Deno.test("no secret leaves in a message", () => {
  const lines = ["open repository: password the-password and key the-key are bad"];
  const { message } = explainFailure(failed({ lines }), facts);
  assert.match(message, /password \*\*\* and key \*\*\* are bad/);
  assert.equal(redact("nothing here", ["", "a"]), "nothing here");
});

Deno.test("only what kopia has given up in vain counts as a lost store", () => {
  assert(isStoreLost(packFull));
  assert(isStoreLost("unable to complete PutBlob(p6) despite 10 retries: connection refused"));
  assert(!isStoreLost('Error when processing "a": read /v/a: input/output error'));
  assert(!isStoreLost("Snapshotting default@default:x ..."));
  assert(!isStoreLost(`unable to add 96 to metadata: ${packFull}`)); // only the cache
});

Deno.test("a crash is told by its first line, not by the registers at the end", () => {
  const dump = ["goroutine 1 gp=0xc0000021c0 m=0:", "main.main()", "fs     0x0", "gs     0x0"];
  const crashed = (line: string) =>
    explainFailure(failed({ code: 2, lines: ["Snapshotting x ...", line, ...dump] }), facts);
  const segmentation = crashed("SIGSEGV: segmentation violation");
  assert.equal(segmentation.reason, "KopiaFailed");
  assert.match(segmentation.message, /kopia crashed: SIGSEGV: segmentation violation; back up/);
  assert.match(crashed("panic: index out of range").message, /crashed: panic: index out of range/);
  assert.equal(crashed("fatal error: runtime: out of memory").reason, "KopiaOutOfMemory");
});
