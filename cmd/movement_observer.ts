/** What of the movements of one kind becomes metrics and Kubernetes events. */
import type { PodVolumeBackup } from "../lib/api/pod_volume_backup.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import type { ObjectReference, Recorder } from "../lib/kube/events.ts";
import type { Resource } from "../lib/kube/object.ts";
import type { Movable } from "../lib/movement/kind.ts";
import type { End } from "../lib/movement/run.ts";
import type { Observer } from "../lib/movement/start.ts";
import { messageWith } from "../lib/movement/text.ts";
import type { MovementMetrics } from "./movement_metrics.ts";

export interface ObserverOptions<T extends Movable> {
  readonly metrics: MovementMetrics;
  readonly recorder: Recorder;
  readonly resource: Resource<T>;
  readonly node: string;
}

/**
 * What a start ends by the thousand gets no event each: they would say the same, and their writes
 * would hold up the ends themselves.
 */
const mostUnmovedEvents = 50;

/** One event for each end: the beginning stands in the object itself, and a third write would not fit. */
export function movementObserver<T extends Movable>(options: ObserverOptions<T>): Observer<T> {
  const { metrics, recorder, resource, node } = options;
  const { kind } = resource;
  let unmoved = 0;
  const isBackup = kind === podVolumeBackups.kind;
  return {
    started() {
      if (isBackup) metrics.enqueued.add({ node });
      return {
        [Symbol.dispose]() {
          if (isBackup) metrics.dequeued.add({ node });
        },
      };
    },
    ended(object, end, { durationMs }) {
      const reason = "reason" in end ? end.reason : "";
      metrics.ended.add({ kind, result: end.phase, reason });
      if (end.phase === "Completed") metrics.bytes.add({ kind }, end.sizeBytes);
      if (durationMs !== undefined) {
        const seconds = durationMs / 1_000;
        metrics.seconds.observe({ kind, result: end.phase }, seconds);
        if (isBackup) metrics.legacyLatency?.(object as Movable as PodVolumeBackup, end, seconds);
      }
      if (end.phase === "dropped") return;
      if (durationMs === undefined && ++unmoved > mostUnmovedEvents) return;
      recorder.event(referenceTo(object, resource), textOf(end));
    },
  };
}

function textOf(end: Exclude<End, { readonly phase: "dropped" }>) {
  return end.phase === "Completed"
    ? { type: "Normal", reason: "Completed", message: `Moved ${end.sizeBytes} bytes` } as const
    : {
      type: "Warning",
      reason: end.reason,
      message: messageWith(end.reason, end.message),
    } as const;
}

function referenceTo<T extends Movable>(
  { metadata }: T,
  { group, version, kind }: Resource<T>,
): ObjectReference {
  const { name, namespace, uid } = metadata;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
  };
}
