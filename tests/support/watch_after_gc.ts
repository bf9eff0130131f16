/**
 * Run with --v8-flags=--expose-gc and a kubeconfig: collects garbage while a watch is quiet, aborts
 * it, and prints the milliseconds until it has ended.
 */
import { connect } from "../../lib/kube/connection.ts";
import { createClient } from "../../lib/kube/client.ts";
import { kubeSource, withoutManagedFields } from "../../lib/kube/kube_source.ts";
import type { KubeObject, Resource } from "../../lib/kube/object.ts";
import { newWatchHealth, watchForever } from "../../lib/kube/watch.ts";

const configMaps: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const { gc } = globalThis as { readonly gc?: () => void };
const connection = await connect({ kubeconfig: Deno.args[0] ?? "" });
await using client = createClient(connection, { userAgent: "test" });
const end = new AbortController();
const health = newWatchHealth();

async function follow(): Promise<void> {
  const source = kubeSource(client, configMaps, { trim: withoutManagedFields });
  for await (const change of watchForever(source, end.signal, { health })) void change;
}

const following = follow();
while (!health.listed) await new Promise((resolve) => setTimeout(resolve, 10));
for (let round = 0; round < 10; round++) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  gc?.();
}
const started = performance.now();
end.abort(new Error("enough"));
await following.catch(() => {});
console.log(`gc ${typeof gc}, ended after ${Math.round(performance.now() - started)} ms`);
