import { deepEqual, equal } from "node:assert/strict";
import { podPhase, type TrimmedPod, trimPod } from "./pods.ts";

const served = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "s",
    uid: "u1",
    resourceVersion: "7",
    labels: { app: "web" },
    annotations: { "kubernetes.io/config.mirror": "h1", note: "x".repeat(1000) },
    managedFields: [{ manager: "kubectl" }],
  },
  spec: {
    nodeName: "n1",
    containers: [{ name: "c", image: "i" }],
    initContainers: [{ name: "restore-wait", image: "i" }],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "c1", readOnly: false } },
      { name: "tmp", emptyDir: {} },
      { name: "inline", csi: { driver: "d", volumeAttributes: { a: "b" } } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
    ],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    initContainerStatuses: [
      { name: "restore-wait", image: "i", state: { running: { startedAt: "t" } } },
      { name: "later", image: "i" },
    ],
  },
};

Deno.test("a trimmed pod holds the fields we read and no others", () => {
  deepEqual(trimPod(served as TrimmedPod), {
    metadata: {
      name: "web",
      namespace: "s",
      uid: "u1",
      resourceVersion: "7",
      labels: { app: "web" },
      annotations: { "kubernetes.io/config.mirror": "h1" },
    },
    spec: {
      nodeName: "n1",
      initContainers: [{ name: "restore-wait" }],
      containers: [{ name: "c" }],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: "c1" } },
        { name: "tmp" },
        { name: "inline", csi: { driver: "d" } },
        { name: "scratch", ephemeral: {} },
      ],
    },
    status: {
      phase: "Running",
      initContainerStatuses: [
        { name: "restore-wait", state: { running: { startedAt: "t" } } },
        { name: "later" },
      ],
    },
  });
});

Deno.test("a pod without a phase is Pending", () => {
  equal(podPhase({}), "Pending");
  equal(podPhase(served as TrimmedPod), "Running");
});
