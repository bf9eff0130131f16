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
} from "../../tests/support/kube_answers.ts";
import { type RawAnswer, rawServer } from "../../tests/support/raw_server.ts";
import { isConflict, isNotFound } from "./api_error.ts";
import { listAll, listPages } from "./pages.ts";

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

Deno.test("a name that no object can have rejects, and nothing is sent", async () => {
  await using server = serve(() => Response.json({}));
  await using client = clientFor(server.url);
  const asked = client.get(pods, { namespace: "a", name: "../x" }, never);
  await assert.rejects(asked, isNotFound);
  assert.deepEqual(server.requests, []);
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
