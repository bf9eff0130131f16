import assert from "node:assert/strict";
import { formatDuration, parseDuration } from "./duration.ts";
import { UsageError } from "./error.ts";

const good: readonly (readonly [string, number])[] = [
  ["0", 0],
  ["10m", 600_000],
  ["1h30m", 5_400_000],
  ["90s", 90_000],
  ["1.5h", 5_400_000],
  ["250ms", 250],
  [".5s", 500],
  ["-2s", -2_000],
  ["1h2m3.5s", 3_723_500],
];

for (const [text, ms] of good) {
  Deno.test(`the duration "${text}" is ${ms} ms`, () => assert.equal(parseDuration(text), ms));
}

for (const text of ["", "10", "m", "10 m", "1d", "10m!", "ten", "1h-2m", "."]) {
  Deno.test(`"${text}" is not a duration and the error shows one that is`, () => {
    assert.throws(() => parseDuration(text), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, /30s, 10m or 1h30m/);
      return true;
    });
  });
}

Deno.test("a duration is written as Go writes it", () => {
  assert.equal(formatDuration(600_000), "10m0s");
  assert.equal(formatDuration(5_400_000), "1h30m0s");
  assert.equal(formatDuration(1_500), "1.5s");
  assert.equal(formatDuration(250), "250ms");
  assert.equal(formatDuration(0), "0s");
  assert.equal(formatDuration(-61_000), "-1m1s");
});
