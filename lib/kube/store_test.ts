import { deepEqual, equal, rejects } from "node:assert/strict";
import type { KubeObject, ObjectKey } from "./object.ts";
import { createStore } from "./store.ts";

const object = (name: string, resourceVersion: string): KubeObject => ({
  metadata: { namespace: "s", name, resourceVersion },
});
const key = (name: string) => `s/${name}` as ObjectKey;

Deno.test("a relist answers what was added, changed or removed, and not what stayed", () => {
  const store = createStore<KubeObject>();
  const first = [object("same", "1"), object("changed", "2"), object("removed", "3")];
  deepEqual(store.apply({ type: "reset", objects: first }), first.map((o) => key(o.metadata.name)));
  const second = [object("same", "1"), object("changed", "4"), object("added", "5")];
  deepEqual(
    store.apply({ type: "reset", objects: second }),
    [key("changed"), key("added"), key("removed")],
  );
  deepEqual(store.list(), second);
  equal(store.size, 3);
});

Deno.test("an object made anew under its old name is a change", () => {
  const store = createStore<KubeObject>();
  const made = (uid: string): KubeObject => ({
    metadata: { name: "a", resourceVersion: "1", uid },
  });
  store.apply({ type: "set", object: made("u1") });
  deepEqual(store.apply({ type: "reset", objects: [made("u2")] }), ["a"]);
});

Deno.test("an object without a resourceVersion counts as changed", () => {
  const store = createStore<KubeObject>();
  store.apply({ type: "set", object: { metadata: { name: "a" } } });
  deepEqual(store.apply({ type: "set", object: { metadata: { name: "a" } } }), ["a"]);
});

Deno.test("set and gone answer their key once", () => {
  const store = createStore<KubeObject>();
  deepEqual(store.apply({ type: "set", object: object("a", "1") }), [key("a")]);
  deepEqual(store.apply({ type: "set", object: object("a", "1") }), []);
  equal(store.get(key("a"))?.metadata.resourceVersion, "1");
  deepEqual(store.apply({ type: "gone", key: key("a") }), [key("a")]);
  deepEqual(store.apply({ type: "gone", key: key("a") }), []);
  equal(store.get(key("a")), undefined);
});

Deno.test("a store is synced by the first whole list, not by single objects", async () => {
  const store = createStore<KubeObject>();
  const end = new AbortController();
  const given = store.whenSynced(end.signal);
  end.abort(new Error("enough"));
  await rejects(given, { message: "enough" });
  const wait = store.whenSynced(new AbortController().signal);
  store.apply({ type: "set", object: object("a", "1") });
  equal(store.synced, false);
  deepEqual(store.apply({ type: "reset", objects: [object("a", "1")] }), []);
  equal(store.synced, true);
  await wait;
});
