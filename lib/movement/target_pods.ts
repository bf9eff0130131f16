/**
 * Where PodVolumeRestores stand: each is for the node on which its pod waits for its data. That says
 * a watch of this node's pods; what the watch does not know is asked for before anything is failed.
 */
import type { Log } from "../base/log.ts";
import { type Pod, pods } from "../api/core.ts";
import type { PodVolumeRestore } from "../api/pod_volume_restore.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import { kubeSource } from "../kube/kube_source.ts";
import { keyOf } from "../kube/object.ts";
import { trimPod } from "../kube/pods.ts";
import { createStore } from "../kube/store.ts";
import { watchForever, type WatchHealth } from "../kube/watch.ts";
import type { Stage, Standings } from "./kind.ts";
import type { Standing } from "./lifecycle.ts";
import { lookSchedule } from "./look_schedule.ts";
import { holderNode } from "./status.ts";
import { type Judgement, judgePod, podGone, targetOf } from "./target_pod.ts";
import { type Tracked, trackObjects } from "./tracked_objects.ts";

export interface TargetPodsOptions {
  readonly client: KubeClient;
  readonly node: string;
  /** Of the watch over the node's pods. */
  readonly health: WatchHealth;
  readonly log: Log;
}

export function targetPods(options: TargetPodsOptions): Standings<PodVolumeRestore> {
  const { client, node, health, log } = options;
  const here = createStore<Pod>();
  const tracked = trackObjects();
  const schedule = lookSchedule();

  /** The watch does not have its pod, or has it ended: asks for what is true now. */
  const lookUp = async (
    object: PodVolumeRestore,
    { stage, known }: { readonly stage: Stage; readonly known: Tracked },
    signal: AbortSignal,
  ): Promise<Standing> => {
    const key = keyOf(object);
    const holder = heldBy(object);
    if (known.isForeign) return { is: "elsewhere" };
    if (stage === "begun" && holder !== undefined && holder !== node) return { is: "elsewhere" };
    if (stage === "new" && !known.wasHere) {
      const againMs = schedule.untilDueMs(key);
      if (againMs > 0) return { is: "elsewhere", againMs };
    }
    const judged = await judgeNow(options, object, signal);
    if (judged.is === "elsewhere") known.isForeign = true;
    if (judged.is === "unscheduled") return { is: "nobodys", againMs: schedule.postpone(key) };
    const isOurs = known.wasHere || stage === "new" || holder === node;
    return judged.is === "lost" && !isOurs ? { is: "elsewhere" } : standingOf(judged, stage);
  };

  const tell = (object: PodVolumeRestore, known: Tracked, judged: Judgement) => {
    const oddity = "oddity" in judged ? judged.oddity : undefined;
    if (oddity === undefined || known.isTold) return;
    known.isTold = true;
    log.warn(oddity, { key: keyOf(object), pod: known.podKey });
  };

  return {
    async of(object, stage, signal) {
      if (stage === "ended") return { is: heldBy(object) === node ? "waiting" : "elsewhere" };
      if (!here.synced) await here.whenSynced(signal);
      const known = tracked.of(object, targetOf(object));
      const pod = here.get(known.podKey);
      const judged = pod && judgePod(object, pod, node);
      if (judged === undefined || judged.is === "lost" || judged.is === "leaving") {
        if (pod !== undefined && isItsPod(object, pod)) known.wasHere = true;
        return await lookUp(object, { stage, known }, signal);
      }
      known.wasHere = true;
      tell(object, known, judged);
      return standingOf(judged, stage);
    },
    forget(key) {
      schedule.forget(key);
      tracked.forget(key);
    },
    async follow(wake, signal) {
      const source = kubeSource<Pod, Pod>(client, pods, {
        fieldSelector: `spec.nodeName=${node}`,
        trim: (pod) => trimPod(pod) as Pod,
      });
      try {
        for await (const change of watchForever(source, signal, { health })) {
          for (const podKey of here.apply(change)) tracked.ofPod(podKey).forEach(wake);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

async function judgeNow(
  { client, node }: TargetPodsOptions,
  object: PodVolumeRestore,
  signal: AbortSignal,
): Promise<Judgement> {
  const { namespace, name } = targetOf(object);
  if (namespace === "" || name === "") return { is: "lost", loss: podGone(object) };
  try {
    return judgePod(object, await client.get(pods, { namespace, name }, signal), node);
  } catch (error) {
    if (isNotFound(error)) return { is: "lost", loss: podGone(object) };
    throw error;
  }
}

/** A pod that is odd may become no other; it is left to the operator. */
function standingOf(judged: Judgement, stage: Stage): Standing {
  switch (judged.is) {
    case "odd":
    case "waiting":
      return { is: "waiting" };
    case "leaving":
      return stage === "new" ? { is: "lost", loss: judged.loss } : { is: "waiting" };
    case "unscheduled":
      return { is: "nobodys" };
    case "ready":
    case "elsewhere":
    case "lost":
      return judged;
    default:
      return judged satisfies never;
  }
}

function isItsPod(restore: PodVolumeRestore, { metadata }: Pod): boolean {
  const { uid } = targetOf(restore);
  return uid === "" || uid === metadata.uid;
}

/** The node whose agent took it, by what stands in the object; older agents note nothing. */
function heldBy({ metadata, status }: PodVolumeRestore): string | undefined {
  return status?.node || holderNode(metadata);
}
