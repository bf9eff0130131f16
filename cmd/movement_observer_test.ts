import assert from "node:assert/strict";
import { createMetrics } from "../lib/base/metrics.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../lib/api/pod_volume_restore.ts";
import type { EventText, Recorder } from "../lib/kube/events.ts";
import type { Resource } from "../lib/kube/object.ts";
import type { Movable } from "../lib/movement/kind.ts";
import type { End } from "../lib/movement/run.ts";
import { movementMetrics } from "./movement_metrics.ts";
import { movementObserver } from "./movement_observer.ts";

const spec = { backupStorageLocation: "default", pod: { namespace: "app" }, uploaderType: "kopia" };
const object: Movable = {
  metadata: { name: "b1", namespace: "velero", uid: "u1" },
  spec: spec as object,
};
/** All series of a scrape, without their values. */
function seriesOf(scrape: string): string[] {
  return scrape.split("\n").filter((line) => !line.startsWith("#"))
    .map((line) => line.replace(/ \S+$/, ""));
}

const completed = { phase: "Completed", sizeBytes: 50 } as const;

function observed(
  resource: Resource<Movable>,
  { legacy = false }: { legacy?: boolean } = {},
) {
  const metrics = createMetrics();
  const events: EventText[] = [];
  const recorder: Recorder = {
    event: (_, text) => void events.push(text),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const ofMovements = movementMetrics(metrics, {
    ...{ node: "n1", namespace: "velero", legacy },
    kinds: [podVolumeBackups.kind, podVolumeRestores.kind],
  });
  const observer = movementObserver({
    ...{ metrics: ofMovements, recorder, resource, node: "n1" },
  });
  return { observer, events, text: async () => (await metrics.render()).text };
}

Deno.test("every counter stands at 0 before the first movement", async () => {
  const { text } = observed(podVolumeBackups);
  const scrape = await text();
  for (
    const name of [
      "pod_volume_backup_enqueue_count",
      "pod_volume_backup_dequeue_count",
      "data_upload_success_total",
      "data_upload_failure_total",
      "data_upload_cancel_total",
      "data_download_success_total",
      "data_download_failure_total",
      "data_download_cancel_total",
    ]
  ) assert.match(scrape, new RegExp(`^podVolume_${name}\\{node="n1"\\} 0$`, "m"));
  assert.match(scrape, /^longshore_bytes_total\{kind="PodVolumeRestore"\} 0$/m);
  assert.match(scrape, /^longshore_movements_total\{kind="PodVolumeBackup",.*\} 0$/m);
});

Deno.test("no movement adds a series, however it ends", async () => {
  const { observer, text } = observed(podVolumeBackups);
  const before = seriesOf(await text());
  const ends: End[] = [
    completed,
    { phase: "Canceled", reason: "Canceled", message: "m" },
    { phase: "Failed", reason: "KopiaKilled", message: "m" },
    { phase: "Failed", reason: "AgentRestarted", message: "m" },
    { phase: "dropped" },
  ];
  for (const end of ends) observer.ended(object, end, { durationMs: 1 });
  const after = await text();
  assert.deepEqual(seriesOf(after), before);
  for (const reason of ["KopiaKilled", "AgentRestarted"]) {
    assert.match(after, new RegExp(`^longshore_movements_total\\{.*"${reason}"\\} 1$`, "m"));
  }
});

Deno.test("enqueue minus dequeue returns to zero, whatever the result", async () => {
  const { observer, text } = observed(podVolumeBackups);
  const one = observer.started(object);
  const two = observer.started(object);
  assert.match(await text(), /enqueue_count\{node="n1"\} 2$/m);
  observer.ended(object, { phase: "dropped" }, { durationMs: 1 });
  one[Symbol.dispose]();
  two[Symbol.dispose](); // ended without a written result
  observer.ended(object, { phase: "Failed", reason: "AgentRestarted", message: "m" }, {});
  assert.match(await text(), /dequeue_count\{node="n1"\} 2$/m);
});

Deno.test("restores count bytes and ends, not the original's backups", async () => {
  const { observer, text } = observed(podVolumeRestores);
  observer.started(object)[Symbol.dispose]();
  observer.ended(object, completed, { durationMs: 1_500 });
  const scrape = await text();
  assert.match(scrape, /^longshore_bytes_total\{kind="PodVolumeRestore"\} 50$/m);
  assert.match(scrape, /enqueue_count\{node="n1"\} 0$/m);
  assert.match(scrape, /^longshore_movement_seconds_sum\{kind="PodVolumeRestore",.*\} 1.5$/m);
});

Deno.test("a movement has one event, for its end", () => {
  const { observer, events } = observed(podVolumeBackups);
  using _started = observer.started(object);
  assert.deepEqual(events, []);
  observer.ended(object, completed, { durationMs: 1 });
  assert.deepEqual(events.map(({ reason }) => reason), ["Completed"]);
});

Deno.test("of a thousand objects that a start ends some have events, and all are counted", async () => {
  const { observer, events, text } = observed(podVolumeBackups);
  const end = { phase: "Failed", reason: "AgentRestarted", message: "m" } as const;
  for (let at = 0; at < 1_000; at++) observer.ended(object, end, {});
  assert.equal(events.length, 50);
  assert.match(await text(), /^longshore_movements_total\{.*reason="AgentRestarted"\} 1000$/m);
  observer.ended(object, completed, { durationMs: 1 });
  assert.equal(events.length, 51);
});

Deno.test("series for each backup stand only where they are asked for", async () => {
  const plain = observed(podVolumeBackups);
  plain.observer.ended(object, completed, { durationMs: 61_900 });
  assert.doesNotMatch(await plain.text(), /latency_seconds/);
  const legacy = observed(podVolumeBackups, { legacy: true });
  legacy.observer.ended(object, completed, { durationMs: 61_900 });
  const labels = 'node="n1",operation="b1-default-app-kopia-backup",' +
    'backupName="velero/",pod_volume_backup="b1"';
  const name = "podVolume_pod_volume_operation_latency_seconds";
  assert((await legacy.text()).includes(`${name}_gauge{${labels}} 61\n`));
  assert((await legacy.text()).includes(`${name}_bucket{le="60",${labels}} 0\n`));
});
