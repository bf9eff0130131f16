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
  readonly standing: Standing;
  /** It has the finalizer that agents of Velero 1.17 and later put on their objects. */
  readonly finalizer: boolean;
}

/** Why a movement cannot be done any more, in words. */
export interface Loss {
  readonly reason: Reason;
  /** A whole sentence that says what to do. */
  readonly message: string;
}

/** Whose an object is, and whether it may begin. */
export type Standing =
  /** Another node's, as far as is known; `againMs`: to be looked at again then. */
  | { readonly is: "elsewhere"; readonly againMs?: number }
  /** No node's yet. */
  | { readonly is: "nobodys"; readonly againMs?: number }
  /** Ours; what it waits for will wake it. */
  | { readonly is: "waiting" }
  | { readonly is: "ready" }
  | { readonly is: "lost"; readonly loss: Loss };

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
  | { readonly do: "endCanceled" | "giveUp" }
  | { readonly do: "fail"; readonly loss: Loss }
  | { readonly do: "abandon"; readonly loss: Loss };

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
  if (movement === undefined || movement.standing.is === "elsewhere") return { do: "nothing" };
  const { phase, standing, finalizer } = movement;
  switch (phase) {
    case "Completed":
    case "Failed":
    case "Canceled":
      return { do: finalizer ? "release" : "nothing" }; // or it could never be deleted
    case "New":
      return whileNew(movement, situation);
    case "Accepted":
    case "Prepared":
    case "InProgress":
    case "Canceling":
      if (situation.claimedHere) return { do: "start" };
      if (!situation.leftover || standing.is === "nobodys") return { do: "nothing" };
      return standing.is === "lost" ? { do: "fail", loss: standing.loss } : { do: "giveUp" };
    default:
      return phase satisfies never;
  }
}

function whileNew({ standing, cancelAsked, deleting }: Movement, { cancelable }: Situation): Step {
  if (cancelAsked && cancelable) return { do: "endCanceled" };
  if (deleting) return { do: "nothing" };
  if (standing.is === "lost") return { do: "fail", loss: standing.loss };
  return { do: standing.is === "ready" ? "start" : "nothing" };
}

/** A movement that is gone, replaced or ended by someone else is stopped without a result. */
function whileRunning(movement: Movement | undefined, uid: string, situation: Situation): Step {
  if (movement === undefined || movement.uid !== uid || isFinal(movement.phase)) {
    return { do: "stop" };
  }
  if (movement.standing.is === "lost") return { do: "abandon", loss: movement.standing.loss };
  const asked = movement.cancelAsked || movement.deleting;
  return {
    do: asked && situation.cancelable && movement.phase !== "Canceling" ? "askCancel" : "nothing",
  };
}
