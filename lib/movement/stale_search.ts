/** Finds the unfinished objects of a namespace and decides about each. */
import { customResourceDefinitions } from "../api/custom_resource_definition.ts";
import { isNotFound } from "../kube/api_error.ts";
import { listPages } from "../kube/pages.ts";
import { type Capabilities, readCapabilities } from "./capabilities.ts";
import { isFinal } from "./lifecycle.ts";
import { decideStale, type Decision, type StaleFacts } from "./stale.ts";
import {
  type AgentView,
  type ClusterQuestion,
  type NodeView,
  type Target,
  viewAgents,
  viewNodes,
  viewOwners,
  viewTargets,
} from "./stale_cluster.ts";
import type { StaleKind, StaleObject } from "./stale_kinds.ts";
import { holderNode } from "./status.ts";

export interface StaleQuestion extends ClusterQuestion {
  readonly kinds: readonly StaleKind[];
  /** Undefined: of all nodes, and of none. */
  readonly node: string | undefined;
  readonly olderThanMs: number;
  readonly nowMs: number;
}

/** An object that is not as it should be, or that somebody has in hand. */
export interface Candidate {
  readonly kind: StaleKind;
  readonly capabilities: Capabilities;
  readonly object: StaleObject;
  readonly facts: StaleFacts;
  readonly decided: Decision;
}

export interface StaleAnswer {
  readonly candidates: readonly Candidate[];
  /** Kinds that this cluster does not have. */
  readonly absent: readonly StaleKind[];
}

export async function searchStale(
  question: StaleQuestion,
  signal: AbortSignal,
): Promise<StaleAnswer> {
  const [nodeView, agents, ...found] = await Promise.all([
    viewNodes(question, question.node, signal),
    viewAgents(question, signal),
    ...question.kinds.map((kind) => unfinished(question, kind, signal)),
  ]);
  const views = { question, nodeView, agents };
  const candidates = await Promise.all(
    found.filter((one) => one.capabilities !== undefined).map((one) => judge(views, one, signal)),
  );
  const absent = found.filter(({ capabilities }) => capabilities === undefined);
  return { candidates: candidates.flat(), absent: absent.map(({ kind }) => kind) };
}

interface Unfinished {
  readonly kind: StaleKind;
  /** Undefined: the kind is not installed. */
  readonly capabilities: Capabilities | undefined;
  readonly objects: readonly StaleObject[];
}

async function unfinished(
  { client, namespace, node }: StaleQuestion,
  kind: StaleKind,
  signal: AbortSignal,
): Promise<Unfinished> {
  const { resource } = kind;
  const name = `${resource.plural}.${resource.group}`;
  try {
    const definition = await client.get(customResourceDefinitions, { name }, signal);
    const capabilities = readCapabilities(definition, resource);
    const objects: StaleObject[] = [];
    for await (const { items } of listPages({ client, what: resource }, { namespace }, signal)) {
      for (const object of items) if (isWanted(object, kind, node)) objects.push(object);
    }
    return { kind, capabilities, objects };
  } catch (error) {
    if (isNotFound(error)) return { kind, capabilities: undefined, objects: [] };
    throw error;
  }
}

function isWanted(object: StaleObject, { needsPod }: StaleKind, node: string | undefined): boolean {
  if (isFinal(object.status?.phase ?? "New")) return false;
  return node === undefined || needsPod || object.spec?.node === node;
}

interface Views {
  readonly question: StaleQuestion;
  readonly nodeView: NodeView;
  readonly agents: AgentView;
}

async function judge(
  { question, nodeView, agents }: Views,
  { kind, capabilities, objects }: Unfinished,
  signal: AbortSignal,
): Promise<Candidate[]> {
  if (objects.length === 0 || capabilities === undefined) return [];
  const [targetOf, ownerOf] = await Promise.all([
    kind.needsPod ? viewTargets(question, objects, signal) : () => noTarget,
    viewOwners(question, kind, signal),
  ]);
  const { nowMs, olderThanMs } = question;
  return objects.flatMap((object) => {
    const target = targetOf(object);
    const node = nodeOf(object, target);
    if (question.node !== undefined && node !== question.node) return [];
    const facts: StaleFacts = {
      phase: object.status?.phase ?? "New",
      nodeState: nodeView.stateOf(node),
      target: target.state,
      owner: ownerOf(object),
      agent: agents.agentOn(node),
      hostingPod: agents.isHosted(kind.hostingLabel, object.metadata.name) ? "running" : "none",
      ageMs: nowMs - (claimedAt(object) ?? madeAt(object) ?? nowMs),
      ...(node !== undefined && { node }),
      ...(claimedAt(object) !== undefined && { claimedMs: claimedAt(object) ?? 0 }),
    };
    const decided = decideStale(facts, { olderThanMs });
    return decided === undefined ? [] : [{ kind, capabilities, object, facts, decided }];
  });
}

const noTarget: Target = { state: "none" };

/** What the object says itself; else where its pod is. */
function nodeOf({ spec, status, metadata }: StaleObject, target: Target): string | undefined {
  return spec?.node || status?.node || target.node || holderNode(metadata);
}

function claimedAt({ status }: StaleObject): number | undefined {
  return parseTime(status?.startTimestamp) ?? parseTime(status?.acceptedTimestamp);
}

function madeAt({ metadata }: StaleObject): number | undefined {
  return parseTime(metadata.creationTimestamp);
}

function parseTime(text: string | null | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
