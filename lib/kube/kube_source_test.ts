import { deepEqual, equal } from "node:assert/strict";
import type { KubeClient, PartsOptions, WatchEvent, WatchOptions } from "./client.ts";
import { kubeSource, withoutManagedFields } from "./kube_source.ts";
import type { ListPart } from "./list_items.ts";
import type { KubeObject, Resource } from "./object.ts";

interface Thing extends KubeObject {
  readonly kept?: boolean;
}
const things: Resource<Thing> = {
  group: "g",
  version: "v1",
  plural: "things",
  kind: "Thing",
  namespaced: true,
};
const never = new AbortController().signal;

const thing = (name: string, resourceVersion: string, kept: boolean): Thing => ({
  metadata: { namespace: "s", name, resourceVersion },
  kept,
});

/** Plays parts of a list and events and notes what it is asked for. */
function playing(parts: ListPart<Thing>[], events: WatchEvent<Thing>[]) {
  const asked: (PartsOptions | WatchOptions)[] = [];
  const client: Pick<KubeClient, "listParts" | "watch"> = {
    async *listParts<T extends KubeObject>(_: Resource<T>, options: PartsOptions) {
      asked.push(options);
      yield* await Promise.resolve(parts as unknown as ListPart<T>[]);
    },
    async *watch<T extends KubeObject>(_: Resource<T>, options: WatchOptions) {
      asked.push(options);
      yield* await Promise.resolve(events as unknown as WatchEvent<T>[]);
    },
  };
  const trim = ({ metadata, kept }: Thing) => kept ? { metadata } : undefined;
  const where = { namespace: "s", fieldSelector: "spec.node=n1" };
  const source = kubeSource(client as KubeClient, things, { ...where, trim });
  return { source, asked, where };
}

Deno.test("a list comes in parts, and only what is kept of each object is handed on", async () => {
  const { source, asked, where } = playing([
    { items: [thing("a", "1", true), thing("b", "2", false)] },
    { items: [thing("c", "3", true)], resourceVersion: "9" },
  ], []);
  deepEqual(await Array.fromAsync(source.list({ resourceVersion: "0" }, never)), [
    { items: [{ metadata: thing("a", "1", true).metadata }] },
    { items: [{ metadata: thing("c", "3", true).metadata }], resourceVersion: "9" },
  ]);
  deepEqual(asked, [{ ...where, resourceVersion: "0" }]);
});

Deno.test("an object that is deleted or no longer of interest is gone, and the version moves on", async () => {
  const { source, asked, where } = playing([], [
    { type: "ADDED", object: thing("a", "10", true) },
    { type: "MODIFIED", object: thing("a", "11", false) },
    { type: "OPENED" },
    { type: "BOOKMARK", resourceVersion: "15" },
    { type: "DELETED", object: thing("b", "16", true) },
  ]);
  const how = { resourceVersion: "9", timeoutSeconds: 300, readDeadlineMs: 75_000 };
  deepEqual(await Array.fromAsync(source.watch(how, never)), [
    { type: "set", object: { metadata: thing("a", "10", true).metadata }, resourceVersion: "10" },
    { type: "gone", key: "s/a", resourceVersion: "11" },
    { type: "opened", resourceVersion: "9" },
    { type: "bookmark", resourceVersion: "15" },
    { type: "gone", key: "s/b", resourceVersion: "16" },
  ]);
  deepEqual(asked, [{ ...where, ...how, opening: "told" }]);
});

Deno.test("a source is named for log lines by what it lists", () => {
  equal(playing([], []).source.name, 'things.g in namespace "s" with spec.node=n1');
});

Deno.test("managedFields are dropped and nothing else", () => {
  const metadata = { name: "a", labels: { x: "1" }, managedFields: [{ manager: "m" }] };
  deepEqual(withoutManagedFields({ metadata, kept: true } as Thing), {
    metadata: { name: "a", labels: { x: "1" } },
    kept: true,
  });
});
