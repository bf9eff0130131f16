import { isShadowed, resourcesProblem } from "./config_findings.ts";
import type { LoadAffinity, NodeAgentConfig, PodResources } from "./node_agent_config.ts";

/** What one key of a configuration comes to, in words. */
export interface Setting {
  readonly key: string;
  readonly effect: string;
}

/** Every key that is set beside the rules of concurrency, with what is used of it. */
export function settingsOf(config: NodeAgentConfig): readonly Setting[] {
  return effects.flatMap(({ key, effect }) => {
    const told = effect(config);
    return told === undefined ? [] : [{ key, effect: told }];
  });
}

interface Effect {
  readonly key: string;
  readonly effect: (config: NodeAgentConfig) => string | undefined;
}

const effects: readonly Effect[] = [
  {
    key: "loadConcurrency.prepareQueueLength",
    effect: ({ loadConcurrency }) => queueEffect(loadConcurrency?.prepareQueueLength),
  },
  {
    key: "loadAffinity",
    effect: ({ loadAffinity }) => loadAffinity && affinityEffect(loadAffinity),
  },
  {
    key: "backupPVC",
    effect: ({ backupPVC }) =>
      backupPVC && `${counted(Object.keys(backupPVC))}: how the claim made from a snapshot looks`,
  },
  {
    key: "restorePVC.ignoreDelayBinding",
    effect: ({ restorePVC }) =>
      restorePVC?.ignoreDelayBinding === undefined
        ? undefined
        : restorePVC.ignoreDelayBinding
        ? "claims with delayed binding are restored without a pod that consumes them"
        : "a claim with delayed binding waits for a pod that consumes it",
  },
  {
    key: "podResources",
    effect: ({ podResources }) => podResources && resourcesEffect(podResources),
  },
  {
    key: "priorityClassName",
    effect: ({ priorityClassName }) =>
      priorityClassName &&
      `mover pods have the priority class "${priorityClassName}", if it exists`,
  },
  {
    key: "privilegedFsBackup",
    effect: ({ privilegedFsBackup }) =>
      privilegedFsBackup === undefined
        ? undefined
        : `pods that move pod volumes run ${privilegedFsBackup ? "" : "un"}privileged`,
  },
  {
    key: "cachePVC",
    effect: ({ cachePVC }) =>
      cachePVC &&
      (cachePVC.storageClass
        ? `restores of more than ${cachePVC.residentThresholdInMB ?? 0} MB get a cache volume of ` +
          `class "${cachePVC.storageClass}"`
        : "none"),
  },
  { key: "podLabels", effect: ({ podLabels }) => podLabels && onPods(podLabels) },
  {
    key: "podAnnotations",
    effect: ({ podAnnotations }) => podAnnotations && onPods(podAnnotations),
  },
];

function queueEffect(length: number | undefined): string | undefined {
  if (length === undefined) return undefined;
  return length > 0
    ? `at most ${length} volumes are prepared and wait, in the whole cluster`
    : "no limit of volumes that are prepared and wait";
}

function affinityEffect(affinities: readonly LoadAffinity[]): string {
  const used = affinities.flatMap(({ storageClass }, index) =>
    isShadowed(affinities, index) ? [] : [storageClass ? `class "${storageClass}"` : "all others"]
  );
  const ignored = affinities.length - used.length;
  const rest = ignored === 0 ? "" : `; ${ignored} of ${affinities.length} elements ignored`;
  return used.length === 0
    ? "none"
    : `nodes of mover pods for volumes of ${used.join(", ")}${rest}`;
}

function resourcesEffect(resources: PodResources): string {
  if (resourcesProblem(resources) !== undefined) return "none";
  const { cpuRequest, memoryRequest, cpuLimit, memoryLimit } = resources;
  return `mover pods request CPU ${cpuRequest}, memory ${memoryRequest}; limits: CPU ` +
    `${limit(cpuLimit)}, memory ${limit(memoryLimit)}`;
}

function limit(quantity = "0"): string {
  return quantity === "0" ? "none" : quantity;
}

function counted(classes: readonly string[]): string {
  if (classes.length === 0) return "no storage class";
  return `for ${classes.length === 1 ? "class" : "classes"} ${
    classes.map((name) => `"${name}"`).join(", ")
  }`;
}

function onPods(entries: Readonly<Record<string, string>>): string {
  const listed = Object.entries(entries).map(([key, value]) => `${key}=${value}`).join(", ");
  return listed === "" ? "none" : `mover pods get ${listed}`;
}
