import { deepEqual, rejects } from "node:assert/strict";
import { pods } from "../api/core.ts";
import { unanswered } from "./api_error.ts";
import type { KubeClient, ListOptions, ListPage } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";
import { listAll, listPages } from "./pages.ts";

const never = new AbortController().signal;

/** `count` objects that are refused as too large when more than `fit` are asked for at once. */
function bigObjects(count: number, fit: number) {
  const limits: (number | undefined)[] = [];
  const client: Pick<KubeClient, "list"> = {
    list<T extends KubeObject>(_: Resource<T>, { limit = 0, continue: from = "0" }: ListOptions) {
      limits.push(limit);
      if (limit > fit) {
        const attempt = { verb: "list", resource: "pods", scope: "all namespaces" };
        return Promise.reject(unanswered(attempt, "AnswerTooLarge", { detail: "too much" }));
      }
      const end = Math.min(count, Number(from) + limit);
      const items = Array.from({ length: end - Number(from) }, (_, index) => ({
        metadata: { name: `o${Number(from) + index}` },
      }));
      const page = { items, resourceVersion: "1", ...(end < count && { continue: `${end}` }) };
      return Promise.resolve(page as unknown as ListPage<T>);
    },
  };
  return { client, limits };
}

Deno.test("pages get smaller where their objects are too big, and none is lost", async () => {
  const { client, limits } = bigObjects(20, 9);
  const all = await listAll({ client, what: pods }, { limit: 100 }, never);
  deepEqual(
    all.map(({ metadata }) => metadata.name),
    Array.from({ length: 20 }, (_, i) => `o${i}`),
  );
  deepEqual(limits, [100, 25, 7, 7, 7]);
});

Deno.test("one object that is too big by itself ends the list", async () => {
  const { client, limits } = bigObjects(3, 0);
  await rejects(listAll({ client, what: pods }, { limit: 5 }, never), { reason: "AnswerTooLarge" });
  deepEqual(limits, [5, 2, 1]);
});

/** Two pages, the second of which is held back until it is given or its call is aborted. */
function heldPages() {
  const second = Promise.withResolvers<ListPage<KubeObject>>();
  const asked = { times: 0, aborted: false };
  const client: Pick<KubeClient, "list"> = {
    list<T extends KubeObject>(
      _: Resource<T>,
      { continue: from }: ListOptions,
      signal: AbortSignal,
    ) {
      asked.times++;
      const first = { items: [], resourceVersion: "1", continue: "2" };
      if (from === undefined) return Promise.resolve(first as ListPage<T>);
      signal.addEventListener("abort", () => {
        asked.aborted = true;
        second.reject(signal.reason);
      });
      return second.promise as Promise<ListPage<T>>;
    },
  };
  return { client, asked, second };
}

Deno.test("the next page is asked for while the caller works, and given up with the list", async () => {
  const { client, asked } = heldPages();
  for await (const page of listPages({ client, what: pods }, {}, never)) {
    deepEqual([page.continue, asked.times], ["2", 2]);
    break;
  }
  deepEqual(asked.aborted, true);
});

Deno.test("the failure of a page that is on its way is thrown when its turn comes", async () => {
  const { client, second } = heldPages();
  const reader = listPages({ client, what: pods }, {}, never);
  await reader.next();
  second.reject(new Error("the second page"));
  await second.promise.catch(() => {});
  await rejects(reader.next(), /the second page/);
});
