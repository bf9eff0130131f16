import assert from "node:assert/strict";
import { deadline, linked, orAbort, sleep } from "./abort.ts";

Deno.test("sleep ends with the signal's reason when it is aborted", async () => {
  const controller = new AbortController();
  const waiting = sleep(60_000, controller.signal);
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

Deno.test("sleep does not start under an aborted signal", async () => {
  await assert.rejects(sleep(60_000, AbortSignal.abort(new Error("before"))), /before/);
});

Deno.test("a linked signal follows its parent, and its parent does not follow it", () => {
  const parent = new AbortController();
  using first = linked(parent.signal);
  using second = linked(parent.signal);
  first.abort("own");
  assert.equal(parent.signal.aborted, false);
  parent.abort("all");
  assert.equal(first.signal.reason, "own");
  assert.equal(second.signal.reason, "all");
});

Deno.test("a disposed link is unhooked from its parent", () => {
  const parent = new AbortController();
  const child = linked(parent.signal);
  child[Symbol.dispose]();
  parent.abort();
  assert.equal(child.signal.aborted, false);
});

Deno.test("a deadline aborts with a TimeoutError that says what took too long", async () => {
  using limit = deadline(new AbortController().signal, 5, "reading the pod");
  const error = await sleep(60_000, limit.signal).catch((error: unknown) => error);
  assert.ok(error instanceof DOMException);
  assert.equal(error.name, "TimeoutError");
  assert.match(error.message, /reading the pod took longer than 0.005 s/);
});

Deno.test("orAbort gives the outcome, or the abort when that comes first", async () => {
  const controller = new AbortController();
  assert.equal(await orAbort(Promise.resolve(7), controller.signal), 7);
  const never = new Promise<number>(() => {});
  const waiting = orAbort(never, controller.signal);
  controller.abort(new Error("stop"));
  await assert.rejects(waiting, /stop/);
});

Deno.test("a wait longer than a timer of the runtime can be does not end at once", async () => {
  const controller = new AbortController();
  const ended: unknown[] = [];
  const waiting = sleep(2 ** 31 + 1, controller.signal).catch((error) => void ended.push(error));
  using limit = deadline(controller.signal, 1_000 * 3_600_000, "moving all of it");
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(ended, []);
  assert.equal(limit.signal.aborted, false);
  controller.abort("enough");
  await waiting;
  assert.deepEqual(ended, ["enough"]);
});

Deno.test("a signal with two parents ends with the first of them, and is unhooked from both", () => {
  for (const first of [0, 1]) {
    const parents = [new AbortController(), new AbortController()] as const;
    const child = linked(parents[0].signal, parents[1].signal);
    parents[first]!.abort(new Error("first"));
    parents[1 - first]!.abort(new Error("second"));
    assert.equal(child.signal.reason.message, "first");
    child[Symbol.dispose]();
  }
  const parents = [new AbortController(), new AbortController()] as const;
  const child = linked(parents[0].signal, parents[1].signal);
  child[Symbol.dispose]();
  for (const parent of parents) parent.abort();
  assert.equal(child.signal.aborted, false);
});
