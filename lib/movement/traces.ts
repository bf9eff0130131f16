import { labels } from "../api/names.ts";
import type { Movable } from "./kind.ts";
import type { Change } from "./status.ts";

/** Takes off what an agent of Velero 1.17 left on an object, so that it can be deleted. */
export function withoutTraces(
  finalizer: string,
  { metadata: { finalizers = [], labels: found = {} } }: Movable,
): Pick<Change, "finalizers" | "labels"> {
  const left = finalizers.filter((name) => name !== finalizer);
  return {
    ...(left.length !== finalizers.length && { finalizers: left }),
    ...(labels.exposeOngoing in found && { labels: { [labels.exposeOngoing]: null } }),
  };
}
