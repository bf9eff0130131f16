/** One pass over one object: look, decide, do one step. */
import type { Outcome, Reconcile } from "../kube/controller.ts";
import type { ObjectKey } from "../kube/object.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable } from "./kind.ts";
import { type Movement, nextStep, type Situation } from "./lifecycle.ts";
import type { End } from "./run.ts";
import { type Pass, start, type StartContext } from "./start.ts";
import { heldOf } from "./status.ts";
import { formatTime, messageWith } from "./text.ts";

export interface ReconcileContext<T extends Movable> extends StartContext<T> {
  readonly node: string;
  readonly capabilities: Capabilities;
  /** The object with this uid stood unfinished in the first list. */
  readonly isLeftover: (uid: string) => boolean;
}

const wait: Outcome = { then: "wait" };

export function movementReconciler<T extends Movable>(context: ReconcileContext<T>): Reconcile {
  const { kind, node, slots, read, runs } = context;
  return async (key, signal) => {
    const object = read(key);
    const running = runs.byKey.get(key);
    const step = nextStep(
      object && movementOf(object, kind.isMine(object, node)),
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
  { status, log, now, kind }: ReconcileContext<T>,
  object: T,
  { signal, reason, phase, message }: Extract<End, { readonly reason: unknown }> & {
    readonly signal: AbortSignal;
  },
): Promise<Outcome> {
  const ended = await status.claim(heldOf(object), {
    status: {
      phase,
      message: messageWith(reason, message),
      completionTimestamp: formatTime(now()),
    },
  }, signal);
  const key = `${object.metadata.namespace}/${object.metadata.name}`;
  if (ended !== undefined) log.info(`${kind.resource.kind} is ${phase}`, { key, reason });
  return wait;
}

function movementOf(object: Movable, mine: boolean): Movement {
  return {
    uid: object.metadata.uid ?? "",
    phase: object.status?.phase ?? "New",
    cancelAsked: object.spec?.cancel === true,
    deleting: object.metadata.deletionTimestamp !== undefined,
    mine,
  };
}
