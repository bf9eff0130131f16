import assert from "node:assert/strict";
import { createMetrics } from "./metrics.ts";

Deno.test("a scrape shows counters, gauges, histograms and what is sampled at that moment", async () => {
  const metrics = createMetrics();
  let waiting = 3;
  metrics.counter({ name: "c_total", help: "c", labels: ["node"] }).add({ node: "n1" }, 0);
  metrics.gauge({ name: "g", help: "g" }).set({}, 4);
  metrics.histogram({ name: "h", help: "h", buckets: [1, 10] }).observe({}, 2.5);
  metrics.sampled({
    name: "s",
    help: "s",
    labels: ["state"],
    sample: () => [[{ state: "w" }, waiting]],
  });
  waiting = 5;
  const { text } = await metrics.render();
  assert.match(text, /^c_total\{node="n1"\} 0$/m);
  assert.match(text, /^g 4$/m);
  assert.match(text, /^h_bucket\{le="10"\} 1$/m);
  assert.match(text, /^h_sum 2.5$/m);
  assert.match(text, /^s\{state="w"\} 5$/m);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
});

Deno.test("a histogram made zero shows all its buckets, and counts from there", async () => {
  const metrics = createMetrics();
  const options = { name: "h", help: "h", labels: ["kind"], buckets: [1, 10] };
  const histogram = metrics.histogram(options);
  histogram.zero({ kind: "a" });
  const before = (await metrics.render()).text;
  assert.match(before, /^h_bucket\{le="10",kind="a"\} 0$/m);
  assert.match(before, /^h_count\{kind="a"\} 0$/m);
  histogram.observe({ kind: "a" }, 0.25);
  const after = (await metrics.render()).text;
  assert.match(after, /^h_sum\{kind="a"\} 0.25$/m);
  assert.equal(after.split("\n").length, before.split("\n").length);
});

Deno.test("a sampled series that is no longer given is gone", async () => {
  const metrics = createMetrics();
  const states = new Set(["a", "b"]);
  metrics.sampled({
    name: "s",
    help: "s",
    labels: ["state"],
    sample: () => [...states].map((state) => [{ state }, 1] as const),
  });
  await metrics.render();
  states.delete("a");
  assert.doesNotMatch((await metrics.render()).text, /state="a"/);
});
