import assert from "node:assert/strict";
import { makeAuthority } from "../../tests/support/pki.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { messageOf } from "../base/error.ts";
import { ApiError } from "./api_error.ts";
import { type ClientOptions, createClient } from "./client.ts";
import type { Connection } from "./connection.ts";
import type { KubeObject, Resource } from "./object.ts";

const never = new AbortController().signal;
const nodes: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};
const node = { metadata: { name: "n" } };
const watching = { resourceVersion: "1", timeoutSeconds: 60, readDeadlineMs: 20_000 };

interface Caller {
  readonly request: Request;
  /** The client's. */
  readonly port: number;
  readonly nth: number;
}

/** HTTP/2 and 1.1 over TLS, with a certificate for 127.0.0.1 and "kubernetes". */
async function secureServer(handler: (caller: Caller) => Response | Promise<Response>) {
  const folder = tempFolder("tls");
  const authority = await makeAuthority(folder.path);
  const { certFile, keyFile } = await authority.issue("serving", {
    subject: "/CN=server",
    extensions: ["subjectAltName=IP:127.0.0.1,DNS:kubernetes", "extendedKeyUsage=serverAuth"],
  });
  let nth = 0;
  const server = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    cert: await Deno.readTextFile(certFile),
    key: await Deno.readTextFile(keyFile),
    onListen() {},
  }, (request, { remoteAddr: { port } }) => handler({ request, port, nth: nth++ }));
  return {
    port: server.addr.port,
    ca: await Deno.readTextFile(authority.caFile),
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
      await server.shutdown();
    },
  };
}

type Tls = Partial<Pick<Connection, "ca" | "insecure" | "tlsServerName">>;

function clientFor(
  { port }: { readonly port: number },
  tls: Tls,
  options: Partial<ClientOptions> = {},
) {
  const connection: Connection = {
    server: `https://127.0.0.1:${port}`,
    namespace: "d",
    source: "the test",
    credentials: { type: "none" },
    ...tls,
  };
  return createClient(connection, { userAgent: "test", retryFirstMs: 1, ...options });
}

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert.ok(error instanceof ApiError, `${error}`);
  return error;
}

Deno.test("after a call without an answer the next one has a new connection", async () => {
  const seen: { readonly path: string; readonly port: number }[] = [];
  const silent = Promise.withResolvers<Response>();
  await using server = await secureServer(({ request, port }) => {
    const path = new URL(request.url).pathname;
    const isFirst = !seen.some((one) => one.path === path);
    seen.push({ path, port });
    return isFirst && path.endsWith("silent") ? silent.promise : Response.json(node);
  });
  await using client = clientFor(server, { ca: server.ca }, { requestDeadlineMs: 300, retries: 1 });
  await client.get(nodes, { name: "before" }, never);
  assert.deepEqual(await client.get(nodes, { name: "silent" }, never), node);
  await client.get(nodes, { name: "after" }, never);
  silent.resolve(Response.json(node));
  const [unanswered, repeated, after] = seen.filter(({ path }) => !path.endsWith("before"));
  assert.equal(seen.findLast(({ path }) => path.endsWith("before"))?.port, unanswered?.port);
  assert.notEqual(repeated?.port, unanswered?.port);
  assert.equal(after?.port, repeated?.port);
});

Deno.test("calls share one HTTP/2 connection, each watch has one of its own", async () => {
  const calls = new Set<number>();
  const watches = new Set<number>();
  await using server = await secureServer(({ request, port }) => {
    const isWatch = request.url.includes("watch=true");
    (isWatch ? watches : calls).add(port);
    return isWatch ? new Response(new ReadableStream({ start: startEvents })) : Response.json(node);
  });
  await using client = clientFor(server, { ca: server.ca });
  const streams = [1, 2, 3].map(() => client.watch(nodes, watching, never));
  for (const stream of streams) await stream.next();
  const gets = Array.from({ length: 20 }, () => client.get(nodes, { name: "n" }, never));
  await Promise.all(gets);
  assert.equal(watches.size, 3);
  assert.equal(calls.size, 1);
  for (const stream of streams) await stream.return(undefined);
});

function startEvents(controller: ReadableStreamDefaultController<Uint8Array>) {
  const event = JSON.stringify({ type: "ADDED", object: node });
  controller.enqueue(new TextEncoder().encode(`${event}\n`));
}

const trusting = [
  ["the authority", (ca: string) => ({ ca })],
  ["tls-server-name", (ca: string) => ({ ca, tlsServerName: "kubernetes" })],
  ["insecure-skip-tls-verify", () => ({ insecure: true })],
  ["both of these", () => ({ insecure: true, tlsServerName: "wrong" })],
] as const;

for (const [name, tls] of trusting) {
  Deno.test(`with ${name} calls work, and a watch ends on abort`, async () => {
    await using server = await secureServer(async ({ request }) => {
      if (request.url.includes("watch=true")) {
        return new Response(new ReadableStream({ start: startEvents }));
      }
      return Response.json(request.method === "GET" ? node : await request.json());
    });
    await using client = clientFor(server, tls(server.ca));
    assert.deepEqual(await client.get(nodes, { name: "n" }, never), node);
    const made: KubeObject = await client.create(nodes, node, never);
    assert.equal(made.kind, "Node");
    const abort = new AbortController();
    const watch = client.watch(nodes, watching, abort.signal);
    assert.deepEqual((await watch.next()).value, { type: "ADDED", object: node });
    const next = watch.next();
    abort.abort(new Error("enough"));
    await assert.rejects(next, /^Error: enough$/);
  });
}

Deno.test("with own TLS rules a silent call ends at its deadline and the next one works", async () => {
  const silent = Promise.withResolvers<Response>();
  await using server = await secureServer(({ nth }) =>
    nth === 0 ? silent.promise : Response.json(node)
  );
  await using client = clientFor(server, { insecure: true }, {
    requestDeadlineMs: 300,
    retries: 0,
  });
  assert.equal((await errorOf(client.get(nodes, { name: "n" }, never))).reason, "Timeout");
  assert.deepEqual(await client.get(nodes, { name: "n" }, never), node);
  silent.resolve(Response.json(node));
});

const refusing = [
  [
    "an unknown authority",
    () => ({}),
    /UnknownIssuer.*signed by an authority that the test does not/,
  ],
  [
    "another name",
    (ca: string) => ({ ca, tlsServerName: "other" }),
    /not valid for name "other".*set tls-server-name in the test/,
  ],
  ["a name, but no authority", () => ({ tlsServerName: "kubernetes" }), /UnknownIssuer/],
] as const;

for (const [name, tls, expected] of refusing) {
  Deno.test(`${name} is refused at once, with the cause`, async () => {
    let asked = 0;
    await using server = await secureServer(() => Response.json({ ...node, asked: asked++ }));
    await using client = clientFor(server, tls(server.ca));
    const error = await errorOf(client.get(nodes, { name: "n" }, never));
    assert.equal(error.reason, "CertificateInvalid");
    assert.match(error.message, expected);
    assert.equal(asked, 0);
  });
}

Deno.test("with own TLS rules nobody listening is said to be so", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await using client = clientFor({ port }, { insecure: true }, { retries: 0 });
  const error = await errorOf(client.get(nodes, { name: "n" }, never));
  assert.equal(error.reason, "Unreachable");
  assert.match(error.message, /no connection to https:\/\/127\.0\.0\.1:\d+ \(.*ECONNREFUSED/);
});

Deno.test("texts that are no certificates are said to be so before anything is sent", async () => {
  const ca = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
  await using client = clientFor({ port: 1 }, { ca }, { retries: 0 });
  const error = await errorOf(client.get(nodes, { name: "n" }, never));
  assert.equal(error.reason, "CredentialsUnavailable");
  assert.match(`${messageOf(error)}`, /Cannot use the certificates of the test: .*whole PEM texts/);
});
