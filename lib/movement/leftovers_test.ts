import assert from "node:assert/strict";
import type { Movable } from "./kind.ts";
import { leftIn, type LeftoverFacts } from "./leftovers.ts";
import { holderAnnotation } from "./status.ts";

const beganMs = Date.parse("2026-01-01T00:00:10.500Z");
const first: LeftoverFacts = { holder: "n1/me", since: "first list" };
const later: LeftoverFacts = { holder: "n1/me", since: { beganMs } };

function taken(by: string | undefined, status: Movable["status"]): Movable {
  const annotations = by === undefined ? {} : { [holderAnnotation]: by };
  return { metadata: { name: "b1", uid: "u1", annotations }, ...(status && { status }) };
}

function isLeft(object: Movable, facts: LeftoverFacts): boolean {
  const set = leftIn({ type: "set", object }, facts);
  assert.deepEqual(leftIn({ type: "reset", objects: [object] }, facts), set);
  return set.length === 1;
}

const before = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:09Z" } as const;
const sameSecond = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:10Z" } as const;

Deno.test("what is under way in the first list is left, but not one's own", () => {
  for (const by of ["n1/other", undefined]) {
    assert(isLeft(taken(by, sameSecond), first));
    assert(isLeft(taken(by, { phase: "Accepted" }), first));
  }
  assert(!isLeft(taken("n1/me", before), first));
  assert(!isLeft(taken(undefined, undefined), first));
  assert(!isLeft(taken(undefined, { phase: "New" }), first));
});

Deno.test("what is told later is left when it was taken before this process began", () => {
  for (const by of ["n1/other", undefined]) {
    assert(isLeft(taken(by, before), later));
    assert(!isLeft(taken(by, sameSecond), later));
    assert(!isLeft(taken(by, { phase: "InProgress" }), later));
  }
  assert(!isLeft(taken("n1/me", before), later));
});

Deno.test("what is gone is left by nobody", () => {
  assert.deepEqual(leftIn({ type: "gone", key: "a/b" as never }, first), []);
});
