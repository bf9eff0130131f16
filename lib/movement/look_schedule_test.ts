import assert from "node:assert/strict";
import type { ObjectKey } from "../kube/object.ts";
import { lookSchedule } from "./look_schedule.ts";

const key = (text: string) => text as ObjectKey;

Deno.test("the first look is some seconds away, and due then", () => {
  let now = 0;
  const schedule = lookSchedule({ nowMs: () => now, random: () => 0.5 });
  assert.equal(schedule.untilDueMs(key("a")), 7_500);
  now = 7_000;
  assert.equal(schedule.untilDueMs(key("a")), 500);
  now = 7_500;
  assert.equal(schedule.untilDueMs(key("a")), 0);
});

Deno.test("a thousand objects that come at once are looked at one a second", () => {
  const schedule = lookSchedule({ nowMs: () => 0, random: () => 0 });
  const dues = Array.from({ length: 1_000 }, (_, at) => schedule.untilDueMs(key(`${at}`)));
  assert.equal(dues[0], 5_000);
  for (const [at, due] of dues.slice(1).entries()) assert.equal(due - (dues[at] ?? 0), 1_000);
});

Deno.test("what still has no node is looked at less and less, down to once in five minutes", () => {
  let now = 0;
  const schedule = lookSchedule({ nowMs: () => now, random: () => 1 });
  now += schedule.untilDueMs(key("a"));
  const waits: number[] = [];
  for (let look = 0; look < 8; look++) {
    const wait = schedule.postpone(key("a"));
    waits.push(wait);
    assert.equal(schedule.untilDueMs(key("a")), wait);
    now += wait;
  }
  assert.deepEqual(waits.slice(0, 3), [10_000, 20_000, 40_000]);
  assert.equal(waits.at(-1), 300_000);
});

Deno.test("a long wait of one does not hold up the first look at another", () => {
  const schedule = lookSchedule({ nowMs: () => 0, random: () => 0 });
  for (let look = 0; look < 8; look++) schedule.postpone(key("a"));
  assert.equal(schedule.untilDueMs(key("b")), 5_000);
  schedule.forget(key("b"));
  assert.equal(schedule.untilDueMs(key("b")), 6_000);
});
