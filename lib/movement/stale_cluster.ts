/** What the cluster says about agents, nodes, pods and owners, asked once for all objects. */
import { type Node, nodes, type Pod, pods } from "../api/core.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import { formatKey, type ObjectKey } from "../kube/object.ts";
import { listAll, listPages } from "../kube/pages.ts";
import { inParallel } from "./in_parallel.ts";
import type { AgentFact, NodeState, OwnerFact, TargetState } from "./stale.ts";
import type { StaleKind, StaleObject } from "./stale_kinds.ts";
import { targetOf } from "./target_pod.ts";

export interface ClusterQuestion {
  readonly client: KubeClient;
  readonly namespace: string;
}

export const callsAtOnce = 16;

/** A target pod: where it is, and whether it is the one that is meant. */
export interface Target {
  readonly state: TargetState;
  readonly node?: string;
}

export interface NodeView {
  stateOf(node: string | undefined): NodeState;
}

/** Of all nodes, or of one. */
export async function viewNodes(
  { client }: ClusterQuestion,
  only: string | undefined,
  signal: AbortSignal,
): Promise<NodeView> {
  const states = new Map<string, NodeState>();
  if (only === undefined) {
    for await (const { items } of listPages({ client, what: nodes }, {}, signal)) {
      for (const node of items) states.set(node.metadata.name, stateOf(node));
    }
  } else {
    const node = await client.get(nodes, { name: only }, signal).catch(absent);
    states.set(only, node === undefined ? "gone" : stateOf(node));
  }
  return {
    stateOf: (node) =>
      node === undefined
        ? "unknown"
        : states.get(node) ?? (only === undefined ? "gone" : "unknown"),
  };
}

/** A node without conditions has just been made or stands in a test: nothing speaks against it. */
function stateOf({ status }: Node): NodeState {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready === undefined || ready.status === "True" ? "ready" : "not-ready";
}

export interface AgentView {
  agentOn(node: string | undefined): AgentFact;
  /** A pod with this label moves the object. */
  isHosted(label: string, name: string): boolean;
}

/** The agents and the pods they let move data, all of them in Velero's namespace. */
export async function viewAgents(
  { client, namespace }: ClusterQuestion,
  signal: AbortSignal,
): Promise<AgentView> {
  const found = await listAll({ client, what: pods }, { namespace }, signal);
  const agents = found.filter(isAgent);
  return {
    agentOn: (node) => agentFact(agents.filter(({ spec }) => spec.nodeName === node)),
    isHosted: (label, name) =>
      found.some(({ metadata, status }) =>
        metadata.labels?.[label] === name && isUnderWay(status?.phase ?? "Pending")
      ),
  };
}

/** Velero's label up to 1.15, that from 1.16 on, or what it runs. */
function isAgent({ metadata: { labels = {} }, spec }: Pod): boolean {
  if (labels["name"] === "node-agent" || labels["role"] === "node-agent") return true;
  const words = spec.containers.flatMap(({ command = [], args = [] }) => [...command, ...args]);
  return words.includes("node-agent") || words.includes("server") &&
      words.some((word) => /(^|\/)longshore$/.test(word));
}

function isUnderWay(phase: string): boolean {
  return phase === "Pending" || phase === "Running" || phase === "Unknown";
}

function agentFact(agents: readonly Pod[]): AgentFact {
  const ending = agents.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const staying = agents.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const runningSinceMs = staying.map(runningSince).filter((ms) => ms !== undefined);
  return {
    runningSinceMs,
    down: staying.length - runningSinceMs.length,
    ending: ending.filter(({ status }) => isUnderWay(status?.phase ?? "Pending")).length,
  };
}

/** Since its container runs: a restarted one has lost what it moved before. */
function runningSince({ metadata, status }: Pod): number | undefined {
  if (status?.phase !== "Running") return undefined;
  const containers = status.containerStatuses ?? [];
  const own = containers.find(({ name }) => name === "node-agent") ?? containers[0];
  if (own !== undefined && own.state?.running === undefined) return undefined;
  const since = own?.state?.running?.startedAt ?? status.startTime ?? metadata.creationTimestamp;
  return Date.parse(since ?? "") || 0;
}

/** The pods that objects name, each asked for once. */
export async function viewTargets(
  { client }: ClusterQuestion,
  objects: readonly StaleObject[],
  signal: AbortSignal,
): Promise<(object: StaleObject) => Target> {
  const wanted = new Map<ObjectKey, { readonly namespace: string; readonly name: string }>();
  for (const object of objects) {
    const { namespace, name } = targetOf(object);
    if (name !== "") wanted.set(formatKey({ namespace, name }), { namespace, name });
  }
  const found = await inParallel(
    [...wanted],
    callsAtOnce,
    async ([key, name]) => [key, await client.get(pods, name, signal).catch(absent)] as const,
  );
  const byKey = new Map(found);
  return (object) => targetFact(object, byKey.get(formatKey(targetOf(object))));
}

function targetFact(object: StaleObject, pod: Pod | undefined): Target {
  if (pod === undefined) return { state: "gone" };
  const { uid } = targetOf(object);
  if (uid !== "" && uid !== pod.metadata.uid) return { state: "replaced" };
  const node = pod.spec.nodeName ? { node: pod.spec.nodeName } : {};
  const phase = pod.status?.phase;
  return { state: phase === "Succeeded" || phase === "Failed" ? "ended" : "present", ...node };
}

/** Backups or Restores, by name. */
export async function viewOwners(
  { client, namespace }: ClusterQuestion,
  { owner }: StaleKind,
  signal: AbortSignal,
): Promise<(object: StaleObject) => OwnerFact> {
  const phases = new Map<string, { readonly uid: string; readonly phase: string }>();
  try {
    for await (const { items } of listPages({ client, what: owner }, { namespace }, signal)) {
      for (const { metadata, status } of items) {
        phases.set(metadata.name, { uid: metadata.uid ?? "", phase: status?.phase ?? "New" });
      }
    }
  } catch (error) {
    if (!isNotFound(error)) throw error; // the kind is not installed
    return () => ({ state: "unknown" });
  }
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find(({ kind }) => kind === owner.kind);
    if (reference === undefined) return { state: "unknown" };
    const name = `${owner.kind} "${reference.name}"`;
    const found = phases.get(reference.name);
    if (found === undefined || found.uid !== reference.uid) return { state: "gone", name };
    const { phase } = found;
    return { state: isEnded(phase) ? "ended" : "running", name, phase };
  };
}

/** Of Velero; what waits for plugins or is being finalized has not ended. */
function isEnded(phase: string): boolean {
  return ["Completed", "PartiallyFailed", "Failed", "FailedValidation", "Deleting"].includes(phase);
}

function absent(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
