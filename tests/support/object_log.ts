import { deadline, linked, orAbort, sleep } from "../../lib/base/abort.ts";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import type { ControlPlane } from "./control_plane.ts";

/** A version of an object, and when it was seen (`performance.now()`). */
export interface Version {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: PodVolumeBackup;
  readonly atMs: number;
}

/** Every version that the PodVolumeBackups of a namespace have gone through, told by a watch. */
export interface ObjectLog extends AsyncDisposable {
  versions(name: string): readonly Version[];
  /** The phases of an object in order, equal neighbours once; New is "". */
  phases(name: string): string[];
  /** The first version, already seen or still to come, of which the test is true. */
  until(
    name: string,
    test: (object: PodVolumeBackup) => boolean,
    limitMs?: number,
  ): Promise<PodVolumeBackup>;
}

interface Waiter {
  readonly name: string;
  readonly test: (object: PodVolumeBackup) => boolean;
  readonly resolve: (object: PodVolumeBackup) => void;
}

export function logObjects(controlPlane: ControlPlane, namespace: string): ObjectLog {
  const seen = new Map<string, Version[]>();
  const waiters = new Set<Waiter>();
  const end = linked(new AbortController().signal);
  const note = (version: Version) => {
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
  const following = follow(controlPlane, { namespace, note }, end.signal);
  return {
    versions: (name) => seen.get(name) ?? [],
    phases: (name) =>
      (seen.get(name) ?? []).map(({ object }) => object.status?.phase ?? "")
        .filter((phase, at, all) => at === 0 || phase !== all[at - 1]),
    async until(name, test, limitMs = 60_000) {
      const known = seen.get(name)?.find(({ object }) => test(object));
      if (known !== undefined) return known.object;
      const { promise, resolve } = Promise.withResolvers<PodVolumeBackup>();
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

interface Following {
  readonly namespace: string;
  readonly note: (version: Version) => void;
}

/** Survives an API server that is away. */
async function follow(
  controlPlane: ControlPlane,
  { namespace, note }: Following,
  signal: AbortSignal,
) {
  let resourceVersion = "";
  while (!signal.aborted) {
    try {
      for await (
        const { type, object } of watch(controlPlane, { namespace, resourceVersion }, signal)
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

interface WatchLine {
  readonly type: Version["type"] | "BOOKMARK" | "ERROR";
  readonly object: PodVolumeBackup;
}

async function* watch(
  { server, caFile, adminCert, adminKey }: ControlPlane,
  { namespace, resourceVersion }: { readonly namespace: string; readonly resourceVersion: string },
  signal: AbortSignal,
): AsyncGenerator<WatchLine> {
  using client = Deno.createHttpClient({
    caCerts: [await Deno.readTextFile(caFile)],
    cert: await Deno.readTextFile(adminCert),
    key: await Deno.readTextFile(adminKey),
    http2: false,
  });
  const query = `watch=1&resourceVersion=${resourceVersion}`;
  const path = `/apis/velero.io/v1/namespaces/${namespace}/podvolumebackups?${query}`;
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
