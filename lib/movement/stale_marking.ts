/** Carries out what was decided about stale objects, each guarded by the version that was judged. */
import { messageOf } from "../base/error.ts";
import type { Reason } from "../base/reason.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/api_error.ts";
import { inParallel } from "./in_parallel.ts";
import { callsAtOnce } from "./stale_cluster.ts";
import type { Candidate } from "./stale_search.ts";
import { type Change, heldOf, patcher } from "./status.ts";
import { formatTime, messageWith } from "./text.ts";
import { withoutTraces } from "./traces.ts";

/** `changed`: somebody changed it since it was judged, which proves that somebody has it in hand. */
export type Marking =
  | { readonly result: "none" | "planned" | "marked" | "canceled" | "changed" | "uncancelable" }
  | { readonly result: "error"; readonly error: string };

export interface MarkingOptions {
  readonly client: KubeClient;
  readonly dryRun: "dry-run" | "write";
  /** What is reported is asked to cancel, where its CRD knows that. */
  readonly cancel: "cancel" | "report-only";
  readonly now: () => Date;
}

export interface Marked extends Candidate {
  readonly marking: Marking;
}

/** The candidates in their order with what became of each. Throws only the signal's reason. */
export async function markStale(
  candidates: readonly Candidate[],
  options: MarkingOptions,
  signal: AbortSignal,
): Promise<readonly Marked[]> {
  return await inParallel(candidates, callsAtOnce, async (candidate) => ({
    ...candidate,
    marking: await mark(candidate, options, signal),
  }));
}

async function mark(
  candidate: Candidate,
  options: MarkingOptions,
  signal: AbortSignal,
): Promise<Marking> {
  const { decided, capabilities, object } = candidate;
  switch (decided.decision) {
    case "leave":
      return { result: "none" };
    case "fail":
      return await write(candidate, options, signal);
    case "report":
      if (options.cancel === "report-only" || object.spec?.cancel) return { result: "none" };
      if (!capabilities.cancelable) return { result: "uncancelable" };
      return await write(candidate, options, signal);
    default:
      return decided satisfies never;
  }
}

async function write(
  candidate: Candidate,
  { client, dryRun, now }: MarkingOptions,
  signal: AbortSignal,
): Promise<Marking> {
  if (dryRun === "dry-run") return { result: "planned" };
  const { kind: { resource }, capabilities, object, decided } = candidate;
  const held = heldOf(object);
  try {
    if (decided.decision === "report") {
      const { resourceVersion, ...name } = held;
      const body = { metadata: { resourceVersion }, spec: { cancel: true } };
      await client.patch(resource, { ...name, body }, signal);
      return { result: "canceled" };
    }
    if (decided.decision !== "fail") return { result: "none" };
    const send = patcher({ client, resource, capabilities });
    await send(held, failure(candidate, decided.reason, now()), signal);
    return { result: "marked" };
  } catch (error) {
    if (signal.aborted) throw error;
    if (isConflict(error) || isNotFound(error)) return { result: "changed" };
    return { result: "error", error: messageOf(error) };
  }
}

function failure(
  { kind, object, decided }: Candidate,
  reason: Reason,
  now: Date,
): Change {
  const text = `${decided.why}; it was marked as Failed by mark-stale, so ${kind.again}`;
  return {
    ...withoutTraces(kind.finalizer, object),
    status: {
      phase: "Failed",
      message: messageWith(reason, text),
      completionTimestamp: formatTime(now),
    },
  };
}
