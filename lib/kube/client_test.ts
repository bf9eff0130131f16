import assert from "node:assert/strict";
import { type RawAnswer, rawServer } from "../../tests/support/raw_server.ts";
import { ApiError, isConflict, isGone, isNotFound } from "./api_error.ts";
import { type ClientOptions, createClient, type KubeClient, type WatchEvent } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";
import { listAll, listPages } from "./pages.ts";

const never = new AbortController().signal;
const pods: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};
const pod = { metadata: { namespace: "a", name: "p", resourceVersion: "7" } };
const name = { namespace: "a", name: "p" };
const watching = { resourceVersion: "1", timeoutSeconds: 60, readDeadlineMs: 20_000 };

function clientFor(server: string, options: Partial<ClientOptions> = {}): KubeClient {
  return createClient(
    { server, namespace: "d", source: "the test", credentials: { type: "none" } },
    { userAgent: "longshore-test", retryFirstMs: 1, ...options },
  );
}

type Handler = (request: Request, nth: number) => Response | Promise<Response>;

function serve(handler: Handler) {
  const requests: { readonly url: string }[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, onError: () => new Response(null) },
    (request) => handler(request, requests.push({ url: request.url }) - 1),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const http = (json: unknown, headers = "") => {
  const body = JSON.stringify(json);
  const length = new TextEncoder().encode(body).length;
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}` +
    `Content-Length: ${length}\r\n\r\n${body}`;
};

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert.ok(error instanceof ApiError, `${error}`);
  return error;
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

Deno.test("each verb sends its method, path, type and body", async () => {
  const seen: string[] = [];
  await using server = serve(async (request) => {
    const { pathname, search } = new URL(request.url);
    const type = request.headers.get("content-type") ?? "-";
    seen.push(`${request.method} ${pathname}${search} ${type} ${await request.text()}`.trim());
    assert.equal(request.headers.get("user-agent"), "longshore-test");
    return Response.json({ ...pod, items: [], metadata: { ...pod.metadata, continue: "" } });
  });
  await using client = clientFor(server.url);
  await client.get(pods, name, never);
  await client.list(pods, { namespace: "a", labelSelector: "x=y", limit: 2 }, never);
  await client.create(pods, { metadata: { ...name } }, never);
  await client.update(pods, pod, never);
  await client.patch(pods, { ...name, subresource: "status", body: { status: {} } }, never);
  await client.delete(pods, { ...name, uid: "u" }, never);
  await client.podLogs({ ...name, container: "c", tailLines: 3 }, never);
  assert.deepEqual(seen, [
    "GET /api/v1/namespaces/a/pods/p -",
    "GET /api/v1/namespaces/a/pods?labelSelector=x%3Dy&limit=2 -",
    'POST /api/v1/namespaces/a/pods application/json {"metadata":{"namespace":"a","name":"p"},' +
    '"apiVersion":"v1","kind":"Pod"}',
    'PUT /api/v1/namespaces/a/pods/p application/json {"metadata":{"namespace":"a","name":"p",' +
    '"resourceVersion":"7"},"apiVersion":"v1","kind":"Pod"}',
    'PATCH /api/v1/namespaces/a/pods/p/status application/merge-patch+json {"status":{}}',
    'DELETE /api/v1/namespaces/a/pods/p application/json {"apiVersion":"v1",' +
    '"kind":"DeleteOptions","preconditions":{"uid":"u"}}',
    "GET /api/v1/namespaces/a/pods/p/log?container=c&tailLines=3 -",
  ]);
});

Deno.test("429 and 503 are waited out, with Retry-After also for a create", async () => {
  const retryLater = { status: 429, headers: { "retry-after": "0" } };
  await using server = serve((_, nth) =>
    nth < 2 ? new Response("slow down", retryLater) : Response.json(pod)
  );
  await using client = clientFor(server.url);
  assert.deepEqual(await client.create(pods, pod, never), pod);
  assert.equal(server.requests.length, 3);
});

Deno.test("a server error is repeated for reads and guarded writes, not for others", async () => {
  await using server = serve((_, nth) =>
    nth % 2 === 0 ? new Response("", { status: 503 }) : Response.json(pod)
  );
  await using client = clientFor(server.url);
  await client.get(pods, name, never);
  await client.update(pods, pod, never);
  await client.patch(pods, { ...name, body: { metadata: { resourceVersion: "7" } } }, never);
  await client.delete(pods, name, never);
  assert.equal(server.requests.length, 8);
  const unguarded = [
    () => client.create(pods, pod, never),
    () => client.patch(pods, { ...name, body: {} }, never),
    () => client.update(pods, { metadata: name }, never),
  ];
  for (const write of unguarded) {
    const before = server.requests.length;
    if (before % 2 === 1) await client.get(pods, name, never);
    assert.equal((await errorOf(write())).status, 503);
  }
});

Deno.test("tries are bounded and can be switched off", async () => {
  await using server = serve(() => new Response("", { status: 500 }));
  await using client = clientFor(server.url);
  assert.equal((await errorOf(client.get(pods, name, never))).status, 500);
  assert.equal(server.requests.length, 5);
  await using once = clientFor(server.url, { retries: 0 });
  await errorOf(once.get(pods, name, never));
  assert.equal(server.requests.length, 6);
});

/** Resolves when a call is about to be repeated. */
function repetitions() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ignore = () => {};
  const debug = (sentence: string) => void (sentence.includes("is repeated") && resolve());
  return { log: { debug, info: ignore, warn: ignore, error: ignore }, repeating: promise };
}

Deno.test("an abort ends the wait between tries", async () => {
  await using server = serve(() =>
    new Response("", { status: 429, headers: { "retry-after": "30" } })
  );
  const { log, repeating } = repetitions();
  await using client = clientFor(server.url, { log });
  const abort = new AbortController();
  const waiting = client.get(pods, name, abort.signal);
  await repeating;
  abort.abort(new Error("enough"));
  await assert.rejects(waiting, /^Error: enough$/);
});

Deno.test("a delete whose first answer was lost is done when the object is gone", async () => {
  await using server = rawServer(async ({ nth }, write) => {
    if (nth > 0) await write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    return nth > 0 ? "keep" : "close";
  });
  await using client = clientFor(server.url);
  await client.delete(pods, name, never);
  assert.equal(server.requests.length, 2);
  assert.ok(isNotFound(await errorOf(client.delete(pods, name, never))));
});

const chunked = (json: unknown) => {
  const body = JSON.stringify(json);
  const half = body.length >> 1;
  const part = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
    `${part(body.slice(0, half))}${part(body.slice(half))}0\r\n\r\n`;
};
// Without a length the end of the connection is the end of the answer.
const unmeasured = (json: unknown) => `HTTP/1.1 200 OK\r\n\r\n${JSON.stringify(json)}`;

for (
  const [form, text] of Object.entries({
    "with a length": http(pod),
    "in chunks": chunked(pod),
    "without a length": unmeasured(pod),
  })
) {
  Deno.test(`an answer ${form}, cut after any byte, is asked for again and never half taken`, async () => {
    let cut = 0;
    const answer: RawAnswer = async ({ nth }, write) => {
      await write(nth % 2 === 0 ? text.slice(0, cut) : text);
      return "close";
    };
    await using server = rawServer(answer);
    await using client = clientFor(server.url, { retries: 1 });
    for (; cut < text.length; cut++) {
      assert.deepEqual(await client.get(pods, name, never), pod, `cut after ${cut}`);
      if (server.requests.length % 2 === 1) break; // all of the object came before the cut
      assert.equal(server.requests.length, 2 * (cut + 1), `cut after ${cut}`);
    }
    assert.ok(cut >= text.lastIndexOf("}"), `no cut seen from ${cut} on`);
  });
}

Deno.test("an unguarded write whose answer was cut is sent once and its loss reported", async () => {
  const text = http(pod);
  for (let cut = 0; cut < text.length; cut += 7) {
    await using server = rawServer(async (_, write) => {
      await write(text.slice(0, cut));
      return "close";
    });
    await using client = clientFor(server.url);
    const error = await errorOf(client.create(pods, pod, never));
    assert.deepEqual([error.status, error.reason], [0, "ConnectionLost"], `cut after ${cut}`);
    assert.match(error.message, /^Cannot create pods "p" in namespace "a": .*http:\/\/127/);
    assert.equal(server.requests.length, 1, `cut after ${cut}`);
  }
});

Deno.test("a guarded patch that was done and lost its answer meets its own conflict", async () => {
  await using server = serve((_, nth) => {
    if (nth === 0) return new Response(new ReadableStream({ start: (s) => s.error(new Error()) }));
    return Response.json({ kind: "Status", reason: "Conflict", code: 409 }, { status: 409 });
  });
  await using client = clientFor(server.url);
  const patch = { ...name, body: { metadata: { resourceVersion: "7" } } };
  assert.ok(isConflict(await errorOf(client.patch(pods, patch, never))));
  assert.equal(server.requests.length, 2);
});

Deno.test("connections that the server closes between calls are no error for reads", async () => {
  await using server = rawServer(async (_, write) => {
    await write(http(pod));
    return "close";
  });
  await using client = clientFor(server.url);
  for (let i = 0; i < 30; i++) assert.deepEqual(await client.get(pods, name, never), pod);
});

Deno.test("silence before or within an answer is a Timeout, then a new connection is used", async () => {
  for (const started of ["", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"]) {
    await using server = rawServer(async ({ nth }, write) => {
      await write(nth === 0 || nth > 1 ? started : http(pod));
      return "keep";
    });
    await using client = clientFor(server.url, { requestDeadlineMs: 150 });
    assert.deepEqual(await client.get(pods, name, never), pod);
    const error = await errorOf(client.create(pods, pod, never));
    assert.deepEqual([error.status, error.reason], [0, "Timeout"]);
    assert.match(error.message, /sent nothing for 0.15 s\. Check the network/);
    assert.equal(server.requests.length, 3);
  }
});

Deno.test("nobody listening: the address, the cause and what to check", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  await using client = clientFor(url, { retries: 1 });
  const error = await errorOf(client.create(pods, pod, never));
  assert.equal(error.reason, "Unreachable");
  assert.ok(error.message.includes(`no connection to ${url} (`), error.message);
  assert.match(error.message, /Connection refused.*Check that the address in the test is right/);
});

Deno.test("an answer that is no JSON and one that is too large are refused in words", async () => {
  await using server = serve((_, nth) => new Response(nth === 0 ? "<html>" : "x".repeat(2_000)));
  await using client = clientFor(server.url, { retries: 0, answerLimitBytes: 1_000 });
  assert.equal((await errorOf(client.get(pods, name, never))).reason, "InvalidAnswer");
  const error = await errorOf(client.list(pods, {}, never));
  assert.match(
    error.message,
    /Cannot list pods in all namespaces: the answer has more than 1000 bytes/,
  );
});

Deno.test("a redirect is not followed", async () => {
  await using server = serve(() => Response.redirect("http://127.0.0.1:1/login", 302));
  await using client = clientFor(server.url);
  const error = await errorOf(client.get(pods, name, never));
  assert.match(error.message, /302 .*redirects instead of an API server/);
  assert.equal(server.requests.length, 1);
});

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

Deno.test("pages follow the continue token, without the first resourceVersion", async () => {
  await using server = serve((request) => {
    const { searchParams } = new URL(request.url);
    const at = Number(searchParams.get("continue") ?? 0);
    assert.equal(searchParams.get("resourceVersion"), at === 0 ? "0" : null);
    assert.equal(searchParams.get("limit"), "1");
    const metadata = { resourceVersion: "5", ...(at < 2 ? { continue: `${at + 1}` } : {}) };
    return Response.json({ metadata, items: [{ metadata: { name: `p${at}` } }] });
  });
  await using client = clientFor(server.url);
  const from = { client, what: pods };
  const options = { namespace: "a", limit: 1, resourceVersion: "0" };
  const pages = await all(listPages(from, options, never));
  assert.deepEqual(pages.map((page) => page.resourceVersion), ["5", "5", "5"]);
  const names = (await listAll(from, options, never)).map((object) => object.metadata.name);
  assert.deepEqual(names, ["p0", "p1", "p2"]);
});
