import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { orAbort } from "../base/abort.ts";
import type { Log } from "../base/log.ts";
import { ApiError } from "./api_error.ts";
import type { ListPart } from "./list_items.ts";
import type { KubeObject, ObjectKey } from "./object.ts";
import { newWatchHealth, watchForever, type WatchForeverOptions } from "./watch.ts";
import type { SourceEvent, SourceWatch, WatchSource } from "./watch_source.ts";

const object = (name: string, version: number): KubeObject => ({
  metadata: { name, resourceVersion: String(version) },
});
const set = (name: string, version: number): SourceEvent<KubeObject> => ({
  type: "set",
  object: object(name, version),
  resourceVersion: String(version),
});
const bookmark = (version: number): SourceEvent<KubeObject> => ({
  type: "bookmark",
  resourceVersion: String(version),
});
const apiError = (status: number, reason: string) =>
  new ApiError({
    status,
    reason,
    verb: "watch",
    resource: "things",
    scope: "the cluster",
    detail: `${status} ${reason}`,
  });
const gone = () => apiError(410, "Expired");
const retry = { firstMs: 1, maxMs: 2 };

/** A source that plays what a test lays out: one entry a list or watch; then it waits for ever. */
type Part = ListPart<KubeObject> | SourceEvent<KubeObject> | Error;

function played(lists: Part[][], watches: Part[][]) {
  const from: string[] = [];
  const idle = Promise.withResolvers<void>();
  async function* play<P>(parts: Part[] | undefined, signal: AbortSignal): AsyncGenerator<P> {
    if (parts === undefined) {
      idle.resolve();
      await orAbort(new Promise<never>(() => {}), signal);
    }
    for (const part of parts ?? []) {
      if (part instanceof Error) throw part;
      yield part as P;
    }
  }
  const source: WatchSource<KubeObject> = {
    name: "things",
    list: ({ resourceVersion = "now" }, signal) => {
      from.push(`list ${resourceVersion}`);
      return play(lists.shift(), signal);
    },
    watch: ({ resourceVersion }: SourceWatch, signal) => {
      from.push(resourceVersion);
      return play(watches.shift(), signal);
    },
  };
  return { source, from, idle: idle.promise };
}

function recordedLog() {
  const lines: string[] = [];
  const note = (level: string): Log["info"] => (sentence, fields = {}) =>
    void lines.push(`${level} ${sentence}: ${fields["cause"] ?? fields["what"]}`);
  const log = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  return { log, lines };
}

/** Follows until the played source has nothing more to play; answers the changes. */
async function follow(
  { source, idle }: ReturnType<typeof played>,
  options: WatchForeverOptions = {},
) {
  const changes: string[] = [];
  const end = new AbortController();
  const following = (async () => {
    for await (const change of watchForever(source, end.signal, { retry, ...options })) {
      const names = change.type === "reset"
        ? change.objects.map(({ metadata }) => metadata.name).join(" ")
        : change.type === "set"
        ? change.object.metadata.name
        : change.key;
      changes.push(`${change.type} ${names}`.trim());
    }
  })();
  await idle;
  end.abort(new Error("enough"));
  await rejects(following, { message: "enough" });
  return changes;
}

Deno.test("the first list comes object by object and then whole, a later one only whole", async () => {
  const pages: Part[] = [
    { items: [object("a", 1), object("b", 2)] },
    { items: [object("c", 3)], resourceVersion: "9" },
  ];
  const play = played([pages, pages], [[set("d", 10), gone()]]);
  deepEqual(await follow(play), ["set a", "set b", "set c", "reset a b c", "set d", "reset a b c"]);
  deepEqual(play.from, ["list 0", "9", "list now", "9"]);
});

Deno.test("a watch goes on after the last event or bookmark, however the stream ended", async () => {
  const play = played([[{ items: [], resourceVersion: "1" }]], [
    [set("a", 2)],
    [bookmark(7), new TypeError("error reading a body from connection")],
    [apiError(503, "ServiceUnavailable")],
    [{ type: "gone", key: "a" as ObjectKey, resourceVersion: "8" }],
  ]);
  deepEqual(await follow(play), ["reset", "set a", "gone a"]);
  deepEqual(play.from, ["list 0", "1", "2", "7", "7", "8"]);
});

Deno.test("a list that fails in the middle begins anew, and its first objects are told twice", async () => {
  const page: Part = { items: [object("a", 1)], resourceVersion: "5" };
  const play = played([[page, gone()], [apiError(403, "Forbidden")], [page]], []);
  deepEqual(await follow(play), ["set a", "set a", "reset a"]);
  deepEqual(play.from, ["list 0", "list 0", "list 0", "5"]);
});

Deno.test("each cause is logged once while it lasts, and the end of the trouble too", async () => {
  const { log, lines } = recordedLog();
  const refused = () => apiError(503, "ServiceUnavailable");
  const play = played([[{ items: [], resourceVersion: "1" }]], [
    [refused()],
    [refused()],
    [gone()],
  ]);
  await follow(play, { log });
  deepEqual(lines.length, 2);
  match(lines[0]!, /^warn The watch was interrupted.* 503 ServiceUnavailable$/);
  match(lines[1]!, /^warn .* 410 Expired$/);

  const settled = recordedLog();
  const again = played([[{ items: [], resourceVersion: "1" }]], [[refused()], [bookmark(2)]]);
  await follow(again, { log: settled.log, settledMs: 0 });
  deepEqual(settled.lines.map((line) => line.split(" ")[0]), ["warn", "info"]);
});

Deno.test("a server that asks for a moment is told of when it goes on asking", async () => {
  const busy = apiError(429, "TooManyRequests");
  const once = recordedLog();
  await follow(played([[busy], [{ items: [], resourceVersion: "1" }]], []), { log: once.log });
  deepEqual(once.lines, []);
  const twice = recordedLog();
  await follow(played([[busy], [busy], [{ items: [], resourceVersion: "1" }]], []), {
    log: twice.log,
  });
  deepEqual(twice.lines.map((line) => line.split(" ")[0]), ["warn"]);
});

Deno.test("a stream that has been opened is a sign of life, but no event", async () => {
  const health = newWatchHealth();
  const opened: SourceEvent<KubeObject> = { type: "opened", resourceVersion: "1" };
  const list: Part = { items: [], resourceVersion: "1" };
  const cut = apiError(503, "ServiceUnavailable");
  const barren = Array.from({ length: 5 }, () => [opened, cut]);
  const play = played([[list], [list]], [...barren, [opened]]);
  await follow(play, { health, settledMs: 0 });
  equal(health.connected, true);
  equal(
    play.from.filter((from) => from.startsWith("list")).length,
    2,
    "after five without an event",
  );
});

Deno.test("health tells a failure, and the next sign of life", async () => {
  const before = Date.now();
  const health = newWatchHealth();
  const seen: unknown[] = [];
  const play = played([[apiError(403, "Forbidden")], [{ items: [], resourceVersion: "1" }]], []);
  const { source } = play;
  const list = source.list;
  const watched: WatchSource<KubeObject> = {
    ...source,
    list: (options, signal) => {
      const { lastTurnMs, ...rest } = health;
      ok(lastTurnMs >= before);
      seen.push({ ...rest, lastError: health.lastError !== undefined });
      return list(options, signal);
    },
  };
  await follow({ ...play, source: watched }, { health });
  deepEqual(seen, [
    { listed: false, connected: false, lastActivityMs: 0, lastError: false },
    { listed: false, connected: false, lastActivityMs: 0, lastError: true },
  ]);
  ok(health.lastActivityMs >= before);
  equal(health.listed, true);
  equal(health.lastError, undefined);
});

Deno.test("when no watch gets anything through, every fifth try lists anew", async () => {
  const page: Part = { items: [], resourceVersion: "1" };
  const play = played(
    [[page], [page]],
    Array.from({ length: 6 }, () => [apiError(400, "BadRequest")]),
  );
  await follow(play);
  deepEqual(play.from, ["list 0", "1", "1", "1", "1", "1", "list now", "1", "1"]);
});

Deno.test("streams that the server closes at once back off although they end cleanly", async () => {
  const { log, lines } = recordedLog();
  const times: number[] = [];
  const events = Array.from({ length: 5 }, (_, index): Part[] => [bookmark(index + 2)]);
  const play = played([[{ items: [], resourceVersion: "1" }]], events);
  const { source } = play;
  const watch = source.watch;
  const timed: WatchSource<KubeObject> = {
    ...source,
    watch: (options, signal) => {
      times.push(performance.now());
      return watch(options, signal);
    },
  };
  await follow({ ...play, source: timed }, { log, retry: { firstMs: 3, maxMs: 1_000, jitter: 0 } });
  const gaps = times.slice(1).map((time, index) => time - times[index]!);
  for (const [index, least] of [3, 3, 6, 12, 24].entries()) {
    ok(gaps[index]! >= Math.min(least, 3 * 2 ** index) - 1, `${gaps}`);
  }
  equal(lines.length, 1);
  match(lines[0]!, /the server ends the watch at once/);
});

Deno.test("a stream that has lived long and ended cleanly is followed by the next without delay", async () => {
  const events = Array.from({ length: 20 }, (_, index): Part[] => [bookmark(index + 2)]);
  const play = played([[{ items: [], resourceVersion: "1" }]], events);
  const started = performance.now();
  await follow(play, { settledMs: 0, retry: { firstMs: 10_000, maxMs: 10_000 } });
  ok(performance.now() - started < 5_000);
});

Deno.test("an abort ends the watch with its reason, also in a list and in a delay", async () => {
  const end = new AbortController();
  const listing = played([], []);
  const next = watchForever(listing.source, end.signal).next();
  await listing.idle;
  end.abort(new Error("enough"));
  await rejects(next, { message: "enough" });

  const other = new AbortController();
  const failing = played([[apiError(500, "InternalError")]], []);
  const options = { retry: { firstMs: 60_000, maxMs: 60_000 }, log: recordedLog().log };
  const delayed = watchForever(failing.source, other.signal, options).next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  deepEqual(failing.from, ["list 0"]);
  other.abort(new Error("enough"));
  await rejects(delayed, { message: "enough" });
});
