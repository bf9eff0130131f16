import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ApiError } from "./api_error.ts";
import { keepPulse, newPulse } from "./pulse.ts";

const apiError = (status: number) =>
  new ApiError({
    ...{ status, reason: "Some", verb: "get", resource: "configmaps", scope: "the cluster" },
    detail: `${status}`,
  });

/** Runs until there is no more answer to give; answers what the pulse was before each question. */
async function beats(answers: (Error | undefined)[], heardMs: () => number = () => 0) {
  const pulse = newPulse();
  const seen: (string | undefined)[] = [];
  const end = new AbortController();
  const ask = () => {
    seen.push(pulse.lastError);
    const answer = answers.shift();
    if (answers.length === 0) end.abort(new Error("enough"));
    return answer === undefined ? Promise.resolve() : Promise.reject(answer);
  };
  const options = { pulse, ask, heardMs, quietMs: 20, retryMs: 1 };
  await rejects(keepPulse(options, end.signal), { message: "enough" });
  return { pulse, seen };
}

Deno.test("a server that does not answer is told with the cause, and when it is back", async () => {
  const { pulse, seen } = await beats([
    undefined,
    new TypeError("no route"),
    undefined,
    apiError(503),
    undefined,
    undefined,
  ]);
  deepEqual(seen.map((text) => text !== undefined), [false, false, true, false, true, false]);
  match(seen[2] ?? "", /no route/);
  equal(pulse.lastError, undefined);
  ok(Date.now() - pulse.lastHeardMs < 1_000);
});

Deno.test("a refusal is an answer", async () => {
  const { pulse, seen } = await beats([apiError(403), apiError(404), undefined]);
  deepEqual(seen, [undefined, undefined, undefined]);
  ok(pulse.lastHeardMs > 0);
});

Deno.test("nothing is asked while others hear the server", async () => {
  let times = 0;
  const startedMs = Date.now();
  const heardMs = () => ++times <= 3 ? Date.now() : 0;
  await beats([undefined], heardMs);
  ok(Date.now() - startedMs >= 55); // three times quietMs
});
