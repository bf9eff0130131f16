/** What a pod says about the restore of one of its volumes. Pure. */
import { restoreWaitContainer } from "../api/names.ts";
import type { Pod } from "../api/core.ts";
import type { PodVolumeRestore, PodVolumeRestorePod } from "../api/pod_volume_restore.ts";
import type { Loss } from "./lifecycle.ts";

export type Judgement =
  | { readonly is: "unscheduled" }
  | { readonly is: "elsewhere" }
  | { readonly is: "waiting" }
  /** It waits for its data; `oddity` is worth a warning. */
  | { readonly is: "ready"; readonly oddity?: string }
  /** It is being deleted: what has begun may end, nothing new begins. */
  | { readonly is: "leaving"; readonly loss: Loss }
  /** It will never be ready by itself, and yet may be none of our business. */
  | { readonly is: "odd"; readonly oddity: string }
  | { readonly is: "lost"; readonly loss: Loss };

/** The pod that an object names; "" for what it does not say, as even the whole spec may be absent. */
export function targetOf({ spec }: { readonly spec?: { readonly pod?: PodVolumeRestorePod } }) {
  const { namespace = "", name = "", uid = "" } = spec?.pod ?? {};
  return { namespace, name, uid };
}

/**
 * The rule of Velero: the pod must be here and its init container `restore-wait` running. Beyond it,
 * a pod that was replaced or has ended is a loss: its restore would wait for ever. So is one that is
 * being deleted, as its volumes may be unmounted at any moment.
 */
export function judgePod(restore: PodVolumeRestore, pod: Pod, node: string): Judgement {
  const { uid } = targetOf(restore);
  if (uid !== "" && pod.metadata.uid !== uid) return { is: "lost", loss: podReplaced(restore) };
  if (!pod.spec.nodeName) return { is: "unscheduled" };
  if (pod.spec.nodeName !== node) return { is: "elsewhere" };
  const phase = pod.status?.phase ?? "Pending";
  if (phase === "Succeeded" || phase === "Failed") {
    return { is: "lost", loss: podEnded(restore, phase) };
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { is: "leaving", loss: podLeaving(restore) };
  }
  const index = pod.spec.initContainers?.findIndex(({ name }) => name === restoreWaitContainer) ??
    -1;
  if (index < 0) {
    return {
      is: "odd",
      oddity: `A pod has no init container ${restoreWaitContainer}: its restore does not begin`,
    };
  }
  const status = pod.status?.initContainerStatuses
    ?.find(({ name }) => name === restoreWaitContainer);
  if (status?.state?.running === undefined) return { is: "waiting" };
  if (index === 0) return { is: "ready" };
  const oddity = `The init container ${restoreWaitContainer} is not the first one of its pod: ` +
    "those before it ran without the data";
  return { is: "ready", oddity };
}

export function podGone(restore: PodVolumeRestore): Loss {
  return {
    reason: "PodGone",
    message: `The pod ${labelOf(restore)} does not exist any more; restore again`,
  };
}

function podLeaving(restore: PodVolumeRestore): Loss {
  return {
    reason: "PodGone",
    message: `The pod ${labelOf(restore)} is being deleted; restore again`,
  };
}

function podReplaced(restore: PodVolumeRestore): Loss {
  return {
    reason: "PodReplaced",
    message: `The pod ${labelOf(restore)} was replaced by another one of the same name since the ` +
      "restore began; restore again",
  };
}

function podEnded(restore: PodVolumeRestore, phase: string): Loss {
  return {
    reason: "PodNotRunning",
    message:
      `The pod ${labelOf(restore)} is ${phase}, not waiting for its data; see why it ended, ` +
      "then restore again",
  };
}

function labelOf(restore: PodVolumeRestore): string {
  const { namespace, name } = targetOf(restore);
  return name === "" ? "that the object should name" : `"${namespace}/${name}"`;
}
