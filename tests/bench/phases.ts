/** When each object was first seen in each phase, by a watch beside the agent. */
import { deadline, linked, orAbort } from "../../lib/base/abort.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { kubeSource } from "../../lib/kube/kube_source.ts";
import type { Resource } from "../../lib/kube/object.ts";
import { watchForever } from "../../lib/kube/watch.ts";
import { isFinal } from "../../lib/movement/lifecycle.ts";
import type { Movable } from "../../lib/movement/kind.ts";

type Phase = "InProgress" | "Completed" | "Failed";

export interface Phases extends AsyncDisposable {
  /** The moment on `performance.now()`; throws when the object ended in another way. */
  seen(name: string, phase: Phase, limitMs?: number): Promise<number>;
  /** The object once it has ended, in whatever way. */
  ended(name: string, limitMs?: number): Promise<Ended>;
}

export interface Ended {
  readonly phase: string;
  readonly message: string;
  /** Of a completed backup. */
  readonly snapshotID: string;
}

/** Follows the movements of one kind in a namespace. */
export async function followPhases<T extends Movable>(
  client: KubeClient,
  { resource, namespace }: { readonly resource: Resource<T>; readonly namespace: string },
  signal: AbortSignal,
): Promise<Phases> {
  const own = linked(signal);
  const moments = new Map<string, PromiseWithResolvers<number>>();
  const momentOf = (name: string, phase: string) => {
    const key = `${name} ${phase}`;
    const found = moments.get(key) ?? Promise.withResolvers<number>();
    found.promise.catch(() => {}); // nobody may be waiting for it
    moments.set(key, found);
    return found;
  };
  const ends = new Map<string, PromiseWithResolvers<Ended>>();
  const endOf = (name: string) => {
    const found = ends.get(name) ?? Promise.withResolvers<Ended>();
    ends.set(name, found);
    return found;
  };
  const note = ({ metadata, status }: Movable) => {
    const phase = status?.phase ?? "New";
    momentOf(metadata.name, phase).resolve(performance.now());
    if (isFinal(phase)) {
      const { message = "", snapshotID = "" } = status as Partial<Ended>;
      endOf(metadata.name).resolve({ phase, message, snapshotID });
    }
    if (phase !== "Failed" && phase !== "Canceled") return;
    const error = new Error(`"${metadata.name}" is ${phase}: ${status?.message}`);
    for (const phase of ["InProgress", "Completed"]) momentOf(metadata.name, phase).reject(error);
  };
  const listed = Promise.withResolvers<void>();
  const source = kubeSource(client, resource, { namespace, trim: trim<T> });
  const following = (async () => {
    for await (const change of watchForever(source, own.signal)) {
      if (change.type === "reset") {
        change.objects.forEach(note); // after the API server was away
        listed.resolve();
      }
      if (change.type === "set") note(change.object);
    }
  })().catch(listed.reject);
  await listed.promise;
  return {
    async seen(name, phase, limitMs = 60_000) {
      using limit = deadline(signal, limitMs, `The wait until "${name}" is ${phase}`);
      return await orAbort(momentOf(name, phase).promise, limit.signal);
    },
    async ended(name, limitMs = 60_000) {
      using limit = deadline(signal, limitMs, `The wait until "${name}" has ended`);
      return await orAbort(endOf(name).promise, limit.signal);
    },
    async [Symbol.asyncDispose]() {
      own.abort();
      await following;
      own[Symbol.dispose]();
    },
  };
}

function trim<T extends Movable>({ metadata, status }: T): T {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion }, status } as T;
}
