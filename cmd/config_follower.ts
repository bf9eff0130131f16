/** Notices that the ConfigMap has changed since the agent read it, and shows both in the metrics. */
import type { Log } from "../lib/base/log.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import { type ConfigMap, configMaps } from "../lib/api/core.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import { kubeSource } from "../lib/kube/kube_source.ts";
import type { KubeObject } from "../lib/kube/object.ts";
import { watchForever } from "../lib/kube/watch.ts";
import { configMetrics } from "../lib/node/agent_revision.ts";
import { addWatch, type Watches } from "./health.ts";
import { digestOf, type LoadedConfig } from "../lib/node/config_map.ts";

export interface ConfigFollowerOptions {
  /** Undefined: no ConfigMap was named, and there is nothing to follow. */
  readonly loaded: LoadedConfig | undefined;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly metrics: Metrics;
  readonly watches: Watches;
  readonly log: Log;
}

/** All that is kept of the ConfigMap. */
interface Revision extends KubeObject {
  readonly digest: string;
}

/** Sets the metrics of the configuration at once; the function it answers keeps them right. */
export function configFollower(
  { loaded, client, namespace, metrics, watches, log }: ConfigFollowerOptions,
): (signal: AbortSignal) => Promise<void> {
  const stale = configGauges(metrics, loaded);
  if (loaded === undefined) return () => Promise.resolve();
  const { name, resourceVersion = "none", digest } = loaded.source;
  const source = kubeSource<ConfigMap, Revision>(client, configMaps, {
    namespace,
    fieldSelector: `metadata.name=${name}`,
    trim: ({ metadata: { uid = "", resourceVersion = "" }, ...rest }) => ({
      metadata: { namespace, name, uid, resourceVersion },
      digest: digestOf(rest),
    }),
  });
  const health = addWatch(watches, configMaps.plural);
  let told = digest;
  const notice = (now: Revision | undefined) => {
    stale.set({}, now?.digest === digest ? 0 : 1);
    if (now?.digest === told) return;
    told = now?.digest;
    const facts = {
      configmap: name,
      used: resourceVersion,
      now: now?.metadata.resourceVersion ?? "none",
    };
    if (told === digest) log.info("The configuration is the one in use again", facts);
    else log.warn("The configuration has changed: restart the agent to use it", facts);
  };
  return async (signal) => {
    try {
      for await (const change of watchForever(source, signal, { health })) {
        if (change.type === "set") notice(change.object);
        else notice(change.type === "reset" ? change.objects[0] : undefined);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
}

function configGauges(metrics: Metrics, loaded: LoadedConfig | undefined) {
  const stale = metrics.gauge({
    name: configMetrics.stale,
    help: "1 when the ConfigMap's data is no more what the agent has read.",
  });
  const failed = metrics.gauge({
    name: configMetrics.loadFailed,
    help: "1 when the ConfigMap could not be used and the defaults are.",
  });
  const info = metrics.gauge({
    name: configMetrics.info,
    help: "The ConfigMap that the agent has read, as labels.",
    labels: ["configmap", "key", "resource_version"],
  });
  stale.set({}, 0);
  failed.set({}, loaded !== undefined && loaded.config === undefined ? 1 : 0);
  if (loaded !== undefined) {
    const { name, key = "", resourceVersion = "" } = loaded.source;
    info.set({ configmap: name, key, resource_version: resourceVersion }, 1);
  }
  return stale;
}
