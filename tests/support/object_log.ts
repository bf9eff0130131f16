import { deadline, linked, orAbort, sleep } from "../../lib/base/abort.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import type { Resource } from "../../lib/kube/object.ts";
import type { Movable } from "../../lib/movement/kind.ts";
import type { ControlPlane } from "./control_plane.ts";

/** A version of an object, and when it was seen (`performance.now()`). */
export interface Version<T extends Movable = PodVolumeBackup> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
  readonly atMs: number;
}

/** Every version that the objects of a kind in a namespace have gone through, told by a watch. */
export interface ObjectLog<T extends Movable = PodVolumeBackup> extends AsyncDisposable {
  versions(name: string): readonly Version<T>[];
  /** The phases of an object in order, equal neighbours once; New is "". */
  phases(name: string): string[];
  /** The first version, already seen or still to come, of which the test is true. */
  until(
    name: string,
    test: (object: T) => boolean,
    limitMs?: number,
  ): Promise<T>;
}

interface Waiter<T> {
  readonly name: string;
  readonly test: (object: T) => boolean;
  readonly resolve: (object: T) => void;
}

/** Of PodVolumeBackups. */
export function logObjects(controlPlane: ControlPlane, namespace: string): ObjectLog {
  return logObjectsOf(podVolumeBackups, controlPlane, namespace);
}

export function logObjectsOf<T extends Movable>(
  { plural }: Resource<T>,
  controlPlane: ControlPlane,
  namespace: string,
): ObjectLog<T> {
  const seen = new Map<string, Version<T>[]>();
  const waiters = new Set<Waiter<T>>();
  const end = linked(new AbortController().signal);
  const note = (version: Version<T>) => {
    const { name, resourceVersion } = version.object.metadata;
    const versions = seen.get(name) ?? [];
    if (versions.at(-1)?.object.metadata.resourceVersion === resourceVersion) return;
    seen.set(name, [...versions, version]);
    for (const waiter of waiters) {
      if (waiter.name !== name || !waiter.test(version.object)) continue;
      waiters.delete(waiter);
      waiter.resolve(version.object);
    }
  };
  const following = follow<T>(controlPlane, { namespace, plural, note }, end.signal);
  return {
    versions: (name) => seen.get(name) ?? [],
    phases: (name) =>
      (seen.get(name) ?? []).map(({ object }) => object.status?.phase ?? "")
        .filter((phase, at, all) => at === 0 || phase !== all[at - 1]),
    async until(name, test, limitMs = 60_000) {
      const known = seen.get(name)?.find(({ object }) => test(object));
      if (known !== undefined) return known.object;
      const { promise, resolve } = Promise.withResolvers<T>();
      waiters.add({ name, test, resolve });
      using limit = deadline(end.signal, limitMs, `Waiting for "${name}"`);
      return await orAbort(promise, limit.signal).catch((cause) => {
        const last = JSON.stringify(seen.get(name)?.at(-1)?.object.status);
        throw new Error(`"${name}" did not become as expected; its status is ${last}`, { cause });
      });
    },
    async [Symbol.asyncDispose]() {
      end.abort();
      await following;
    },
  };
}

interface Following<T extends Movable> {
  readonly namespace: string;
  readonly plural: string;
  readonly note: (version: Version<T>) => void;
}

/** Survives an API server that is away. */
async function follow<T extends Movable>(
  controlPlane: ControlPlane,
  { namespace, plural, note }: Following<T>,
  signal: AbortSignal,
) {
  let resourceVersion = "";
  while (!signal.aborted) {
    try {
      for await (
        const { type, object } of watch<T>(
          controlPlane,
          { namespace, plural, resourceVersion },
          signal,
        )
      ) {
        resourceVersion = type === "ERROR" ? "" : object.metadata.resourceVersion ?? "";
        if (type === "ERROR") break;
        if (type !== "BOOKMARK") note({ type, object, atMs: performance.now() });
      }
    } catch {
      // The server is away, or the test is over.
    }
    await sleep(50, signal).catch(() => {});
  }
}

interface WatchLine<T extends Movable> {
  readonly type: Version["type"] | "BOOKMARK" | "ERROR";
  readonly object: T;
}

interface Where {
  readonly namespace: string;
  readonly plural: string;
  readonly resourceVersion: string;
}

async function* watch<T extends Movable>(
  { server, caFile, adminCert, adminKey }: ControlPlane,
  { namespace, plural, resourceVersion }: Where,
  signal: AbortSignal,
): AsyncGenerator<WatchLine<T>> {
  using client = Deno.createHttpClient({
    caCerts: [await Deno.readTextFile(caFile)],
    cert: await Deno.readTextFile(adminCert),
    key: await Deno.readTextFile(adminKey),
    http2: false,
  });
  const query = `watch=1&resourceVersion=${resourceVersion}`;
  const path = `/apis/velero.io/v1/namespaces/${namespace}/${plural}?${query}`;
  const { body } = await fetch(`${server}${path}`, { client, signal });
  if (body === null) return;
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const decoder = new TextDecoder();
    let rest = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + decoder.decode(read.value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line);
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel().catch(() => {});
  }
}
