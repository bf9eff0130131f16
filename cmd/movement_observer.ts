/** What of the movements becomes metrics and Kubernetes events. */
import type { Metrics } from "../lib/base/metrics.ts";
import type { Recorder } from "../lib/kube/events.ts";
import type { Resource } from "../lib/kube/object.ts";
import type { Movable } from "../lib/movement/kind.ts";
import type { End } from "../lib/movement/run.ts";
import type { Observer } from "../lib/movement/start.ts";
import { messageWith } from "../lib/movement/text.ts";

export interface ObserverOptions<T extends Movable> {
  readonly metrics: Metrics;
  readonly recorder: Recorder;
  readonly resource: Resource<T>;
  readonly node: string;
}

/** The counters of the original keep their names; ours have a bounded number of series. */
export function movementObserver<T extends Movable>(options: ObserverOptions<T>): Observer<T> {
  const { metrics, recorder, resource, node } = options;
  const enqueued = metrics.counter({
    name: "podVolume_pod_volume_backup_enqueue_count",
    help: "PodVolumeBackups that got a slot.",
    labels: ["node"],
  });
  const dequeued = metrics.counter({
    name: "podVolume_pod_volume_backup_dequeue_count",
    help: "PodVolumeBackups that gave their slot back, whatever the result.",
    labels: ["node"],
  });
  const ended = metrics.counter({
    name: "longshore_movements_total",
    help: "Movements by their end.",
    labels: ["kind", "result", "reason"],
  });
  const seconds = metrics.histogram({
    name: "longshore_movement_seconds",
    help: "From the claim of an object to its written result.",
    labels: ["kind", "result"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400],
  });
  enqueued.add({ node }, 0);
  dequeued.add({ node }, 0);
  const { kind } = resource;
  return {
    started: () => enqueued.add({ node }),
    ended(object, end, { durationMs }) {
      dequeued.add({ node });
      const reason = "reason" in end ? end.reason : "";
      ended.add({ kind, result: end.phase, reason });
      seconds.observe({ kind, result: end.phase }, durationMs / 1_000);
      if (end.phase !== "dropped") record(recorder, { object, resource }, end);
    },
  };
}

/** One event for the end of a movement: its beginning stands in the object itself. */
function record<T extends Movable>(
  recorder: Recorder,
  { object, resource }: { readonly object: T; readonly resource: Resource<T> },
  end: Exclude<End, { readonly phase: "dropped" }>,
): void {
  const { group, version, kind } = resource;
  const { name, namespace, uid } = object.metadata;
  const regarding = {
    apiVersion: `${group}/${version}`,
    kind,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
  };
  recorder.event(
    regarding,
    end.phase === "Completed"
      ? { type: "Normal", reason: "Completed", message: `Moved ${end.sizeBytes} bytes` }
      : { type: "Warning", reason: end.reason, message: messageWith(end.reason, end.message) },
  );
}
