import assert from "node:assert/strict";
import { hasVeleroPolicy, policyArguments } from "./repository_policy.ts";

const forever = 2_147_483_647;
/** The parts that count of what kopia 0.23.1 shows after `policyArguments`. */
const set = {
  retention: {
    keepLatest: forever,
    keepHourly: forever,
    keepDaily: forever,
    keepWeekly: forever,
    keepMonthly: forever,
    keepAnnual: forever,
  },
  errorHandling: { ignoreUnknownTypes: true },
  scheduling: { manual: true, runMissed: true },
  compression: { compressorName: "none" },
  upload: { maxParallelSnapshots: 1, parallelUploadAboveSize: 2_147_483_648 },
};

Deno.test("Velero's policy is known again; each other value is a difference", () => {
  assert(hasVeleroPolicy(JSON.stringify(set)));
  for (
    const other of [
      { retention: { ...set.retention, keepDaily: 7 } },
      { errorHandling: {} },
      { scheduling: { runMissed: true } },
      { compression: { compressorName: "zstd" } },
      { upload: null },
    ]
  ) assert(!hasVeleroPolicy(JSON.stringify({ ...set, ...other })), JSON.stringify(other));
  for (const text of ["", "null", "[]"]) assert(!hasVeleroPolicy(text));
});

Deno.test("the policy is set for one owner, with every retention period", () => {
  const args = policyArguments("default@default");
  assert.deepEqual(args.slice(0, 3), ["policy", "set", "default@default"]);
  assert.equal(args.filter((arg) => arg.endsWith(`=${forever}`)).length, 6);
});
