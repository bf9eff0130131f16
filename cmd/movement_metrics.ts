/** The metrics of movements: ours with a bounded number of series, and the original's by their names. */
import { type Reason, reasons } from "../lib/base/reason.ts";
import type { CounterMetric, HistogramMetric, Metrics } from "../lib/base/metrics.ts";
import type { PodVolumeBackup } from "../lib/api/pod_volume_backup.ts";
import type { End } from "../lib/movement/run.ts";

export interface MovementMetrics {
  /** Of the original: backups that got a slot, and those that gave it back. */
  readonly enqueued: CounterMetric;
  readonly dequeued: CounterMetric;
  /** By kind, result and reason. */
  readonly ended: CounterMetric;
  readonly seconds: HistogramMetric;
  readonly bytes: CounterMetric;
  /** The original's latency, with series for each backup and object; absent unless asked for. */
  readonly legacyLatency?: (backup: PodVolumeBackup, end: End, seconds: number) => void;
}

export interface MovementMetricsOptions {
  readonly node: string;
  /** Velero's namespace. */
  readonly namespace: string;
  readonly kinds: readonly string[];
  /** Also the families of the original whose series grow with each backup. */
  readonly legacy: boolean;
}

/** Reasons of waiting, of other results, and of mark-stale. */
const notOfFailures: ReadonlySet<Reason> = new Set(
  ["SlotWait", "Canceled", "ObjectDeleted", "AgentGone", "NodeGone"],
);

export function movementMetrics(
  metrics: Metrics,
  options: MovementMetricsOptions,
): MovementMetrics {
  const { node, kinds, legacy } = options;
  const own = {
    enqueued: metrics.counter({
      name: "podVolume_pod_volume_backup_enqueue_count",
      help: "PodVolumeBackups that got a slot.",
      labels: ["node"],
    }),
    dequeued: metrics.counter({
      name: "podVolume_pod_volume_backup_dequeue_count",
      help: "PodVolumeBackups that gave their slot back, whatever the result.",
      labels: ["node"],
    }),
    ended: metrics.counter({
      name: "longshore_movements_total",
      help: "Movements by their end.",
      labels: ["kind", "result", "reason"],
    }),
    seconds: metrics.histogram({
      name: "longshore_movement_seconds",
      help: "From the claim of an object to its written result.",
      labels: ["kind", "result"],
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400],
    }),
    bytes: metrics.counter({
      name: "longshore_bytes_total",
      help: "Bytes of the volumes that were moved completely.",
      labels: ["kind"],
    }),
  };
  for (const counter of [own.enqueued, own.dequeued, ...dataMovements(metrics)]) {
    counter.add({ node }, 0);
  }
  for (const kind of kinds) {
    own.bytes.add({ kind }, 0);
    for (const end of ends) own.ended.add({ kind, ...end }, 0);
    for (const result of new Set(ends.map(({ result }) => result))) {
      own.seconds.zero({ kind, result });
    }
  }
  return legacy ? { ...own, legacyLatency: legacyLatency(metrics, options) } : own;
}

/** Every series there will ever be: an alert on the rise of one that was absent does not fire. */
const ends: readonly { readonly result: End["phase"]; readonly reason: string }[] = [
  { result: "Completed", reason: "" },
  { result: "Canceled", reason: "Canceled" satisfies Reason },
  { result: "dropped", reason: "" },
  ...reasons.filter((reason) => !notOfFailures.has(reason))
    .map((reason) => ({ result: "Failed", reason }) as const),
];

/** Dashboards of the original have alerts on them; they stay 0 as long as no data mover runs here. */
function dataMovements(metrics: Metrics): CounterMetric[] {
  return ["upload", "download"].flatMap((direction) =>
    ["success", "failure", "cancel"].map((result) =>
      metrics.counter({
        name: `podVolume_data_${direction}_${result}_total`,
        help: `Data ${direction}s that ended with ${result}.`,
        labels: ["node"],
      })
    )
  );
}

function legacyLatency(metrics: Metrics, { node, namespace }: MovementMetricsOptions) {
  const name = "podVolume_pod_volume_operation_latency_seconds";
  const help = "Whole seconds that a completed PodVolumeBackup took, by backup and object.";
  const labels = ["node", "operation", "backupName", "pod_volume_backup"];
  const buckets = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400];
  const histogram = metrics.histogram({ name, help, labels, buckets });
  const gauge = metrics.gauge({ name: `${name}_gauge`, help, labels });
  return ({ metadata, spec }: PodVolumeBackup, end: End, seconds: number) => {
    if (end.phase !== "Completed") return;
    const { name, ownerReferences = [] } = metadata;
    const parts = [name, spec.backupStorageLocation, spec.pod.namespace, spec.uploaderType];
    const series = {
      node,
      operation: `${parts.join("-")}-backup`,
      backupName: `${namespace}/${ownerReferences[0]?.name ?? ""}`,
      pod_volume_backup: name,
    };
    histogram.observe(series, Math.floor(seconds));
    gauge.set(series, Math.floor(seconds));
  };
}
