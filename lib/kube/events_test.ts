import { deepEqual, equal, match, ok } from "node:assert/strict";
import { orAbort } from "../base/abort.ts";
import { ApiError } from "./api_error.ts";
import type { KubeClient, Patch } from "./client.ts";
import { type CoreEvent, createRecorder, cutText } from "./events.ts";
import type { KubeObject, Resource } from "./object.ts";

const about = {
  apiVersion: "velero.io/v1",
  kind: "PodVolumeBackup",
  namespace: "bk",
  name: "b1-x",
};
const text = { type: "Warning", reason: "SlotWait", message: "waits" } as const;
const who = { component: "longshore", host: "n1" };

function refused(status: number, reason: string): ApiError {
  const attempt = { verb: "create", resource: "events", scope: `namespace "bk"` };
  return new ApiError({ ...attempt, status, reason, detail: `${status} ${reason}` });
}

/** Notes what is sent; each send first runs `before`. */
function noting(before: (signal: AbortSignal) => Promise<void> = () => Promise.resolve()) {
  const created: CoreEvent[] = [];
  const patched: Patch[] = [];
  const client: Pick<KubeClient, "create" | "patch"> = {
    async create<T extends KubeObject>(_: Resource<T>, object: T, signal: AbortSignal) {
      await before(signal);
      created.push(object as KubeObject as CoreEvent);
      return object;
    },
    async patch<T extends KubeObject>(_: Resource<T>, patch: Patch, signal: AbortSignal) {
      await before(signal);
      patched.push(patch);
      return { metadata: { name: patch.name } } as T;
    },
  };
  return { client: client as KubeClient, created, patched };
}

function notingLog() {
  const lines: string[] = [];
  const note = (level: string) => (sentence: string) => void lines.push(`${level} ${sentence}`);
  const log = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  return { log, lines };
}

Deno.test("an event lies beside its object; one for an object without namespace in default", async () => {
  const { client, created } = noting();
  {
    await using recorder = createRecorder(client, who);
    recorder.event(about, text);
    recorder.event({ apiVersion: "v1", kind: "Node", name: "n1" }, text);
  }
  deepEqual(created.map(({ metadata }) => metadata.namespace), ["bk", "default"]);
  const { metadata, ...first } = created[0]!;
  match(metadata.name, /^b1-x\.[0-9a-f]{16}$/);
  deepEqual(first, {
    apiVersion: "v1",
    kind: "Event",
    involvedObject: about,
    ...text,
    source: who,
    reportingComponent: "longshore",
    reportingInstance: "n1",
    firstTimestamp: first.firstTimestamp,
    lastTimestamp: first.firstTimestamp,
    count: 1,
  });
  match(first.firstTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});

Deno.test("the same event again raises the count of the first, another message is another event", async () => {
  const first = Promise.withResolvers<void>();
  const { client, created, patched } = noting(() => {
    first.resolve();
    return Promise.resolve();
  });
  {
    await using recorder = createRecorder(client, who);
    recorder.event(about, text);
    await first.promise;
    for (let again = 0; again < 3; again++) recorder.event(about, text);
    recorder.event(about, { ...text, message: "still waits" });
  }
  deepEqual(created.map(({ message }) => message), ["waits", "still waits"]);
  equal(patched.length, 1);
  equal(patched[0]?.name, created[0]?.metadata.name);
  equal((patched[0]?.body as CoreEvent).count, 4);
});

Deno.test("an event that the server has dropped meanwhile is made anew with its count", async () => {
  let sends = 0;
  const sent = Promise.withResolvers<void>();
  const { client, created } = noting(() => {
    if (++sends === 1) sent.resolve();
    return sends === 2 ? Promise.reject(refused(404, "NotFound")) : Promise.resolve();
  });
  {
    await using recorder = createRecorder(client, who);
    recorder.event(about, text);
    await sent.promise;
    await Promise.resolve();
    recorder.event(about, text);
  }
  deepEqual(created.map(({ count }) => count), [1, 2]);
});

Deno.test("a failure is never thrown, and the same one again is only a debug line", async () => {
  const { log, lines } = notingLog();
  const { client } = noting(() => Promise.reject(refused(403, "Forbidden")));
  {
    await using recorder = createRecorder(client, { ...who, log });
    recorder.event(about, text);
    recorder.event({ ...about, name: "b1-y" }, text);
  }
  deepEqual(lines, [
    "warn An event could not be recorded",
    "debug An event could not be recorded",
  ]);
});

Deno.test("the end waits for what is to be sent, but not for ever", async () => {
  const { log, lines } = notingLog();
  const stuck = noting((signal) => orAbort(new Promise<never>(() => {}), signal));
  const recorder = createRecorder(stuck.client, { ...who, flushMs: 10, log });
  recorder.event(about, text);
  recorder.event({ ...about, name: "b1-y" }, text);
  await recorder[Symbol.asyncDispose]();
  recorder.event({ ...about, name: "late" }, text);
  deepEqual(lines, ["warn An event could not be recorded", "warn Events were dropped at the end"]);
  deepEqual(stuck.created, []);
});

Deno.test("what waits is bounded while the API server is away", async () => {
  const release = Promise.withResolvers<void>();
  const { client, created } = noting(() => release.promise);
  {
    await using recorder = createRecorder(client, who);
    for (let index = 0; index < 5_000; index++) {
      recorder.event({ ...about, name: `b${index}` }, text);
    }
    release.resolve();
  }
  ok(created.length > 400 && created.length < 600, `${created.length}`);
});

Deno.test("a long message is cut at 1024 bytes between characters", async () => {
  const bytes = (cut: string) => new TextEncoder().encode(cut).length;
  equal(cutText("short", 1_024), "short");
  equal(cutText("x".repeat(1_024), 1_024), "x".repeat(1_024));
  for (const character of ["x", "é", "漢", "🚢"]) {
    const cut = cutText(character.repeat(1_100), 1_024);
    ok(bytes(cut) <= 1_024 && bytes(cut) > 1_016, character);
    equal(cut.replaceAll(character, ""), "...");
  }
  const { client, created } = noting();
  {
    await using recorder = createRecorder(client, who);
    recorder.event(about, { ...text, message: "漢".repeat(1_000) });
  }
  ok(bytes(created[0]!.message) <= 1_024);
});
