import type { Pod } from "../../lib/api/core.ts";
import { type PodVolumeRestore, podVolumeRestores } from "../../lib/api/pod_volume_restore.ts";
import { logObjectsOf, type ObjectLog } from "./object_log.ts";
import * as objects from "./objects.ts";
import { type Stage, type StagePod, velero } from "./stage.ts";

/** What a stage needs for restores. */
export interface Restores extends AsyncDisposable {
  readonly log: ObjectLog<PodVolumeRestore>;
  /** A pod of node-1 in namespace `app` that waits for its data, with an empty volume `data`. */
  pod(change?: objects.Change<Pod>): Promise<StagePod>;
  /** Creates a PodVolumeRestore into the pod's volume and answers its name. */
  restore(
    pod: Omit<StagePod, "volume">,
    change?: objects.Change<PodVolumeRestore>,
  ): Promise<string>;
  ended(name: string, limitMs?: number): Promise<PodVolumeRestore>;
  patch(name: string, body: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  /** Writes the pod's status, as a kubelet does. */
  podStatus(pod: StagePod, status: Pod["status"]): Promise<void>;
  /** Takes the pod from the API server at once. */
  removePod(pod: StagePod): Promise<void>;
}

const path = `${velero}/${podVolumeRestores.plural}`;

export function restoresOn(stage: Stage): Restores {
  const { call } = stage.controlPlane;
  const log = logObjectsOf(podVolumeRestores, stage.controlPlane, "velero");
  let made = 0;
  const podPath = ({ namespace, name }: StagePod) => `/api/v1/namespaces/${namespace}/pods/${name}`;
  return {
    log,
    pod(change = {}) {
      const waiting = objects.waitingForRestore();
      return stage.pod({ ...waiting, ...change, spec: { ...waiting.spec, ...change.spec } });
    },
    async restore({ namespace, name, uid }, change = {}) {
      const { spec, ...rest } = change;
      const object = objects.podVolumeRestore({
        name: `restore-${++made}`,
        ...rest,
        spec: { pod: { kind: "Pod", namespace, name, uid }, ...spec },
      });
      await call("POST", path, object);
      return object.metadata.name;
    },
    ended: (name, limitMs) =>
      log.until(
        name,
        ({ status }) => ["Completed", "Failed", "Canceled"].includes(status?.phase ?? ""),
        limitMs,
      ),
    patch: async (name, body) => void await call("PATCH", `${path}/${name}`, body),
    remove: async (name) => void await call("DELETE", `${path}/${name}`),
    podStatus: async (pod, status) =>
      void await call("PATCH", `${podPath(pod)}/status`, { status }),
    removePod: async (pod) => void await call("DELETE", `${podPath(pod)}?gracePeriodSeconds=0`),
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  };
}
