/** The one place that writes the status of a movement. */
import { isConflict, isMendable, isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ObjectMeta, Resource } from "../kube/object.ts";
import { writeUntilDone } from "../kube/update.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Movable } from "./kind.ts";
import { isFinal } from "./lifecycle.ts";

/** Which object, as far as it is known here. */
export interface Held {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface Change {
  readonly status: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** null takes a label off. */
  readonly labels?: Readonly<Record<string, string | null>>;
  /** All that shall stay. */
  readonly finalizers?: readonly string[];
}

export interface StatusWriter {
  /**
   * Sends the change once, if nobody changed the object since. Undefined when somebody did, or when
   * the object is gone: then it is not ours.
   */
  claim(held: Held, change: Change, signal: AbortSignal): Promise<Held | undefined>;
  /**
   * Sends fields that nobody else writes, whatever happened to the object meanwhile. Answers the
   * object's new version, or what was given when it is not ours any more.
   */
  report(held: Held, change: Change, signal: AbortSignal): Promise<Held>;
  /**
   * Writes a result until it is written, through conflicts and through an API server that is away.
   * `overtaken`: the object was ended by someone else, or is gone; nothing was changed then.
   */
  finish(held: Held, change: Change, signal: AbortSignal): Promise<"written" | "overtaken">;
}

export interface StatusOptions<T extends Movable> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly capabilities: Pick<Capabilities, "statusSubresource" | "statusFields">;
  /** Stands in the claim annotation, so that a claim whose answer was lost is known again. */
  readonly holder: string;
}

/** On an object: which agent process took it. */
export const holderAnnotation = "longshore/holder";

/** The node of the agent that took an object; undefined when none of ours did. */
export function holderNode({ annotations }: ObjectMeta): string | undefined {
  return annotations?.[holderAnnotation]?.split("/")[0];
}

export function statusWriter<T extends Movable>(options: StatusOptions<T>): StatusWriter {
  const { client, resource, capabilities, holder } = options;
  const send = patcher(options);
  return {
    async claim(held, { status, ...metadata }, signal) {
      const annotations = { ...metadata.annotations, [holderAnnotation]: holder };
      try {
        return heldOf(await send(held, { status, ...metadata, annotations }, signal));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) throw error;
        // The claim may have been carried out with its answer lost, and then refused when repeated.
        const now = await current(client, resource, held, signal);
        const ours = now?.metadata.annotations?.[holderAnnotation] === holder &&
          now.status?.phase === status.phase;
        return ours ? heldOf(now) : undefined;
      }
    },
    async report(held, change, signal) {
      if (isNothing(change, capabilities)) return held;
      const now = await send({ ...held, resourceVersion: "" }, change, signal);
      const ours = now.metadata.uid === held.uid && !isFinal(now.status?.phase ?? "New");
      return ours ? heldOf(now) : held;
    },
    finish(held, wanted, signal) {
      const change = { ...wanted, status: fitting(wanted.status, capabilities) };
      const what = `the result of ${resource.kind} "${held.namespace}/${held.name}"`;
      const options = { what, mayPass: isMendable };
      return writeUntilDone((signal) => finishOnce(held, change, signal), signal, options);
    },
  };

  async function finishOnce(held: Held, change: Change, signal: AbortSignal) {
    for (let at = held;;) {
      try {
        await send(at, change, signal);
        return "written";
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
      const now = await current(client, resource, held, signal);
      if (now === undefined) return "overtaken";
      if (isFinal(now.status?.phase ?? "New")) return isSame(now, change) ? "written" : "overtaken";
      at = heldOf(now);
    }
  }
}

/**
 * One merge patch, guarded when a resourceVersion is given; through the status address as well where
 * the CRD has one.
 */
export function patcher<T extends Movable>(
  { client, resource, capabilities }: Omit<StatusOptions<T>, "holder">,
) {
  return async (held: Held, change: Change, signal: AbortSignal): Promise<T> => {
    const { status: wanted, ...edits } = change;
    const status = fitting(wanted, capabilities);
    const { namespace, name } = held;
    const guard = held.resourceVersion === "" ? {} : { resourceVersion: held.resourceVersion };
    const metadata = { ...guard, ...edits };
    if (!capabilities.statusSubresource) {
      const body = { metadata, status };
      return await client.patch(resource, { namespace, name, body }, signal);
    }
    let version: { readonly resourceVersion?: string } = guard;
    if (Object.keys(edits).length > 0) {
      const edited = await client.patch(resource, { namespace, name, body: { metadata } }, signal);
      const { resourceVersion } = heldOf(edited);
      if (guard.resourceVersion !== undefined) version = { resourceVersion };
    }
    const patch = {
      namespace,
      name,
      body: { metadata: version, status },
      subresource: "status",
    } as const;
    return await client.patch(resource, patch, signal);
  };
}

/** The CRD keeps none of it: a patch would be a write for nothing, every few seconds. */
function isNothing(
  { status, ...edits }: Change,
  capabilities: Pick<Capabilities, "statusFields">,
): boolean {
  return Object.keys({ ...fitting(status, capabilities), ...edits }).length === 0;
}

/** Only what the CRD keeps. */
function fitting(
  status: Change["status"],
  { statusFields }: Pick<Capabilities, "statusFields">,
): Change["status"] {
  if (statusFields === undefined) return status;
  return Object.fromEntries(Object.entries(status).filter(([field]) => statusFields.has(field)));
}

/** The object as it is now; undefined when it is gone or another one has its name. */
async function current<T extends Movable>(
  client: KubeClient,
  resource: Resource<T>,
  { namespace, name, uid }: Held,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    const object = await client.get(resource, { namespace, name }, signal);
    return object.metadata.uid === uid ? object : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function heldOf({ metadata }: Movable): Held {
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
  };
}

/** The result that we find is the one that we wrote: its answer had been lost. */
function isSame(object: Movable, { status }: Change): boolean {
  const found: Readonly<Record<string, unknown>> = { ...object.status };
  return ["phase", "message", "snapshotID", "completionTimestamp"]
    .every((field) => (found[field] ?? undefined) === (status[field] ?? undefined));
}
