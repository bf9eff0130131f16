import assert from "node:assert/strict";
import { ConfigError } from "../lib/base/error.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import { listenForMetrics } from "./metrics_listener.ts";

Deno.test("metrics are served at their path and nothing elsewhere", async () => {
  await using listener = listenForMetrics(createMetrics(), { hostname: "127.0.0.1", port: 0 });
  const at = `http://127.0.0.1:${listener.addr.port}`;
  const scrape = await fetch(`${at}/metrics`);
  assert.equal(scrape.status, 200);
  assert.match(scrape.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(await scrape.text(), /^process_resident_memory_bytes \d+$/m);
  const other = await fetch(`${at}/debug/pprof`);
  assert.equal(other.status, 404);
  await other.body?.cancel();
});

Deno.test("an address without a host is served on IPv4", async () => {
  await using listener = listenForMetrics(createMetrics(), { hostname: "", port: 0 });
  const scrape = await fetch(`http://127.0.0.1:${listener.addr.port}/metrics`);
  assert.equal(scrape.status, 200);
  await scrape.body?.cancel();
});

for (const hostname of ["127.0.0.1", ""]) {
  Deno.test(`a taken port at "${hostname}" is an error that names the address and the flag`, async () => {
    await using first = listenForMetrics(createMetrics(), { hostname, port: 0 });
    const { port } = first.addr;
    assert.throws(() => listenForMetrics(createMetrics(), { hostname, port }), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, new RegExp(`"${hostname}:${port}".*--metrics-address`));
      return true;
    });
  });
}

Deno.test("a client that does not end its request does not hold up the end", async () => {
  const listener = listenForMetrics(createMetrics(), { hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr;
  using client = await Deno.connect({ hostname, port });
  await client.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\nHost: a\r\n"));
  const scrape = await fetch(`http://${hostname}:${port}/metrics`); // accepted after the client
  await scrape.body?.cancel();
  await listener[Symbol.asyncDispose]();
  assert.equal(await client.read(new Uint8Array(1)), null);
});
