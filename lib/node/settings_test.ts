import assert from "node:assert/strict";
import type { NodeAgentConfig } from "./node_agent_config.ts";
import { settingsOf } from "./settings.ts";

const nodeSelector = { matchLabels: { a: "b" } };
const whole = { cpuRequest: "100m", memoryRequest: "1Gi", cpuLimit: "0", memoryLimit: "2Gi" };

const cases: readonly (readonly [NodeAgentConfig, string, string])[] = [
  [
    { loadConcurrency: { prepareQueueLength: 3 } },
    "loadConcurrency.prepareQueueLength",
    "at most 3 volumes are prepared and wait, in the whole cluster",
  ],
  [
    { loadConcurrency: { prepareQueueLength: 0 } },
    "loadConcurrency.prepareQueueLength",
    "no limit of volumes that are prepared and wait",
  ],
  [
    { loadAffinity: [{ nodeSelector }, { nodeSelector, storageClass: "fast" }, { nodeSelector }] },
    "loadAffinity",
    'nodes of mover pods for volumes of all others, class "fast"; 1 of 3 elements ignored',
  ],
  [{ loadAffinity: [] }, "loadAffinity", "none"],
  [
    { backupPVC: { a: {}, b: {} } },
    "backupPVC",
    'for classes "a", "b": how the claim made from a snapshot looks',
  ],
  [
    { restorePVC: { ignoreDelayBinding: false } },
    "restorePVC.ignoreDelayBinding",
    "a claim with delayed binding waits for a pod that consumes it",
  ],
  [
    { podResources: whole },
    "podResources",
    "mover pods request CPU 100m, memory 1Gi; limits: CPU none, memory 2Gi",
  ],
  [{ podResources: { memoryLimit: "1Gi" } }, "podResources", "none"],
  [
    { priorityClassName: "high" },
    "priorityClassName",
    'mover pods have the priority class "high", if it exists',
  ],
  [
    { privilegedFsBackup: false },
    "privilegedFsBackup",
    "pods that move pod volumes run unprivileged",
  ],
  [
    { cachePVC: { storageClass: "fast", residentThresholdInMB: 9 } },
    "cachePVC",
    'restores of more than 9 MB get a cache volume of class "fast"',
  ],
  [{ cachePVC: {} }, "cachePVC", "none"],
  [{ podLabels: { a: "b", c: "d" } }, "podLabels", "mover pods get a=b, c=d"],
  [{ podAnnotations: {} }, "podAnnotations", "none"],
];

for (const [config, key, effect] of cases) {
  Deno.test(`${JSON.stringify(config)} is told by what it comes to`, () => {
    assert.deepEqual(settingsOf(config), [{ key, effect }]);
  });
}

Deno.test("a configuration without settings has none to tell", () => {
  assert.deepEqual(settingsOf({ loadConcurrency: { globalConfig: 2 } }), []);
});
