/** When each object was first seen in each phase, by a watch beside the agent. */
import { deadline, linked, orAbort } from "../../lib/base/abort.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { kubeSource } from "../../lib/kube/kube_source.ts";
import { watchForever } from "../../lib/kube/watch.ts";

type Phase = "InProgress" | "Completed" | "Failed";

export interface Phases extends AsyncDisposable {
  /** The moment on `performance.now()`; throws when the object ended in another way. */
  seen(name: string, phase: Phase, limitMs?: number): Promise<number>;
}

/** Follows the PodVolumeBackups of a namespace. */
export async function followPhases(
  client: KubeClient,
  namespace: string,
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
  const note = ({ metadata, status }: PodVolumeBackup) => {
    const phase = status?.phase ?? "New";
    momentOf(metadata.name, phase).resolve(performance.now());
    if (phase !== "Failed" && phase !== "Canceled") return;
    const error = new Error(`"${metadata.name}" is ${phase}: ${status?.message}`);
    for (const phase of ["InProgress", "Completed"]) momentOf(metadata.name, phase).reject(error);
  };
  const listed = Promise.withResolvers<void>();
  const source = kubeSource(client, podVolumeBackups, { namespace, trim });
  const following = (async () => {
    for await (const change of watchForever(source, own.signal)) {
      if (change.type === "reset") listed.resolve();
      if (change.type === "set") note(change.object);
    }
  })().catch(listed.reject);
  await listed.promise;
  return {
    async seen(name, phase, limitMs = 60_000) {
      using limit = deadline(signal, limitMs, `The wait until "${name}" is ${phase}`);
      return await orAbort(momentOf(name, phase).promise, limit.signal);
    },
    async [Symbol.asyncDispose]() {
      own.abort();
      await following;
      own[Symbol.dispose]();
    },
  };
}

function trim({ metadata, spec, status }: PodVolumeBackup): PodVolumeBackup {
  const { name, namespace, uid, resourceVersion } = metadata;
  const kept = { namespace: namespace ?? "", uid: uid ?? "" };
  return {
    metadata: { name, ...kept, resourceVersion: resourceVersion ?? "" },
    spec,
    ...(status && { status }),
  };
}
