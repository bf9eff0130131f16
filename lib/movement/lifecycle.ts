import type { Reason } from "../base/reason.ts";

/** All phases that any supported Velero knows; what may be written says the installed CRD. */
export type Phase =
  | "New"
  | "Accepted"
  | "Prepared"
  | "InProgress"
  | "Canceling"
  | "Canceled"
  | "Completed"
  | "Failed";

/** What the object says. */
export interface Movement {
  readonly uid: string;
  /** An absent phase is New. */
  readonly phase: Phase;
  readonly cancelAsked: boolean;
  readonly deleting: boolean;
  /** It is for this node. */
  readonly mine: boolean;
  /** It has the finalizer that agents of Velero 1.17 and later put on their objects. */
  readonly finalizer: boolean;
}

/** What we know besides. */
export interface Situation {
  /** The movement under way here under this key, if any; `ending` while its result is written. */
  readonly running?: { readonly uid: string; readonly ending: boolean };
  /** The object stood in the first list after the start: an agent that is gone left it so. */
  readonly leftover: boolean;
  /** Our claim stands in the object, though we never heard that it was carried out. */
  readonly claimedHere: boolean;
  /** The CRD knows `spec.cancel` and the phases Canceling and Canceled. */
  readonly cancelable: boolean;
}

export type Step =
  | { readonly do: "nothing" }
  | { readonly do: "start" }
  | { readonly do: "askCancel" }
  | { readonly do: "stop" }
  | { readonly do: "release" }
  | { readonly do: "endCanceled" | "giveUp"; readonly why: Reason };

export function isFinal(phase: Phase): boolean {
  return phase === "Completed" || phase === "Failed" || phase === "Canceled";
}

/** What to do next about a movement that runs in place. An absent movement is a deleted object. */
export function nextStep(movement: Movement | undefined, situation: Situation): Step {
  const { running } = situation;
  if (running !== undefined) {
    if (running.ending) return { do: "nothing" };
    return whileRunning(movement, running.uid, situation);
  }
  if (movement === undefined || !movement.mine) return { do: "nothing" };
  const { phase, deleting, cancelAsked, finalizer } = movement;
  switch (phase) {
    case "Completed":
    case "Failed":
    case "Canceled":
      return { do: finalizer ? "release" : "nothing" }; // or it could never be deleted
    case "New":
      if (cancelAsked && situation.cancelable) return { do: "endCanceled", why: "Canceled" };
      return { do: deleting ? "nothing" : "start" };
    case "Accepted":
    case "Prepared":
    case "InProgress":
    case "Canceling":
      if (situation.claimedHere) return { do: "start" };
      return situation.leftover ? { do: "giveUp", why: "AgentRestarted" } : { do: "nothing" };
    default:
      return phase satisfies never;
  }
}

/** A movement that is gone, replaced or ended by someone else is stopped without a result. */
function whileRunning(movement: Movement | undefined, uid: string, situation: Situation): Step {
  if (movement === undefined || movement.uid !== uid || isFinal(movement.phase)) {
    return { do: "stop" };
  }
  const asked = movement.cancelAsked || movement.deleting;
  return {
    do: asked && situation.cancelable && movement.phase !== "Canceling" ? "askCancel" : "nothing",
  };
}
