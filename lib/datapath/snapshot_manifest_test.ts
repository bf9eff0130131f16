import assert from "node:assert/strict";
import { parseManifest, parseManifests } from "./snapshot_manifest.ts";

const id = "5d477c333c73e5b42db19f80148946a4";
const start = "2026-12-01T10:35:12.61011614Z";
/** As kopia 0.23.1 prints it. */
const whole = {
  id,
  source: { host: "default", userName: "default", path: "p" },
  description: "",
  startTime: start,
  endTime: start,
  rootEntry: { name: "v", type: "d", obj: "k1", summ: { size: 9, files: 3, numFailed: 0 } },
};

Deno.test("a manifest tells its id, size and start", () => {
  assert.deepEqual(parseManifest(JSON.stringify(whole)), {
    id,
    sizeBytes: 9,
    startTime: start,
    failedCount: 0,
    failed: [],
  });
});

Deno.test("an incomplete one and unreadable entries are told", () => {
  const errors = [{ path: "lock.db", error: "permission denied" }, {}];
  const rootEntry = { summ: { size: 1, numFailed: 12, errors } };
  const manifest = parseManifest(JSON.stringify({ ...whole, incomplete: "canceled", rootEntry }));
  assert.equal(manifest?.incomplete, "canceled");
  assert.equal(manifest?.failedCount, 12);
  assert.deepEqual(manifest?.failed, [
    { path: "lock.db", error: "permission denied" },
    { path: "?", error: "no reason was given" },
  ]);
});

Deno.test("anything else is no manifest", () => {
  for (const text of ["", "{}", "null", "[]", '{"id":"short"}', "not JSON", '{"id":7}']) {
    assert.equal(parseManifest(text), undefined);
  }
  assert.deepEqual(parseManifests("{}"), []);
  assert.equal(parseManifests(JSON.stringify([whole, {}, null])).length, 1);
});
