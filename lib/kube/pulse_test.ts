import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ApiError } from "./api_error.ts";
import { newPulse, pulseTaker } from "./pulse.ts";

const never = new AbortController().signal;
const apiError = (status: number) =>
  new ApiError({
    ...{ status, reason: "Some", verb: "get", resource: "configmaps", scope: "the cluster" },
    detail: `${status}`,
  });

function patient(answers: (Error | undefined)[], heardMs: () => number = () => 0) {
  const pulse = newPulse();
  let asked = 0;
  const ask = () => {
    const answer = answers[asked++];
    return answer === undefined ? Promise.resolve() : Promise.reject(answer);
  };
  const take = pulseTaker({ pulse, ask, heardMs });
  return { pulse, take: () => take(never), asked: () => asked };
}

Deno.test("a server that does not answer is told with the cause, and when it is back", async () => {
  const { pulse, take } = patient([new TypeError("no route"), apiError(503), undefined]);
  await take();
  match(pulse.lastError ?? "", /no route/);
  await take();
  match(pulse.lastError ?? "", /503/);
  await take();
  equal(pulse.lastError, undefined);
  ok(Date.now() - pulse.lastHeardMs < 1_000);
});

Deno.test("a refusal is an answer", async () => {
  const { pulse, take } = patient([apiError(403)]);
  await take();
  deepEqual([pulse.lastError, pulse.lastHeardMs > 0], [undefined, true]);
});

Deno.test("nothing is asked while the server is heard, by others or a moment ago", async () => {
  const others = patient([], () => Date.now());
  await others.take();
  equal(others.asked(), 0);
  const own = patient([undefined]);
  await own.take();
  await own.take();
  equal(own.asked(), 1);
});

Deno.test("who loses patience does not wait, and the one question goes on", async () => {
  const answer = Promise.withResolvers<void>();
  let asked = 0;
  const ask = () => {
    asked++;
    return answer.promise;
  };
  const pulse = newPulse();
  const take = pulseTaker({ pulse, ask, heardMs: () => 0 });
  await rejects(take(AbortSignal.abort(new Error("enough"))), { message: "enough" });
  const waiting = take(never);
  equal(asked, 1);
  answer.resolve();
  await waiting;
  ok(pulse.lastHeardMs > 0);
});
