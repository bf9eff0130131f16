import { rejects } from "node:assert/strict";
import { deadline, orAbort } from "../../lib/base/abort.ts";
import type { Log } from "../../lib/base/log.ts";
import type { KubeClient } from "../../lib/kube/client.ts";
import { followStore } from "../../lib/kube/controller.ts";
import { kubeSource, withoutManagedFields } from "../../lib/kube/kube_source.ts";
import type { KubeObject, ObjectKey, Resource } from "../../lib/kube/object.ts";
import { createStore, type StoreReader } from "../../lib/kube/store.ts";
import {
  newWatchHealth,
  type WatchForeverOptions,
  type WatchHealth,
} from "../../lib/kube/watch.ts";

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
export const configMaps: Resource<ConfigMap> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

/** Where the tests' ConfigMaps are. */
export const namespace = "default";

export const never = new AbortController().signal;

export interface Following extends AsyncDisposable {
  readonly store: StoreReader<ConfigMap>;
  readonly health: WatchHealth;
  readonly warnings: readonly string[];
  /** Waits until the store is so; throws after 60 s. */
  until(what: string, isSo: (store: StoreReader<ConfigMap>) => boolean): Promise<void>;
}

/** Follows the ConfigMaps marked `test=watch` until disposed. */
export function followConfigMaps(client: KubeClient, options: WatchForeverOptions = {}): Following {
  const source = kubeSource(client, configMaps, {
    namespace,
    labelSelector: "test=watch",
    trim: withoutManagedFields,
  });
  const store = createStore<ConfigMap>();
  const health = newWatchHealth();
  const { log, warnings } = warningsOnly();
  const end = new AbortController();
  let changed = Promise.withResolvers<void>();
  const note = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const following = followStore(
    { source, store, changed: note, health, log, ...options },
    end.signal,
  );
  following.catch(() => {});
  return {
    store,
    health,
    warnings,
    async until(what, isSo) {
      using limit = deadline(never, 60_000, what);
      while (!isSo(store)) await orAbort(Promise.race([changed.promise, following]), limit.signal);
    },
    async [Symbol.asyncDispose]() {
      end.abort(new Error("the test has ended"));
      await rejects(following, { message: "the test has ended" });
    },
  };
}

/** A log that keeps its warnings with their causes. */
export function warningsOnly() {
  const warnings: string[] = [];
  const quiet = () => {};
  const warn: Log["warn"] = (sentence, fields) =>
    void warnings.push(`${sentence}: ${fields?.["cause"]}`);
  return { log: { debug: quiet, info: quiet, warn, error: quiet }, warnings };
}

/** A ConfigMap that `followConfigMaps` follows. */
export function configMap(name: string, text = "1"): ConfigMap {
  return { metadata: { name, namespace, labels: { test: "watch" } }, data: { text } };
}

export const key = (name: string) => `${namespace}/${name}` as ObjectKey;
