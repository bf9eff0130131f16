/** Which objects an agent that is gone has left under way. Pure. */
import type { WatchChange } from "../kube/watch.ts";
import type { Movable } from "./kind.ts";
import { holderAnnotation } from "./status.ts";

export interface LeftoverFacts {
  /** This process. */
  readonly holder: string;
  /** Whether the change is of the first list, or when this process began. */
  readonly since: "first list" | { readonly beganMs: number };
}

/**
 * The uids of what is under way in a change and was begun by another process than this one. All of a
 * first list, even one begun anew. Afterwards what was taken before this process began: the first list
 * may be older than the last claim of the agent before, or that claim was still on its way.
 */
export function leftIn<T extends Movable>(
  change: WatchChange<T>,
  facts: LeftoverFacts,
): readonly string[] {
  if (change.type === "gone") return [];
  const objects = change.type === "set" ? [change.object] : change.objects;
  return objects.filter((object) => isLeft(object, facts)).map(({ metadata }) =>
    metadata.uid ?? ""
  );
}

function isLeft({ metadata, status = {} }: Movable, { holder, since }: LeftoverFacts): boolean {
  if ((status.phase ?? "New") === "New" || metadata.annotations?.[holderAnnotation] === holder) {
    return false;
  }
  if (since === "first list") return true;
  const takenMs = Date.parse(status.startTimestamp ?? "");
  return takenMs < wholeSeconds(since.beganMs); // never so when it does not say
}

/** As objects have their times: what was taken in the same second may be a later one's. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}
