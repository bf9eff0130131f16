/** Events about the agent's own pod, for `kubectl describe pod`. */
import { messageOf } from "../lib/base/error.ts";
import type { Log } from "../lib/base/log.ts";
import { pods } from "../lib/api/core.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import type { EventText, ObjectReference, Recorder } from "../lib/kube/events.ts";

export interface PodVoiceNeeds {
  readonly client: KubeClient;
  readonly recorder: Recorder;
  readonly log: Log;
  readonly namespace: string;
  readonly node: string;
  /** Absent: the agent is perhaps in no pod, and nothing is said. */
  readonly podName?: string;
}

/** Records an event about the pod that the agent runs in; outside of one it is silent. Never fails. */
export type PodVoice = (text: EventText, signal: AbortSignal) => Promise<void>;

/** The pod is looked up when there is something to say: its uid is what `kubectl describe` goes by. */
export function podVoice({ recorder, ...needs }: PodVoiceNeeds): PodVoice {
  let own: Promise<ObjectReference | undefined> | undefined;
  return async (text, signal) => {
    own ??= findOwn(needs, signal);
    const reference = await own;
    if (reference !== undefined) recorder.event(reference, text);
  };
}

async function findOwn(
  { client, log, namespace, node, podName }: Omit<PodVoiceNeeds, "recorder">,
  signal: AbortSignal,
): Promise<ObjectReference | undefined> {
  if (podName === undefined) return undefined;
  try {
    const { metadata, spec } = await client.get(pods, { namespace, name: podName }, signal);
    if (spec.nodeName !== node) return undefined; // a host name that is also the name of some pod
    const { uid = "" } = metadata;
    return { apiVersion: "v1", kind: "Pod", namespace, name: podName, uid };
  } catch (error) {
    log.debug("The agent's own pod is not known: no event is recorded about it", {
      pod: podName,
      error: messageOf(error),
    });
    return undefined;
  }
}
