import assert from "node:assert/strict";
import { MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import type { DataPath, DataPathEvent } from "../datapath/data_path.ts";
import { podVolumeBackups } from "../api/pod_volume_backup.ts";
import type { Movable, Opened } from "./kind.ts";
import { type End, type Run, type RunContext, startRun } from "./run.ts";
import type { Change, Held, StatusWriter } from "./status.ts";

const held: Held = { namespace: "bk", name: "b1", uid: "u1", resourceVersion: "7" };
const object: Movable = { metadata: { namespace: "bk", name: "b1", uid: "u1" } };
const completed: DataPathEvent = { type: "completed", result: { snapshotID: "s1", sizeBytes: 50 } };

type Event = DataPathEvent | "cancel" | "pause" | Error;

/**
 * A data path that plays events; `"cancel"` waits for the cancel and then says canceled, `"pause"`
 * leaves time for what was begun.
 */
function played(
  events: readonly Event[],
): DataPath & { disposed: boolean } {
  return {
    disposed: false,
    async *events(signal) {
      for (const event of events) {
        if (event instanceof Error) throw event;
        if (event === "pause") {
          await new Promise((resolve) => setTimeout(resolve));
          continue;
        }
        if (event !== "cancel") {
          yield event;
          continue;
        }
        if (!signal.aborted) {
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        }
        yield { type: "canceled" };
      }
    },
    cancel() {},
    [Symbol.asyncDispose]() {
      this.disposed = true;
      return Promise.resolve();
    },
  };
}

interface Played {
  readonly run: Run;
  readonly finished: Change[];
  /** The version of the object that each result was written over. */
  readonly over: string[];
  readonly reported: Change[];
  readonly discarded: string[];
  readonly path: { readonly disposed: boolean };
}

interface Play {
  readonly events?: readonly Event[];
  /** Thrown when the way is opened; `"hang"` waits for the stop. */
  readonly refusal?: Error | "hang";
  readonly answer?: "written" | "overtaken";
  /** Thrown when a snapshot is to be taken back. */
  readonly kept?: Error;
}

function play({ events = [], refusal, answer = "written", kept }: Play): Played {
  const seen = {
    finished: [] as Change[],
    over: [] as string[],
    reported: [] as Change[],
    discarded: [] as string[],
  };
  const path = played(events);
  const status: StatusWriter = {
    claim: () => Promise.reject(new Error("a run does not claim")),
    report: (held, change) => {
      seen.reported.push(change);
      return Promise.resolve({ ...held, resourceVersion: "8" });
    },
    finish: ({ resourceVersion }, change) => {
      seen.over.push(resourceVersion);
      seen.finished.push(change);
      return Promise.resolve(answer);
    },
  };
  const opened: Opened = {
    path,
    result: ({ snapshotID }) => ({ snapshotID, path: "/p" }),
    annotations: { a: "b" },
    discard(id) {
      seen.discarded.push(id);
      return kept === undefined ? Promise.resolve() : Promise.reject(kept);
    },
    [Symbol.asyncDispose]: () => path[Symbol.asyncDispose](),
  };
  const context: RunContext<Movable> = {
    kind: {
      resource: podVolumeBackups,
      finalizer: "f",
      again: "do it again",
      isMine: () => true,
      trim: (object) => object,
      async open(_, signal) {
        if (refusal instanceof Error) throw refusal;
        if (refusal === undefined) return opened;
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        throw signal.reason;
      },
    },
    status,
    progressIntervalMs: 0,
    now: () => new Date("2026-01-02T03:04:05.678Z"),
    log: logger("test"),
  };
  const run = startRun(context, { object, held }, new AbortController().signal);
  return { ...seen, run, path };
}

function statusOf({ finished }: Played): Readonly<Record<string, unknown>> {
  assert.equal(finished.length, 1, "exactly one result is written");
  return finished[0]?.status ?? {};
}

Deno.test("a completed movement has its snapshot, path, time and full progress", async () => {
  const one = play({ events: [{ type: "progress", bytesDone: 5, totalBytes: 50 }, completed] });
  assert.deepEqual(await one.run.ended, { phase: "Completed", sizeBytes: 50 } satisfies End);
  assert.deepEqual(statusOf(one), {
    phase: "Completed",
    completionTimestamp: "2026-01-02T03:04:05Z",
    progress: { bytesDone: 50, totalBytes: 50 },
    snapshotID: "s1",
    path: "/p",
  });
  assert.deepEqual(one.finished[0]?.annotations, { a: "b" });
  assert.deepEqual(one.reported, [{ status: { progress: { bytesDone: 5, totalBytes: 50 } } }]);
  assert.equal(one.path.disposed, true);
});

Deno.test("a result is written over the claim, or over the last report", async () => {
  const short = play({ events: [completed] });
  await short.run.ended;
  assert.deepEqual(short.over, ["7"]);
  const progress: DataPathEvent = { type: "progress", bytesDone: 5, totalBytes: 50 };
  const long = play({ events: [progress, "pause", completed] });
  await long.run.ended;
  assert.deepEqual(long.over, ["8"]);
});

Deno.test("a failed data path keeps its reason and the snapshot that was saved", async () => {
  const one = play({
    events: [{
      type: "failed",
      reason: "VolumeReadError",
      message: "cannot read",
      snapshotID: "s2",
    }],
  });
  await one.run.ended;
  assert.deepEqual(statusOf(one), {
    phase: "Failed",
    completionTimestamp: "2026-01-02T03:04:05Z",
    message: "VolumeReadError: cannot read",
    snapshotID: "s2",
  });
});

Deno.test("a movement that cannot be opened fails with the reason it was refused for", async () => {
  const one = play({ refusal: new MovementError("PodNotRunning", "the pod is Succeeded") });
  await one.run.ended;
  assert.equal(statusOf(one).message, "PodNotRunning: the pod is Succeeded");
});

Deno.test("a fault of the agent is a failed object with a message, not a lost one", async () => {
  for (
    const one of [
      play({ events: [new TypeError("")] }),
      play({ events: [] }),
      play({ refusal: new Error() }),
    ]
  ) {
    await one.run.ended;
    assert.match(String(statusOf(one).message), /^InternalError: \S+/);
  }
});

Deno.test("a stop on request ends Canceled, while opening and while moving", async () => {
  for (const one of [play({ events: ["cancel"] }), play({ refusal: "hang" })]) {
    one.run.stop("Canceled");
    one.run.stop("NodeShutdown"); // the first reason counts
    assert.equal((await one.run.ended).phase, "Canceled");
    assert.equal(statusOf(one).phase, "Canceled");
  }
});

Deno.test("a stop because the agent ends is Failed with that reason", async () => {
  const one = play({ events: ["cancel"] });
  one.run.stop("NodeShutdown");
  await one.run.ended;
  assert.match(String(statusOf(one).message), /^NodeShutdown: /);
});

Deno.test("a stop because the pod is lost is Failed in the words of the loss", async () => {
  const one = play({ events: ["cancel"] });
  one.run.stop({ reason: "PodGone", message: "the pod is gone" });
  await one.run.ended;
  assert.equal(statusOf(one).phase, "Failed");
  assert.equal(statusOf(one).message, "PodGone: the pod is gone");
});

Deno.test("a movement that completes in spite of a cancel is Completed", async () => {
  const one = play({ events: [completed] });
  one.run.stop("Canceled");
  assert.equal((await one.run.ended).phase, "Completed");
});

Deno.test("a movement whose object is gone writes nothing and takes its snapshot back", async () => {
  const one = play({ events: [completed] });
  one.run.stop("ObjectDeleted");
  const two = play({ events: [completed], answer: "overtaken" });
  assert.equal((await two.run.ended).phase, "dropped");
  assert.deepEqual(two.discarded, ["s1"]);
  assert.equal((await one.run.ended).phase, "dropped");
  assert.deepEqual([one.finished, one.discarded], [[], ["s1"]]);
});

Deno.test("a movement that saved no snapshot takes none back", async () => {
  const empty: DataPathEvent = { type: "completed", result: { snapshotID: "", sizeBytes: 0 } };
  const one = play({ events: [empty], answer: "overtaken" });
  assert.equal((await one.run.ended).phase, "dropped");
  assert.deepEqual(one.discarded, []);
});

Deno.test("a snapshot that cannot be taken back does not hide how the movement ended", async () => {
  const kept = new MovementError("RepositoryUnreachable", "no store");
  const one = play({ events: [completed], answer: "overtaken", kept });
  assert.deepEqual(await one.run.ended, { phase: "dropped" } satisfies End);
  assert.deepEqual(one.discarded, ["s1"]);
});

Deno.test("an uploader that someone else interrupts is a failure that says so", async () => {
  const one = play({ events: [{ type: "canceled" }] });
  await one.run.ended;
  assert.match(String(statusOf(one).message), /^KopiaKilled: /);
});
