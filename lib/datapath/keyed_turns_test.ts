import assert from "node:assert/strict";
import { keyedTurns } from "./keyed_turns.ts";

const never = new AbortController().signal;

Deno.test("turns of one key come one at a time in the order of asking", async () => {
  const turns = keyedTurns();
  const seen: string[] = [];
  const first = await turns.take("a", never);
  const visit = async (name: string) => {
    using _turn = await turns.take("a", never);
    seen.push(`${name} in`);
    await Promise.resolve();
    seen.push(`${name} out`);
  };
  const visits = [visit("one"), visit("two")];
  using _other = await turns.take("b", never); // another key does not wait
  assert.deepEqual(seen, []);
  first[Symbol.dispose]();
  await Promise.all(visits);
  assert.deepEqual(seen, ["one in", "one out", "two in", "two out"]);
});

Deno.test("one who gives up waiting lets nobody pass before the holder is done", async () => {
  const turns = keyedTurns();
  const holder = await turns.take("a", never);
  const aborter = new AbortController();
  const given = turns.take("a", aborter.signal);
  let passed = false;
  const behind = turns.take("a", never).then((turn) => {
    passed = true;
    turn[Symbol.dispose]();
  });
  aborter.abort(new Error("enough"));
  await assert.rejects(given, /enough/);
  await Promise.resolve();
  assert(!passed);
  holder[Symbol.dispose]();
  await behind;
  assert(passed);
});
