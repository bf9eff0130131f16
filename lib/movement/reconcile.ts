/** One pass over one object: look, decide, do one step. */
import type { Outcome, Reconcile } from "../kube/controller.ts";
import { keyOf, type ObjectKey } from "../kube/object.ts";
import type { Movable } from "./kind.ts";
import { isFinal, type Movement, nextStep, type Standing, type Step } from "./lifecycle.ts";
import type { End } from "./run.ts";
import { start, type StartContext } from "./start.ts";
import { heldOf, holderAnnotation } from "./status.ts";
import { formatTime, messageWith } from "./text.ts";
import { withoutTraces } from "./traces.ts";

export interface ReconcileContext<T extends Movable> extends StartContext<T> {
  /** Stands in the objects that this process has claimed. */
  readonly holder: string;
  /** The object with this uid stood unfinished in the first list. */
  readonly isLeftover: (uid: string) => boolean;
}

const wait: Outcome = { then: "wait" };

export function movementReconciler<T extends Movable>(context: ReconcileContext<T>): Reconcile {
  const { slots, read, runs } = context;
  return async (key, signal) => {
    const object = read(key);
    const running = runs.byKey.get(key);
    if (object === undefined) context.kind.standings?.forget(key);
    const standing = object && await standingOf(context, object, signal);
    const step = nextStep(object && standing && movementOf(context, object, standing), {
      ...(running && { running }),
      leftover: object !== undefined && context.isLeftover(object.metadata.uid ?? ""),
      claimedHere: object !== undefined && isClaimedHere(context, object),
      cancelable: context.capabilities.cancelable,
    });
    if (step.do !== "start") slots.forget(key);
    if (step.do === "stop") running?.stop("ObjectDeleted");
    else if (step.do === "abandon") running?.stop(step.loss);
    else if (step.do !== "nothing" && object !== undefined) {
      await perform(context, step, { key, object, signal });
    }
    return step.do === "nothing" && standing && "againMs" in standing
      ? { then: "again", afterMs: standing.againMs ?? 0 }
      : wait;
  };
}

/** Asked only where it matters: what others have in hand is theirs. */
async function standingOf<T extends Movable>(
  { kind: { standings }, runs, isLeftover }: ReconcileContext<T>,
  object: T,
  signal: AbortSignal,
): Promise<Standing> {
  if (standings === undefined) return { is: "ready" };
  const phase = object.status?.phase ?? "New";
  if (phase === "New") return await standings.of(object, "new", signal);
  if (isFinal(phase)) return await standings.of(object, "ended", signal);
  const isHere = runs.byKey.has(keyOf(object)) || isLeftover(object.metadata.uid ?? "");
  return isHere ? await standings.of(object, "begun", signal) : { is: "waiting" };
}

function isClaimedHere<T extends Movable>(
  { unanswered, holder }: ReconcileContext<T>,
  { metadata }: T,
): boolean {
  return unanswered.has(metadata.uid ?? "") && metadata.annotations?.[holderAnnotation] === holder;
}

interface Pass<T extends Movable> {
  readonly key: ObjectKey;
  readonly object: T;
  readonly signal: AbortSignal;
}

function perform<T extends Movable>(
  context: ReconcileContext<T>,
  step: Exclude<Step, { readonly do: "nothing" | "stop" | "abandon" }>,
  pass: Pass<T>,
): Promise<void> {
  switch (step.do) {
    case "start":
      return start(context, pass.key, pass.object);
    case "release":
      return release(context, pass);
    case "askCancel":
      return askCancel(context, pass);
    case "endCanceled":
      return endUnmoved(context, pass, {
        phase: "Canceled",
        reason: "Canceled",
        message: "The movement was canceled before it began",
      });
    case "giveUp":
      return endUnmoved(context, pass, {
        phase: "Failed",
        reason: "AgentRestarted",
        message: `The agent of node "${context.node}" was restarted while it was ` +
          `${pass.object.status?.phase}; its data is not complete, so ${context.kind.again}`,
      });
    case "fail":
      return endUnmoved(context, pass, { phase: "Failed", ...step.loss });
    default:
      return step satisfies never;
  }
}

async function askCancel<T extends Movable>(
  { status, runs, log }: ReconcileContext<T>,
  { key, object, signal }: Pass<T>,
): Promise<void> {
  log.info("A movement is asked to cancel", { key });
  try {
    await status.claim(heldOf(object), { status: { phase: "Canceling" } }, signal);
  } finally {
    runs.byKey.get(key)?.stop("Canceled"); // also when the API server does not answer
  }
}

/** Ends an object that does not move. Where somebody changed it first, the watch brings it again. */
async function endUnmoved<T extends Movable>(
  { status, log, now, kind, observe, isLeftover }: ReconcileContext<T>,
  { key, object, signal }: Pass<T>,
  end: Extract<End, { readonly reason: unknown }>,
): Promise<void> {
  const { phase, reason, message } = end;
  const ended = await status.claim(heldOf(object), {
    ...withoutTraces(kind.finalizer, object),
    status: {
      phase,
      message: messageWith(reason, message),
      completionTimestamp: formatTime(now()),
    },
  }, signal);
  if (ended === undefined) return;
  // There may be thousands after a start; their number is told.
  const tell = isLeftover(object.metadata.uid ?? "") ? log.debug : log.info;
  tell(`${kind.resource.kind} is ${phase}`, { key, reason });
  observe.ended(object, end, {});
}

/** Takes off what an agent of Velero 1.17 left, so that the object can be deleted. */
async function release<T extends Movable>(
  { status, log, kind }: ReconcileContext<T>,
  { key, object, signal }: Pass<T>,
): Promise<void> {
  const change = { ...withoutTraces(kind.finalizer, object), status: {} };
  if (await status.claim(heldOf(object), change, signal) === undefined) return;
  log.info("The finalizer of an earlier agent is taken off", { key });
}

function movementOf<T extends Movable>(
  { kind }: ReconcileContext<T>,
  object: T,
  standing: Standing,
): Movement {
  return {
    uid: object.metadata.uid ?? "",
    phase: object.status?.phase ?? "New",
    cancelAsked: object.spec?.cancel === true,
    deleting: object.metadata.deletionTimestamp !== undefined,
    standing,
    finalizer: object.metadata.finalizers?.includes(kind.finalizer) ?? false,
  };
}
