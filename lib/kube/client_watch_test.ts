import assert from "node:assert/strict";
import {
  all,
  clientFor,
  errorOf,
  http,
  name,
  never,
  pod,
  pods,
  repetitions,
  serve,
  watching,
} from "../../tests/support/kube_answers.ts";
import { type RawAnswer, rawServer } from "../../tests/support/raw_server.ts";
import { isGone } from "./api_error.ts";
import type { WatchEvent } from "./client.ts";
import type { KubeObject } from "./object.ts";

const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

Deno.test("a watch gives objects and bookmarks and ends with the stream", async () => {
  await using server = serve(() =>
    new Response(
      line("ADDED", pod) + line("BOOKMARK", { metadata: { resourceVersion: "9" } }) +
        line("UNKNOWN", {}) + line("DELETED", pod),
    )
  );
  await using client = clientFor(server.url);
  const events: WatchEvent<KubeObject>[] = await all(client.watch(pods, watching, never));
  assert.deepEqual(events, [
    { type: "ADDED", object: pod },
    { type: "BOOKMARK", resourceVersion: "9" },
    { type: "DELETED", object: pod },
  ]);
  const query = new URL(server.requests[0]?.url ?? "").searchParams;
  assert.deepEqual(Object.fromEntries(query), {
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "1",
    timeoutSeconds: "60",
  });
});

Deno.test("a watch tells when the server has begun to answer, where that is asked for", async () => {
  await using server = serve(() => new Response(line("ADDED", pod)));
  await using client = clientFor(server.url);
  const events = client.watch(pods, { ...watching, opening: "told" }, never);
  assert.deepEqual(await all(events), [{ type: "OPENED" }, { type: "ADDED", object: pod }]);
});

Deno.test("an ERROR event is thrown as what it says, and a watch is never repeated", async () => {
  const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
  await using server = serve((_, nth) =>
    nth === 0 ? new Response(line("ERROR", expired)) : new Response("", { status: 500 })
  );
  await using client = clientFor(server.url);
  const error = await errorOf(all(client.watch(pods, watching, never)));
  assert.ok(isGone(error));
  assert.match(error.message, /Cannot watch pods in all namespaces: 410 Expired: too old/);
  assert.equal((await errorOf(all(client.watch(pods, watching, never)))).status, 500);
  assert.equal(server.requests.length, 2);
});

Deno.test("a silent watch ends with a TimeoutError, a cut one with ConnectionLost", async () => {
  const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  await using server = rawServer(async ({ nth }, write) => {
    await write(head);
    return nth === 0 ? "keep" : "close";
  });
  await using client = clientFor(server.url);
  const silent = all(client.watch(pods, { ...watching, readDeadlineMs: 30 }, never));
  await assert.rejects(silent, { name: "TimeoutError" });
  assert.equal((await errorOf(all(client.watch(pods, watching, never)))).reason, "ConnectionLost");
});

Deno.test("an event over the limit and one that is no JSON end the watch in words", async () => {
  await using server = serve((_, nth) => new Response(nth === 0 ? "x".repeat(200) : "{]\n"));
  await using client = clientFor(server.url, { lineLimitBytes: 100 });
  const tooLarge = await errorOf(all(client.watch(pods, watching, never)));
  assert.match(tooLarge.message, /an event has more than 100 bytes/);
  const invalid = await errorOf(all(client.watch(pods, watching, never)));
  assert.equal(invalid.reason, "InvalidAnswer");
});

/** A server whose watches never end by themselves. */
const endless: RawAnswer = async (_, write) => {
  const event = line("ADDED", pod);
  const size = event.length.toString(16);
  await write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${event}\r\n`);
  return "keep";
};

async function until(condition: () => boolean) {
  while (!condition()) await new Promise((done) => setTimeout(done, 1));
}

Deno.test("an aborted watch throws the reason and frees its socket; so does leaving it", async () => {
  await using server = rawServer(endless);
  await using client = clientFor(server.url);
  const abort = new AbortController();
  const aborted = (async () => {
    for await (const _ of client.watch(pods, watching, abort.signal)) {
      setTimeout(() => abort.abort(new Error("enough")), 1);
    }
  })();
  await assert.rejects(aborted, /^Error: enough$/);
  for await (const _ of client.watch(pods, watching, never)) break;
  await until(() => server.openConnections() === 0);
});

Deno.test("disposing the client ends its watches and waits and closes all sockets", async () => {
  await using server = rawServer(async (request, write) => {
    if (request.head.includes("watch=true")) return await endless(request, write);
    if (request.head.includes("/pods/p ")) await write(http(pod));
    else await write("HTTP/1.1 429 X\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n");
    return "keep";
  });
  const { log, repeating } = repetitions();
  const client = clientFor(server.url, { log });
  await client.get(pods, name, never);
  const events = client.watch(pods, watching, never);
  await events.next();
  const watched = errorOf(events.next());
  const waiting = errorOf(client.list(pods, {}, never));
  await repeating;
  await client[Symbol.asyncDispose]();
  assert.equal((await watched).reason, "ClientClosed");
  assert.equal((await waiting).reason, "ClientClosed");
  assert.equal((await errorOf(client.get(pods, name, never))).reason, "ClientClosed");
  await until(() => server.openConnections() === 0);
});
