/** One pass over one object: look, decide, do one step. */
import { labels } from "../api/names.ts";
import type { Outcome, Reconcile } from "../kube/controller.ts";
import { keyOf, type ObjectKey } from "../kube/object.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable, MovementKind } from "./kind.ts";
import { type Movement, nextStep, type Situation } from "./lifecycle.ts";
import type { End } from "./run.ts";
import { type Pass, start, type StartContext } from "./start.ts";
import { type Change, heldOf } from "./status.ts";
import { formatTime, messageWith } from "./text.ts";

export interface ReconcileContext<T extends Movable> extends StartContext<T> {
  readonly node: string;
  readonly capabilities: Capabilities;
  /** The object with this uid stood unfinished in the first list. */
  readonly isLeftover: (uid: string) => boolean;
}

const wait: Outcome = { then: "wait" };

export function movementReconciler<T extends Movable>(context: ReconcileContext<T>): Reconcile {
  const { node, slots, read, runs } = context;
  return async (key, signal) => {
    const object = read(key);
    const running = runs.byKey.get(key);
    const step = nextStep(
      object && movementOf(context, object),
      {
        ...(running && { running }),
        leftover: object !== undefined && context.isLeftover(object.metadata.uid ?? ""),
        cancelable: context.capabilities.cancelable,
      } satisfies Situation,
    );
    if (step.do !== "start") slots.forget(key);
    switch (step.do) {
      case "nothing":
        return wait;
      case "stop":
        running?.stop("ObjectDeleted");
        return wait;
      case "start":
        return object === undefined ? wait : await start(context, key, { object, signal });
      case "release":
        return object === undefined ? wait : await release(context, object, signal);
      case "askCancel":
        return object === undefined ? wait : await askCancel(context, key, { object, signal });
      case "endCanceled":
        return object === undefined ? wait : await endUnmoved(context, object, {
          phase: "Canceled",
          reason: step.why,
          message: "The movement was canceled before it began",
          signal,
        });
      case "giveUp":
        return object === undefined ? wait : await endUnmoved(context, object, {
          phase: "Failed",
          reason: step.why,
          message: `The agent of node "${node}" was restarted while it was ` +
            `${object.status?.phase}; its data is not complete, so back up again`,
          signal,
        });
      default:
        return step satisfies never;
    }
  };
}

async function askCancel<T extends Movable>(
  { status, runs, log }: ReconcileContext<T>,
  key: ObjectKey,
  { object, signal }: Pass<T>,
): Promise<Outcome> {
  log.info("A movement is asked to cancel", { key });
  try {
    await status.claim(heldOf(object), { status: { phase: "Canceling" } }, signal);
  } finally {
    runs.byKey.get(key)?.stop("Canceled"); // also when the API server does not answer
  }
  return wait;
}

/** Ends an object that does not move: a conflict means that somebody else changed it, so look again. */
async function endUnmoved<T extends Movable>(
  { status, log, now, kind, observe }: ReconcileContext<T>,
  object: T,
  { signal, ...end }: Unmoved,
): Promise<Outcome> {
  const { phase, reason, message } = end;
  const ended = await status.claim(heldOf(object), {
    ...withoutTraces(kind, object),
    status: {
      phase,
      message: messageWith(reason, message),
      completionTimestamp: formatTime(now()),
    },
  }, signal);
  if (ended === undefined) return wait;
  log.info(`${kind.resource.kind} is ${phase}`, { key: keyOf(object), reason });
  observe.ended(object, end, { durationMs: 0 });
  return wait;
}

type Unmoved = Extract<End, { readonly reason: unknown }> & { readonly signal: AbortSignal };

/** Takes off what an agent of Velero 1.17 left, so that the object can be deleted. */
async function release<T extends Movable>(
  { status, log, kind }: ReconcileContext<T>,
  object: T,
  signal: AbortSignal,
): Promise<Outcome> {
  await status.claim(heldOf(object), { ...withoutTraces(kind, object), status: {} }, signal);
  log.info("The finalizer of an earlier agent is taken off", { key: keyOf(object) });
  return wait;
}

function withoutTraces<T extends Movable>(
  { finalizer }: MovementKind<T>,
  { metadata: { finalizers = [], labels: found = {} } }: T,
): Pick<Change, "finalizers" | "labels"> {
  const left = finalizers.filter((name) => name !== finalizer);
  return {
    ...(left.length !== finalizers.length && { finalizers: left }),
    ...(labels.exposeOngoing in found && { labels: { [labels.exposeOngoing]: null } }),
  };
}

function movementOf<T extends Movable>(
  { kind, node }: ReconcileContext<T>,
  object: T,
): Movement {
  return {
    uid: object.metadata.uid ?? "",
    phase: object.status?.phase ?? "New",
    cancelAsked: object.spec?.cancel === true,
    deleting: object.metadata.deletionTimestamp !== undefined,
    mine: kind.isMine(object, node),
    finalizer: object.metadata.finalizers?.includes(kind.finalizer) ?? false,
  };
}
