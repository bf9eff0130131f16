import assert from "node:assert/strict";
import { refused, unanswered } from "./api_error.ts";
import { type Repeatable, repeatAfterMs } from "./retry.ts";

const attempt = { verb: "patch", resource: "pods", scope: `namespace "a"`, name: "p" };
const lost = (reason: string) => unanswered(attempt, reason, { detail: "x" });
const answered = (status: number, retryAfter?: string) =>
  refused(attempt, { status, body: "", ...(retryAfter === undefined ? {} : { retryAfter }) });

const table = [
  // what failed, may be repeated when harmless, may be repeated otherwise
  [lost("Unreachable"), true, true],
  [lost("ConnectionLost"), true, false],
  [lost("Timeout"), true, false],
  [lost("InvalidAnswer"), true, false],
  [lost("CertificateInvalid"), false, false],
  [lost("ClientClosed"), false, false],
  [lost("AnswerTooLarge"), false, false],
  [answered(429), true, false],
  [answered(429, "1"), true, true],
  [answered(503), true, false],
  [answered(503, "1"), true, true],
  [answered(500), true, false],
  [answered(500, "1"), true, false],
  [answered(502), true, false],
  [answered(504), true, false],
  [answered(400), false, false],
  [answered(401), false, false],
  [answered(403), false, false],
  [answered(404), false, false],
  [answered(409), false, false],
  [answered(410), false, false],
  [answered(422), false, false],
] as const;

for (const [error, whenHarmless, otherwise] of table) {
  const kinds = [["always", whenHarmless], ["unsent", otherwise]] as const;
  const name = `${error.status} ${error.reason} ${error.retryAfterMs ?? "without Retry-After"}`;
  Deno.test(`${name}: repeated when harmless: ${whenHarmless}, otherwise: ${otherwise}`, () => {
    for (const [repeatable, expected] of kinds) {
      const ms = repeatAfterMs(error, { repeatable, attempt: 0, retries: 4, firstMs: 500 });
      assert.equal(ms !== undefined, expected, repeatable);
    }
  });
}

const after = (error: ReturnType<typeof answered>, at: number, repeatable: Repeatable = "always") =>
  repeatAfterMs(error, { repeatable, attempt: at, retries: 4, firstMs: 500 });

Deno.test("tries are bounded, by default to about 8 s in all", () => {
  const waits = [0, 1, 2, 3].map((at) => after(answered(503), at) ?? NaN);
  const sum = waits.reduce((a, b) => a + b);
  assert.ok(sum > 5_900 && sum <= 7_500, `${waits}`);
  assert.equal(after(answered(503), 4), undefined);
  const none = { repeatable: "always", attempt: 0, retries: 0, firstMs: 500 } as const;
  assert.equal(repeatAfterMs(answered(503), none), undefined);
});

Deno.test("Retry-After lengthens the wait, up to 30 s", () => {
  assert.equal(after(answered(429, "7"), 0), 7_000);
  assert.equal(after(answered(429, "86400"), 0), 30_000);
  assert.ok((after(answered(429, "0"), 0) ?? 0) >= 400);
});

Deno.test("a timeout is repeated once", () => {
  assert.notEqual(after(lost("Timeout"), 0), undefined);
  assert.equal(after(lost("Timeout"), 1), undefined);
});
