import { deepEqual, ok, rejects } from "node:assert/strict";
import { seededRandom } from "../../tests/support/random.ts";
import { startWatchServer } from "../../tests/support/watch_server.ts";
import { orAbort } from "../base/abort.ts";
import { ApiError } from "./api_error.ts";
import { createClient } from "./client.ts";
import { kubeSource, withoutManagedFields } from "./kube_source.ts";
import { keyOf, type KubeObject, type ObjectKey, type Resource } from "./object.ts";
import { createStore } from "./store.ts";
import { watchForever } from "./watch.ts";
import type { SourceEvent, WatchSource } from "./watch_source.ts";

const configMaps: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const retry = { firstMs: 0, maxMs: 0 };

function sorted(objects: Iterable<KubeObject>): KubeObject[] {
  return [...objects].sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
}

/**
 * Each answer is cut one byte later than the one before; no change comes twice, so that a lost one
 * would be missing at the end.
 */
async function cutEveryByte(what: "list" | "watch", bytes: number) {
  await using server = startWatchServer();
  await using client = createClient(
    { server: server.url, namespace: "s", source: "the test", credentials: { type: "none" } },
    { userAgent: "test", retries: 0 },
  );
  const calm = Promise.withResolvers<void>();
  let [written, cutAfter, isCut] = [0, 0, false];
  const write = () => {
    server.set(`object-${++written}`, "é\u{1F6A2}");
    server.set(`object-${++written}`, "second");
    if (written > 8) server.remove(`object-${written - 6}`);
  };
  server.trouble = (asked) => {
    if (cutAfter > bytes) {
      if (asked === "watch") calm.resolve();
      return undefined;
    }
    write();
    if (what === "watch") return asked === "watch" ? { cutAfter: cutAfter++ } : undefined;
    // Each watch is too late, so that there is a list to cut; every second list comes whole.
    if (asked === "watch") server.forget();
    else isCut = !isCut;
    return asked === "list" && isCut ? { cutAfter: cutAfter++ } : undefined;
  };
  server.set("first", "1");
  const source = kubeSource(client, configMaps, { namespace: "s", trim: withoutManagedFields });
  const store = createStore<KubeObject>();
  const end = new AbortController();
  const seen = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const change of watchForever(source, end.signal, { retry })) {
      store.apply(change);
      if (store.get("s/last" as ObjectKey)) seen.resolve();
    }
  })();
  await Promise.race([calm.promise, following]);
  server.set("last", "1");
  await Promise.race([seen.promise, following]);
  end.abort(new Error("enough"));
  await rejects(following, { message: "enough" });
  ok(cutAfter > bytes);
  deepEqual(sorted(store.list()), sorted(server.objects()));
}

Deno.test("a watch cut between any two bytes loses no change", async () => {
  await cutEveryByte("watch", 520);
});

Deno.test("a list cut between any two bytes loses no object", async () => {
  await cutEveryByte("list", 400);
});

Deno.test("wherever a stream is cut, the store ends as without a cut", async () => {
  for (let seed = 1; seed <= 25; seed++) await followCutStreams(seed);
});

const gone = () =>
  new ApiError({
    status: 410,
    reason: "Expired",
    verb: "watch",
    resource: "things",
    scope: "the cluster",
    detail: "410 Expired",
  });
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

/** A server with a history, cutting and forgetting by chance. */
async function followCutStreams(seed: number) {
  const random = seededRandom(seed);
  const names = ["a", "b", "c", "d", "e"];
  const server = new Map<ObjectKey, KubeObject>();
  const history: SourceEvent<KubeObject>[] = [];
  let version = 100;
  let oldest = 100;
  const write = () => {
    const name = names[random(names.length)]!;
    version++;
    const key = name as ObjectKey;
    if (random(3) === 0 && server.delete(key)) {
      history.push({ type: "gone", key, resourceVersion: String(version) });
    } else {
      server.set(key, object(name, version));
      history.push(set(name, version));
    }
    if (random(10) === 0) oldest = version - random(3);
  };
  const calm = Promise.withResolvers<void>();
  let trouble = 25;
  const maybeCut = () => {
    if (trouble === 0 || random(4) > 0) return;
    trouble--;
    throw random(5) === 0 ? gone() : new TypeError("error reading a body from connection");
  };
  const source: WatchSource<KubeObject> = {
    name: "things",
    async *list() {
      const all = [...server.values()];
      const resourceVersion = String(version);
      for (let at = 0; at === 0 || at < all.length; at += 2) {
        maybeCut();
        yield { items: all.slice(at, at + 2), resourceVersion };
        if (random(2) === 0) write();
      }
    },
    async *watch({ resourceVersion }, signal) {
      let at = Number(resourceVersion);
      if (at < oldest) throw gone();
      while (trouble > 0 || at < version) {
        maybeCut();
        const event = history.find((event) => Number(event.resourceVersion) > at);
        if (event === undefined) {
          if (random(6) === 0) return;
          if (random(3) === 0) yield bookmark(version);
          write();
          continue;
        }
        at = Number(event.resourceVersion);
        yield event;
      }
      calm.resolve();
      await orAbort(new Promise<never>(() => {}), signal);
    },
  };
  for (let writes = 0; writes < 8; writes++) write();
  const store = createStore<KubeObject>();
  const end = new AbortController();
  const following = (async () => {
    for await (const change of watchForever(source, end.signal, { retry })) store.apply(change);
  })();
  await Promise.race([calm.promise, following]);
  end.abort(new Error("enough"));
  await rejects(following, { message: "enough" });
  deepEqual(sorted(store.list()), sorted(server.values()), `seed ${seed}`);
}
