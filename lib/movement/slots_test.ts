import assert from "node:assert/strict";
import type { ObjectKey } from "../kube/object.ts";
import { type Slot, type SlotLine, type SlotOptions, type SlotPool, slotPool } from "./slots.ts";

const key = (text: string) => text as ObjectKey;

interface OneLine extends SlotOptions {
  readonly wake: (key: ObjectKey) => void;
}

/** A pool with one line, as one. */
function lineOf({ wake, ...options }: OneLine): SlotLine & Omit<SlotPool, "line"> {
  const pool = slotPool(options);
  const line = pool.line(wake);
  return Object.assign(Object.create(pool) as Omit<SlotPool, "line">, line);
}

Deno.test("the lines of two kinds share the slots in order of creation, with equal names too", () => {
  const pool = slotPool({ limit: 1 });
  const woken: string[] = [];
  const backups = pool.line((key) => woken.push(`backup ${key}`));
  const restores = pool.line((key) => woken.push(`restore ${key}`));
  const running = backups.take(key("running"), 0);
  assert.equal(backups.take(key("same"), 2_000), undefined);
  assert.equal(restores.take(key("same"), 1_000), undefined);
  running?.[Symbol.dispose]();
  assert.deepEqual(woken, ["restore same"]);
  assert.equal(backups.take(key("same"), 2_000), undefined);
  restores.take(key("same"), 1_000)?.[Symbol.dispose]();
  assert.deepEqual(woken, ["restore same", "backup same"]);
  assert.ok(backups.take(key("same"), 2_000));
  assert.equal(pool.waiting, 0);
});

Deno.test("a key that one kind gives up keeps its place with the other", () => {
  const pool = slotPool({ limit: 1 });
  const woken: string[] = [];
  const backups = pool.line((key) => woken.push(`backup ${key}`));
  const restores = pool.line((key) => woken.push(`restore ${key}`));
  const running = backups.take(key("running"), 0);
  backups.take(key("same"), 0);
  restores.take(key("same"), 0);
  backups.forget(key("same"));
  running?.[Symbol.dispose]();
  assert.deepEqual(woken, ["restore same"]);
});

Deno.test("who waits is woken in order of arrival when a slot is freed", () => {
  const woken: string[] = [];
  const pool = lineOf({ limit: 1, wake: (key) => woken.push(key) });
  const a = pool.take(key("a"), 0);
  assert.equal(pool.take(key("b"), 0), undefined);
  assert.equal(pool.take(key("c"), 0), undefined);
  assert.deepEqual(woken, []);
  a?.[Symbol.dispose]();
  assert.deepEqual(woken, ["b"]);
  assert.equal(pool.take(key("c"), 0), undefined, "c does not overtake b");
  const b = pool.take(key("b"), 0);
  assert.ok(b);
  b[Symbol.dispose]();
  assert.deepEqual(woken, ["b", "c"]);
});

Deno.test("a newcomer does not overtake those that wait", () => {
  const pool = lineOf({ limit: 1, wake: () => {} });
  const a = pool.take(key("a"), 0);
  pool.take(key("b"), 0);
  a?.[Symbol.dispose]();
  assert.equal(pool.take(key("new"), 0), undefined);
  assert.ok(pool.take(key("b"), 0));
});

Deno.test("an older object goes before a younger one that asked earlier", () => {
  const woken: string[] = [];
  const pool = lineOf({ limit: 1, wake: (key) => woken.push(key) });
  const running = pool.take(key("running"), 0);
  pool.take(key("young"), 9_000);
  pool.take(key("old"), 1_000);
  pool.take(key("old too"), 1_000);
  running?.[Symbol.dispose]();
  assert.equal(pool.take(key("young"), 9_000), undefined);
  pool.take(key("old"), 1_000)?.[Symbol.dispose]();
  pool.take(key("old too"), 1_000)?.[Symbol.dispose]();
  assert.deepEqual(woken, ["old", "old too", "young"]);
});

Deno.test("when the first in line gives up the next one is woken", () => {
  const woken: string[] = [];
  const pool = lineOf({ limit: 1, wake: (key) => woken.push(key) });
  const a = pool.take(key("a"), 0);
  pool.take(key("b"), 0);
  pool.take(key("c"), 0);
  a?.[Symbol.dispose]();
  pool.forget(key("b"));
  assert.deepEqual(woken, ["b", "c"]);
  pool.forget(key("never came"));
  assert.equal(pool.waiting, 1);
});

Deno.test("disposing a slot twice frees it once", () => {
  const pool = lineOf({ limit: 2, wake: () => {} });
  const a = pool.take(key("a"), 0);
  pool.take(key("b"), 0);
  a?.[Symbol.dispose]();
  a?.[Symbol.dispose]();
  assert.equal(pool.used, 1);
});

Deno.test("the longest wait is that of the first in line", () => {
  let now = 10;
  const pool = lineOf({ limit: 1, wake: () => {}, nowMs: () => now });
  pool.take(key("a"), 0);
  assert.equal(pool.waitingSinceMs, undefined);
  pool.take(key("b"), 0);
  now = 20;
  pool.take(key("b"), 0);
  pool.take(key("c"), 0);
  assert.equal(pool.waitingSinceMs, 10);
});

Deno.test("any order of taking, freeing and giving up keeps the limit and starts everyone once", () => {
  for (let seed = 1; seed <= 200; seed++) {
    let state = seed;
    const random = (below: number) => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % below;
    const awake: ObjectKey[] = [];
    const limit = 1 + random(3);
    const pool = lineOf({ limit, wake: (key) => awake.push(key) });
    const held: Slot[] = [];
    const started: ObjectKey[] = [];
    const arrived = Array.from({ length: 20 }, (_, index) => key(`k${index}`));
    const pass = (key: ObjectKey) => {
      if (started.includes(key)) return;
      const slot = pool.take(key, 0);
      if (slot === undefined) return;
      started.push(key);
      held.push(slot);
      assert.ok(held.length <= limit, `seed ${seed}`);
    };
    for (const key of arrived) {
      pass(key);
      if (random(2) === 0) held.splice(random(held.length), 1)[0]?.[Symbol.dispose]();
      while (awake.length > 0 && random(3) > 0) pass(awake.shift() as ObjectKey);
    }
    while (held.length > 0 || awake.length > 0) {
      held.shift()?.[Symbol.dispose]();
      while (awake.length > 0) pass(awake.shift() as ObjectKey);
    }
    assert.deepEqual(started, arrived, `seed ${seed}`);
  }
});
