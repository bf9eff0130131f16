/** Which unfinished objects nobody will ever finish. Pure: facts in, decision out. */
import type { Reason } from "../base/reason.ts";
import type { Phase } from "./lifecycle.ts";

export type NodeState = "ready" | "not-ready" | "gone" | "unknown";

/** The pod whose volume is to be filled; a backup has none that matters. */
export type TargetState = "none" | "present" | "gone" | "replaced" | "ended";

export interface OwnerFact {
  /** `unknown`: the object names none, or its kind is not installed. */
  readonly state: "running" | "ended" | "gone" | "unknown";
  /** `Backup "nightly"` */
  readonly name?: string;
  readonly phase?: string;
}

export interface AgentFact {
  /** When the agents that run on the node now were started. */
  readonly runningSinceMs: readonly number[];
  /** How many agent pods of the node do not run, or are about to end. */
  readonly down: number;
  readonly ending: number;
}

export interface StaleFacts {
  readonly phase: Phase;
  /** Where it is moved, as far as anything says so. */
  readonly node?: string;
  readonly nodeState: NodeState;
  readonly target: TargetState;
  readonly owner: OwnerFact;
  readonly agent: AgentFact;
  /** A pod of its own moves it (agents of Velero 1.17 and later). */
  readonly hostingPod: "running" | "none";
  /** When it was taken; undefined when it does not say. */
  readonly claimedMs?: number;
  /** Since it was taken, or made. */
  readonly ageMs: number;
}

export type Decision =
  /** Nobody will finish it: becomes Failed. */
  | { readonly decision: "fail"; readonly reason: Reason; readonly why: string }
  /** It runs or waits for nothing: told, and canceled when that is asked for. */
  | {
    readonly decision: "report";
    readonly reason: "owner-terminal" | "owner-gone";
    readonly why: string;
  }
  | {
    readonly decision: "leave";
    readonly reason: "mover-alive" | "in-doubt" | "too-young";
    readonly why: string;
  };

export interface StaleOptions {
  /** Younger objects are left alone. */
  readonly olderThanMs: number;
}

/** Undefined for an object that is as it should be: New, and its turn will come. */
export function decideStale(
  facts: StaleFacts,
  { olderThanMs }: StaleOptions,
): Decision | undefined {
  const decided = facts.phase === "New" ? whileNew(facts) : whileBegun(facts);
  if (decided === undefined || decided.decision === "leave") return decided;
  if (facts.ageMs >= olderThanMs) return decided;
  return { decision: "leave", reason: "too-young", why: "It is younger than --older-than" };
}

function whileNew(facts: StaleFacts): Decision | undefined {
  return lostNode(facts) ?? lostTarget(facts) ?? endedOwner(facts);
}

function whileBegun(facts: StaleFacts): Decision {
  const mover = moverOf(facts);
  switch (mover.is) {
    case "alive":
      return endedOwner(facts) ?? { decision: "leave", reason: "mover-alive", why: mover.why };
    case "doubtful":
      return { decision: "leave", reason: "in-doubt", why: mover.why };
    case "unknown": // without its pod nobody can go on with it, wherever that was
      return lostTarget(facts) ?? { decision: "leave", reason: "in-doubt", why: mover.why };
    case "dead":
      return lostTarget(facts) ?? { decision: "fail", reason: mover.reason, why: mover.why };
    default:
      return mover satisfies never;
  }
}

type Mover =
  | { readonly is: "alive" | "doubtful" | "unknown"; readonly why: string }
  | { readonly is: "dead"; readonly reason: Reason; readonly why: string };

function moverOf({ phase, node, nodeState, hostingPod, agent, claimedMs }: StaleFacts): Mover {
  if (hostingPod === "running") return { is: "alive", why: "The pod that moves it is running" };
  if (node === undefined) return { is: "unknown", why: "Nothing says which node moves it" };
  if (nodeState === "gone") {
    return { is: "dead", reason: "NodeGone", why: `The node "${node}" does not exist any more` };
  }
  if (nodeState !== "ready") {
    const why = `The node "${node}" does not report, so its agent may still move it`;
    return { is: "doubtful", why };
  }
  if (agent.ending > 0) {
    return { is: "doubtful", why: `An agent on node "${node}" is about to end` };
  }
  if (agent.runningSinceMs.length === 0) {
    const why = agent.down > 0 ? "No agent runs" : "There is no agent";
    return { is: "dead", reason: "AgentGone", why: `${why} on node "${node}"` };
  }
  if (phase === "Accepted" || phase === "Prepared") {
    return { is: "alive", why: `The agent on node "${node}" runs and prepares it` };
  }
  if (claimedMs === undefined) {
    return { is: "doubtful", why: "It does not say when it was taken" };
  }
  const first = Math.min(...agent.runningSinceMs);
  if (first < claimedMs) {
    return { is: "alive", why: `The agent on node "${node}" runs since before it was taken` };
  }
  if (first === claimedMs) {
    const why = `The agent on node "${node}" was started in the second in which it was taken`;
    return { is: "doubtful", why };
  }
  return {
    is: "dead",
    reason: "AgentRestarted",
    why: `The agent on node "${node}" was started after it was taken`,
  };
}

function lostNode({ node, nodeState }: StaleFacts): Decision | undefined {
  if (nodeState !== "gone") return undefined;
  const why = `The node "${node}" does not exist any more`;
  return { decision: "fail", reason: "NodeGone", why };
}

function lostTarget({ target }: StaleFacts): Decision | undefined {
  switch (target) {
    case "none":
    case "present":
      return undefined;
    case "gone":
      return { decision: "fail", reason: "PodGone", why: "Its pod does not exist any more" };
    case "replaced":
      return { decision: "fail", reason: "PodReplaced", why: "Its pod was replaced by another" };
    case "ended":
      return { decision: "fail", reason: "PodNotRunning", why: "Its pod has ended" };
    default:
      return target satisfies never;
  }
}

function endedOwner({ owner: { state, name = "", phase = "" } }: StaleFacts): Decision | undefined {
  switch (state) {
    case "ended":
      return { decision: "report", reason: "owner-terminal", why: `${name} is ${phase} already` };
    case "gone":
      return {
        decision: "report",
        reason: "owner-gone",
        why: `${name} does not exist any more`,
      };
    case "running":
    case "unknown":
      return undefined;
    default:
      return state satisfies never;
  }
}
