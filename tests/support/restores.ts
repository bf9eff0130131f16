import assert from "node:assert/strict";
import type { Pod } from "../../lib/api/core.ts";
import { type PodVolumeRestore, podVolumeRestores } from "../../lib/api/pod_volume_restore.ts";
import type { Reason } from "../../lib/base/reason.ts";
import type { Agent } from "./agent.ts";
import { randomFile } from "./kopia.ts";
import { assertWhole } from "./messages.ts";
import { logObjectsOf, type ObjectLog } from "./object_log.ts";
import * as objects from "./objects.ts";
import { type Stage, type StagePod, startStage, velero } from "./stage.ts";
import { stepsOf } from "./steps.ts";
import { tempFolder } from "./temp.ts";

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

/** What the steps of a test about restores have in common. */
export interface RestoreGround {
  readonly stage: Stage;
  readonly restores: Restores;
  readonly agent: Agent;
  /** Snapshots: of one file, and of what takes kopia a moment. */
  readonly small: string;
  readonly large: string;
}

export type RestoreSteps = Readonly<Record<string, (ground: RestoreGround) => Promise<void>>>;

/** Runs the steps in order, on one cluster with one agent. */
export async function runRestoreSteps(t: Deno.TestContext, steps: RestoreSteps): Promise<void> {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  using home = tempFolder("home");
  await using agent = await stage.agent({ home: home.path });
  const step = stepsOf(t);
  const [small, large] = await Promise.all([
    backUp(stage, (volume) => Deno.writeTextFile(`${volume}/file`, "text")),
    backUp(stage, (volume) => randomFile(`${volume}/random`, 120)),
  ]);
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, restores, agent, small, large }));
  }
}

/** Backs up a volume that `fill` fills, and answers the snapshot. */
export async function backUp(
  stage: Stage,
  fill: (volume: string) => Promise<void>,
): Promise<string> {
  const pod = await stage.pod();
  await fill(pod.volume);
  const { status } = await stage.ended(await stage.backup(pod));
  assert.equal(status?.phase, "Completed", status?.message);
  return status.snapshotID ?? "";
}

export async function assertCompleted(restores: Restores, name: string): Promise<void> {
  const { status } = await restores.ended(name);
  assert.equal(status?.phase, "Completed", status?.message);
}

/** Fails unless the restore fails with the reason, in a whole sentence, which is answered. */
export async function assertFailed(
  restores: Restores,
  name: string,
  reason: Reason,
): Promise<string> {
  const { status } = await restores.ended(name);
  const message = status?.message ?? "";
  assert.equal(status?.phase, "Failed");
  assert(message.startsWith(`${reason}: `), message);
  assertWhole(message);
  assert(status.completionTimestamp);
  return message;
}
