/** The DaemonSet of the agents and its pods, as `velero install` names them. */
import { type Pod, pods } from "../api/core.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject, Resource } from "../kube/object.ts";
import { listAll } from "../kube/pages.ts";

interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly AgentContainer[] };
    };
  };
}

interface AgentContainer {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

const daemonSets: Resource<DaemonSet> = {
  group: "apps",
  version: "v1",
  plural: "daemonsets",
  kind: "DaemonSet",
  namespaced: true,
};

const agentName = "node-agent";

export interface AgentsPlace {
  readonly client: KubeClient;
  readonly namespace: string;
}

/** The ConfigMap that the DaemonSet's flags name; undefined when there is neither. */
export async function configMapOfAgents(
  { client, namespace }: AgentsPlace,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { spec } = await client.get(daemonSets, { namespace, name: agentName }, signal);
    const words = spec.template.spec.containers
      .flatMap(({ command = [], args = [] }) => [...command, ...args]);
    return configMapFlag(words);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The flag's value, in either of its spellings and forms; the last one counts. */
export function configMapFlag(words: readonly string[]): string | undefined {
  let found: string | undefined;
  for (const [index, word] of words.entries()) {
    const [, assigned] = word.match(/^--?node-agent-config(?:map)?(?:=(.*))?$/) ?? [];
    if (assigned !== undefined) found = assigned;
    else if (/^--?node-agent-config(?:map)?$/.test(word)) found = words[index + 1];
  }
  return found || undefined;
}

/** The running agents by their node. */
export async function agentPods(
  { client, namespace }: AgentsPlace,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Pod>> {
  const where = {
    namespace,
    labelSelector: `name=${agentName}`,
    fieldSelector: "status.phase=Running",
  };
  const found = await listAll({ client, what: pods }, where, signal);
  return new Map(found.flatMap((pod) => pod.spec.nodeName ? [[pod.spec.nodeName, pod]] : []));
}
