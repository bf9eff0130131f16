import assert from "node:assert/strict";
import { ConfigError } from "../lib/base/error.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import { newPulse } from "../lib/kube/pulse.ts";
import { addWatch, type Watches } from "./health.ts";
import { listenForMetrics } from "./metrics_listener.ts";

function pages() {
  const watches: Watches = new Map();
  const intake = new AbortController();
  const heart = { pulse: newPulse(), take: () => Promise.resolve() };
  return { metrics: createMetrics(), vitals: { watches, heart, intake: intake.signal } };
}

Deno.test("metrics are served at their path and nothing elsewhere", async () => {
  await using listener = listenForMetrics(pages(), { hostname: "127.0.0.1", port: 0 });
  const at = `http://127.0.0.1:${listener.addr.port}`;
  const scrape = await fetch(`${at}/metrics`);
  assert.equal(scrape.status, 200);
  assert.match(scrape.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(await scrape.text(), /^process_resident_memory_bytes \d+$/m);
  const other = await fetch(`${at}/debug/pprof`);
  assert.equal(other.status, 404);
  await other.body?.cancel();
});

Deno.test("the health of the agent is served, in short and line by line", async () => {
  const served = pages();
  await using listener = listenForMetrics(served, { hostname: "127.0.0.1", port: 0 });
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${listener.addr.port}${path}`);
    return [answer.status, await answer.text()] as const;
  };
  assert.deepEqual(await get("/healthz"), [200, "ok"]);
  const health = addWatch(served.vitals.watches, "pods");
  const [status, text] = await get("/readyz");
  assert.equal(status, 503);
  assert.match(text, /^\[-\]watch-pods failed: its first list is not done$/m);
  Object.assign(health, { listed: true, connected: true, lastActivityMs: Date.now() });
  assert.deepEqual(await get("/readyz"), [200, "ok"]);
  assert.match((await get("/readyz?verbose"))[1], /^\[\+\]watch-pods ok: heard 0\.\d s ago$/m);
});

Deno.test("a request for a host that is none is refused", async () => {
  await using listener = listenForMetrics(pages(), { hostname: "127.0.0.1", port: 0 });
  using client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  await client.write(new TextEncoder().encode("GET /healthz HTTP/1.1\r\nHost: [\r\n\r\n"));
  const answer = new Uint8Array(12);
  await client.read(answer);
  assert.equal(new TextDecoder().decode(answer), "HTTP/1.1 400");
});

Deno.test("an address without a host is served on IPv4", async () => {
  await using listener = listenForMetrics(pages(), { hostname: "", port: 0 });
  const scrape = await fetch(`http://127.0.0.1:${listener.addr.port}/metrics`);
  assert.equal(scrape.status, 200);
  await scrape.body?.cancel();
});

for (const hostname of ["127.0.0.1", ""]) {
  Deno.test(`a taken port at "${hostname}" is an error that names the address and the flag`, async () => {
    await using first = listenForMetrics(pages(), { hostname, port: 0 });
    const { port } = first.addr;
    assert.throws(() => listenForMetrics(pages(), { hostname, port }), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, new RegExp(`"${hostname}:${port}".*--metrics-address`));
      return true;
    });
  });
}

Deno.test("a client that does not end its request does not hold up the end", async () => {
  const listener = listenForMetrics(pages(), { hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr;
  using client = await Deno.connect({ hostname, port });
  await client.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\nHost: a\r\n"));
  const scrape = await fetch(`http://${hostname}:${port}/metrics`); // accepted after the client
  await scrape.body?.cancel();
  await listener[Symbol.asyncDispose]();
  assert.equal(await client.read(new Uint8Array(1)), null);
});
