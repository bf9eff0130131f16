import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { workQueue } from "./queue.ts";
import { seededRandom } from "../../tests/support/random.ts";

const never = new AbortController().signal;

async function taken<K>(queue: ReturnType<typeof workQueue<K>>): Promise<K> {
  using work = await queue.next(never);
  ok(work);
  return work.key;
}

Deno.test("keys come out in the order they came, each once", async () => {
  const queue = workQueue<string>();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  equal(queue.length, 3);
  deepEqual([await taken(queue), await taken(queue), await taken(queue)], ["a", "b", "c"]);
  equal(queue.length, 0);
});

Deno.test("a key added while it is worked on runs once more, and not before the pass has ended", async () => {
  const queue = workQueue<string>();
  queue.add("a");
  const first = await queue.next(never);
  queue.add("a");
  queue.add("a");
  queue.add("b");
  equal(queue.length, 1);
  equal(await taken(queue), "b");
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  equal(queue.length, 1);
  equal(await taken(queue), "a");
  equal(queue.length, 0);
});

Deno.test("a waiting worker gets the next key; an aborted wait takes none", async () => {
  const queue = workQueue<string>();
  const controller = new AbortController();
  const left = queue.next(controller.signal);
  const right = queue.next(never);
  const third = queue.next(never);
  controller.abort(new Error("enough"));
  await rejects(left, { message: "enough" });
  queue.add("a");
  queue.add("b");
  deepEqual([(await right)?.key, (await third)?.key], ["a", "b"]);
  await rejects(queue.next(controller.signal), { message: "enough" });
});

Deno.test("of several delays of a key the earliest wins, and it runs once", async () => {
  const queue = workQueue<string>();
  const started = performance.now();
  queue.addAfter("a", 10_000);
  queue.addAfter("a", 15);
  queue.addAfter("a", 5_000);
  queue.addAfter("b", 5);
  equal(queue.delayedLength, 2);
  deepEqual([await taken(queue), await taken(queue)], ["b", "a"]);
  ok(performance.now() - started >= 14);
  equal(queue.delayedLength, 0);
});

Deno.test("many delays share one timer, and an idle queue has none", async () => {
  const real = globalThis.setTimeout;
  let timers = 0;
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    timers++;
    return real(run, ms);
  }) as typeof setTimeout;
  try {
    const queue = workQueue<number>();
    for (let key = 0; key < 1_000; key++) queue.addAfter(key, 3);
    for (let key = 0; key < 1_000; key++) equal(await taken(queue), key);
    ok(timers < 20, `${timers} timers`);
  } finally {
    globalThis.setTimeout = real;
  }
});

Deno.test("a delay longer than a timer can take does not fire at once", () => {
  const queue = workQueue<string>();
  queue.addAfter("a", 2 ** 40);
  equal(queue.length, 0);
  equal(queue.delayedLength, 1);
  queue.close();
});

Deno.test("retries of a key back off by doubling up to the cap, each key for itself", async () => {
  const queue = workQueue<string>({ retry: { firstMs: 2, maxMs: 8, jitter: 0 } });
  const delayOf = async (key: string, failures: number) => {
    const started = performance.now();
    equal(queue.retry(key), failures);
    equal(await taken(queue), key);
    return performance.now() - started;
  };
  const delays = [await delayOf("a", 1), await delayOf("a", 2), await delayOf("a", 3)];
  for (const [index, least] of [2, 4, 8].entries()) {
    ok(delays[index]! >= least - 0.5, `${delays}`);
  }
  for (let failures = 4; failures < 14; failures++) delays.push(await delayOf("a", failures));
  ok(delays.at(-1)! < 8_000, "without the cap the last delay is 8 s");
  equal(queue.retry("b"), 1);
  equal(await taken(queue), "b");
  queue.forget("a");
  equal(queue.retry("a"), 1);
  equal(await taken(queue), "a");
});

Deno.test("closing ends the waits and drops what waits", async () => {
  const queue = workQueue<string>();
  const wait = queue.next(never);
  queue.addAfter("b", 5);
  queue.close();
  equal(await wait, undefined);
  queue.add("a");
  queue.retry("a");
  equal(queue.length + queue.delayedLength, 0);
  equal(await queue.next(never), undefined);
});

Deno.test("a hundred thousand keys at once and as many delayed ones are no burden", async () => {
  const queue = workQueue<number>();
  const count = 100_000;
  const started = performance.now();
  for (let key = 0; key < count; key++) queue.add(key);
  for (let key = 0; key < count; key++) queue.addAfter(key + count, 1 + (key % 7));
  for (let seen = 0; seen < 2 * count; seen++) (await queue.next(never))?.[Symbol.dispose]();
  const took = performance.now() - started;
  // Quadratic cost would be minutes; measured 0.3 s on an idle core.
  ok(took < 10_000, `${took} ms`);
});

Deno.test("no key is ever worked on twice at once, and none is lost", async () => {
  for (let seed = 1; seed <= 6; seed++) await runRandomly(seed);
});

/** Every add must be followed by a pass that began after it. */
async function runRandomly(seed: number) {
  const random = seededRandom(seed);
  const queue = workQueue<number>({ retry: { firstMs: 0.1, maxMs: 2 } });
  const end = new AbortController();
  const active = new Set<number>();
  const lastAdd = new Map<number, number>();
  const lastStart = new Map<number, number>();
  let clock = 0;
  const note = (key: number) => void lastAdd.set(key, ++clock);

  const worker = async () => {
    while (true) {
      using work = await queue.next(end.signal);
      if (work === undefined) return;
      ok(!active.has(work.key), `seed ${seed}: key ${work.key} twice at once`);
      active.add(work.key);
      lastStart.set(work.key, ++clock);
      const turns = random(4);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, random(2)));
      active.delete(work.key);
      if (random(4) === 0) {
        note(work.key);
        queue.retry(work.key);
      } else queue.forget(work.key);
    }
  };
  const workers = [1, 2, 3, 4].map(worker);
  for (let step = 0; step < 400; step++) {
    const key = random(12);
    note(key);
    if (random(3) === 0) queue.addAfter(key, random(4));
    else queue.add(key);
    if (random(5) === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  while (queue.length + queue.delayedLength + active.size > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  queue.close();
  await Promise.all(workers);
  for (const [key, at] of lastAdd) {
    ok((lastStart.get(key) ?? 0) > at, `seed ${seed}: key ${key} was added and never worked on`);
  }
}
