import { deepEqual, equal, ok } from "node:assert/strict";
import type { Log } from "../base/log.ts";
import { type Outcome, type Reconcile, runController } from "./controller.ts";
import type { ObjectKey } from "./object.ts";
import { workQueue } from "./queue.ts";

const key = (name: string) => name as ObjectKey;
const wait: Outcome = { then: "wait" };

function setUp(reconcile: Reconcile, workers = 2) {
  const lines: string[] = [];
  const note = (level: string): Log["info"] => (sentence, fields = {}) =>
    void lines.push(`${level} ${sentence} ${fields["failures"] ?? ""}`.trim());
  const log: Log = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  const queue = workQueue<ObjectKey>({ retry: { firstMs: 1, maxMs: 2 } });
  const end = new AbortController();
  const done = runController({ queue, reconcile, workers, log }, end.signal);
  return { queue, end, done, lines };
}

Deno.test("a pass that throws is repeated; only a new cause is an error line", async () => {
  let pass = 0;
  const finished = Promise.withResolvers<void>();
  const { queue, end, done, lines } = setUp(() => {
    pass++;
    if (pass <= 3) return Promise.reject(new Error("refused"));
    if (pass === 4) throw new Error("not found");
    finished.resolve();
    return Promise.resolve(wait);
  });
  queue.add(key("a"));
  await finished.promise;
  end.abort();
  await done;
  deepEqual(lines, [
    "error The pass failed and is repeated 1",
    "debug The pass failed again and is repeated 2",
    "debug The pass failed again and is repeated 3",
    "error The pass failed and is repeated 4",
  ]);
});

Deno.test("a pass that asks for another gets it after the time it named", async () => {
  const times: number[] = [];
  const finished = Promise.withResolvers<void>();
  const { queue, end, done } = setUp(() => {
    times.push(performance.now());
    if (times.length < 2) return Promise.resolve({ then: "again", afterMs: 20 });
    finished.resolve();
    return Promise.resolve(wait);
  });
  queue.add(key("a"));
  await finished.promise;
  end.abort();
  await done;
  ok(times[1]! - times[0]! >= 19);
});

Deno.test("at the end the passes under way end first, and no other begins", async () => {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const started: string[] = [];
  let ended = 0;
  const { queue, end, done } = setUp(async (key) => {
    started.push(key);
    if (started.length === 2) begun.resolve();
    await release.promise;
    ended++;
    return wait;
  });
  for (const name of ["a", "b", "c"]) queue.add(key(name));
  await begun.promise;
  end.abort();
  let isDone = false;
  done.then(() => isDone = true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  equal(isDone, false);
  release.resolve();
  await done;
  equal(ended, 2);
  deepEqual(started, ["a", "b"]);
});

Deno.test("a pass that ends by the shutdown is no error, and closing the queue ends the workers", async () => {
  const begun = Promise.withResolvers<void>();
  const { queue, end, done, lines } = setUp((_, signal) => {
    begun.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  });
  queue.add(key("a"));
  await begun.promise;
  end.abort();
  await done;
  deepEqual(lines, ["debug The pass was ended by the shutdown"]);

  const other = setUp(() => Promise.resolve(wait));
  other.queue.close();
  await other.done;
});
