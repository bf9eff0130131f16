import assert from "node:assert/strict";
import type { ContainerStatus, Pod, PodPhase } from "../api/core.ts";
import type { PodVolumeRestore } from "../api/pod_volume_restore.ts";
import { judgePod } from "./target_pod.ts";

const restore: PodVolumeRestore = {
  metadata: { name: "r", namespace: "velero" },
  spec: {
    backupStorageLocation: "default",
    pod: { namespace: "app", name: "web", uid: "u1" },
    repoIdentifier: "",
    snapshotID: "0".repeat(32),
    sourceNamespace: "app",
    volume: "data",
  },
};

interface Change {
  readonly uid?: string;
  readonly nodeName?: string;
  readonly phase?: PodPhase;
  readonly initContainers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly state?: NonNullable<ContainerStatus["state"]>;
}

function pod(change: Change = {}): Pod {
  const { uid = "u1", nodeName = "n1", phase = "Pending", initContainers = ["restore-wait"] } =
    change;
  const { state = { running: {} }, deletionTimestamp } = change;
  return {
    metadata: {
      ...{ name: "web", namespace: "app", uid },
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: {
      nodeName,
      containers: [{ name: "web" }],
      initContainers: initContainers.map((name) => ({ name })),
    },
    status: { phase, initContainerStatuses: [{ name: "restore-wait", state }] },
  };
}

const table: readonly (readonly [string, Change, string])[] = [
  ["a pod that waits here is ready", {}, "ready"],
  ["a pod of another node is elsewhere", { nodeName: "n2" }, "elsewhere"],
  ["a pod without a node is unscheduled", { nodeName: "" }, "unscheduled"],
  ["a pod whose wait has not begun waits", { state: { waiting: {} } }, "waiting"],
  ["a pod whose wait is over waits", { state: { terminated: { exitCode: 0 } } }, "waiting"],
  ["a pod that failed is lost", { phase: "Failed" }, "lost"],
  ["a pod that succeeded is lost", { phase: "Succeeded" }, "lost"],
  ["a pod that is being deleted leaves", { deletionTimestamp: "2026-01-01T00:00:00Z" }, "leaving"],
  ["another pod of the name is lost", { uid: "u2" }, "lost"],
  ["another pod of the name on another node is lost", { uid: "u2", nodeName: "n2" }, "lost"],
  ["a pod without the init container is odd", { initContainers: ["init"] }, "odd"],
  ["the old name of the init container does not count", { initContainers: ["restic-wait"] }, "odd"],
];

for (const [sentence, change, expected] of table) {
  Deno.test(sentence, () => assert.equal(judgePod(restore, pod(change), "n1").is, expected));
}

Deno.test("an init container in front of restore-wait is worth a warning, not a refusal", () => {
  const judged = judgePod(restore, pod({ initContainers: ["before", "restore-wait"] }), "n1");
  assert(judged.is === "ready" && judged.oddity !== undefined);
  const first = judgePod(restore, pod({ initContainers: ["restore-wait", "after"] }), "n1");
  assert(first.is === "ready" && first.oddity === undefined);
});

Deno.test("an object that names no uid is matched by the pod's name", () => {
  const { uid: _, ...named } = restore.spec.pod;
  const anonymous = { ...restore, spec: { ...restore.spec, pod: named } };
  assert.equal(judgePod(anonymous, pod({ uid: "whatever" }), "n1").is, "ready");
});
