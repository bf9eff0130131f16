import { sleep } from "../base/abort.ts";
import { backoffMs, type BackoffOptions } from "../base/backoff.ts";
import { messageOf } from "../base/error.ts";
import { type Log, logger } from "../base/log.ts";
import { isConflict, isNotFound, isTransient } from "./api_error.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject, ObjectName, Resource } from "./object.ts";

/** A JSON merge patch: what shall be different; null removes a field, a list replaces the whole. */
export type MergePatch<T> = T extends readonly unknown[] ? T
  : T extends object ? { readonly [K in keyof T]?: MergePatch<T[K]> | null }
  : T;

export interface Update<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly name: ObjectName;
  /** Pure, and called again after a conflict; `undefined` = nothing to do. */
  readonly change: (object: T) => MergePatch<T> | undefined;
  /** Only where the CRD has the status subresource; Velero's have none. */
  readonly subresource?: "status";
}

/**
 * Read, change, send; after a conflict again, until the signal ends. Answers the object as the server
 * then has it. Throws every other `ApiError`: a missing object is a 404.
 */
export async function update<T extends KubeObject>(
  client: KubeClient,
  { resource, name, change, subresource }: Update<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let conflicts = 0;; conflicts++) {
    const object = await client.get(resource, name, signal);
    const patch = change(object);
    if (patch === undefined) return object;
    try {
      const body = guarded(patch, object);
      return await client.patch(resource, {
        ...name,
        body,
        ...(subresource && { subresource }),
      }, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    await sleep(backoffMs(conflicts, { firstMs: 10, maxMs: 1_000, jitter: 0.5 }), signal);
  }
}

export interface Claim<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** As it was read: the claim succeeds only if nobody has changed it since. */
  readonly object: T;
  readonly patch: MergePatch<T>;
}

/**
 * Sends once; false when another was first or the object is no more. After a lost answer the
 * repetition of one's own write looks like a conflict too: whoever gets false reads before it
 * concludes that another has the object.
 */
export async function claim<T extends KubeObject>(
  client: KubeClient,
  { resource, object, patch }: Claim<T>,
  signal: AbortSignal,
): Promise<T | false> {
  const { name, namespace } = object.metadata;
  const which = namespace === undefined ? { name } : { name, namespace };
  try {
    return await client.patch(resource, { ...which, body: guarded(patch, object) }, signal);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

export interface WriteUntilDone {
  /** For the log: `the final status of PodVolumeBackup "velero/b1-x"`. */
  readonly what: string;
  /** By default 200 ms, doubling up to 10 s. */
  readonly retry?: BackoffOptions;
  /** Which failures may pass by themselves; by default those of `isTransient`. */
  readonly mayPass?: (error: unknown) => boolean;
  readonly log?: Log;
}

/**
 * Repeats a write that may be repeated until it succeeds, for what must not be lost while the API
 * server is away. Throws the signal's reason, or an error that no repetition will cure.
 */
export async function writeUntilDone<R>(
  write: (signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
  options: WriteUntilDone,
): Promise<R> {
  const { what, retry = { firstMs: 200, maxMs: 10_000 }, log = logger("update") } = options;
  const { mayPass = isTransient } = options;
  let reported: string | undefined;
  for (let attempt = 0;; attempt++) {
    signal.throwIfAborted();
    try {
      return await write(signal);
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error;
      const cause = messageOf(error);
      if (cause !== reported) log.warn("The write failed and is repeated", { what, cause });
      reported = cause;
    }
    await sleep(backoffMs(attempt, retry), signal);
  }
}

function guarded(patch: object, object: KubeObject): object {
  const { metadata = {} } = patch as { readonly metadata?: object };
  const { resourceVersion } = object.metadata;
  if (resourceVersion === undefined) {
    throw new Error(`"${object.metadata.name}" was kept without its resourceVersion`);
  }
  return { ...patch, metadata: { ...metadata, resourceVersion } };
}
