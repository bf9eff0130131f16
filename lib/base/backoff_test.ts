import assert from "node:assert/strict";
import { backoffMs } from "./backoff.ts";

Deno.test("the delay doubles up to its cap", () => {
  const delays = [0, 1, 2, 3, 9, 5_000].map((attempt) =>
    backoffMs(attempt, { firstMs: 100, maxMs: 1_000, jitter: 0 })
  );
  assert.deepEqual(delays, [100, 200, 400, 800, 1_000, 1_000]);
});

Deno.test("jitter only shortens, by at most its share", () => {
  const options = { firstMs: 100, maxMs: 1_000, jitter: 0.2 };
  assert.equal(backoffMs(0, { ...options, random: () => 0 }), 100);
  assert.ok(backoffMs(0, { ...options, random: () => 0.999 }) >= 80);
});
