/** What the original decides silently about a configuration that parses, as findings. */
import { messageOf } from "../base/error.ts";
import { type LabelSelector, selectorProblems } from "../kube/labels.ts";
import { parseQuantity } from "../kube/quantity.ts";
import type { Finding } from "../base/finding.ts";
import type { LoadAffinity, NodeAgentConfig, NodeRule, PodResources } from "./node_agent_config.ts";

/** All findings about the values, each with its path. */
export function configFindings(config: NodeAgentConfig): readonly Finding[] {
  return [
    ...concurrencyFindings(config),
    ...affinityFindings(config.loadAffinity ?? []),
    ...resourceFindings(config.podResources),
    ...cacheFindings(config),
  ];
}

/** Why a rule counts for no node; undefined for a rule that is in order. */
export function ruleProblem({ nodeSelector = {}, number }: NodeRule): string | undefined {
  const problems = selectorProblems(nodeSelector).map((problem) => `nodeSelector.${problem}`);
  if (number === undefined) problems.push("it has no number");
  else if (number <= 0) problems.push(`its number ${number} is not above 0`);
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** Why the block is not used: the original takes all of it or nothing. Undefined when it is used. */
export function resourcesProblem(resources: PodResources): string | undefined {
  const missing = required.filter((key) => (resources[key] ?? "") === "");
  if (missing.length > 0) {
    return `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`;
  }
  const wrong = quantities.flatMap((key) => quantityProblem(key, resources[key]));
  if (wrong.length > 0) return wrong.join("; ");
  const above = pairs.filter(([request, limit]) => isAbove(resources[request], resources[limit]));
  return above.length === 0
    ? undefined
    : above.map(([request, limit]) => `${request} is above ${limit}`).join("; ");
}

/** Whether an element before it stands for the same storage class: the first one counts. */
export function isShadowed(affinities: readonly LoadAffinity[], index: number): boolean {
  const classOf = (at: number) => affinities[at]?.storageClass ?? "";
  return affinities.findIndex((_, at) => classOf(at) === classOf(index)) < index;
}

function concurrencyFindings({ loadConcurrency = {} }: NodeAgentConfig): Finding[] {
  const { globalConfig, perNodeConfig = [], prepareQueueLength } = loadConcurrency;
  const found: Finding[] = [];
  const path = "loadConcurrency";
  if (globalConfig !== undefined && globalConfig <= 0) {
    const message = `${globalConfig} is not above 0; 1 is used`;
    found.push({ severity: "warning", path: `${path}.globalConfig`, message });
  }
  for (const [index, rule] of perNodeConfig.entries()) {
    const own = `${path}.perNodeConfig[${index}]`;
    const problem = ruleProblem(rule);
    if (problem !== undefined) {
      const message = `this rule counts for no node: ${problem}`;
      found.push({ severity: "warning", path: own, message });
    } else if (isEmpty(rule.nodeSelector)) {
      const message = "an empty nodeSelector matches every node";
      found.push({ severity: "info", path: own, message });
    }
  }
  if (prepareQueueLength !== undefined && prepareQueueLength <= 0) {
    const message = `${prepareQueueLength} sets no limit; a limit is a number above 0`;
    found.push({ severity: "info", path: `${path}.prepareQueueLength`, message });
  }
  return found;
}

function affinityFindings(affinities: readonly LoadAffinity[]): Finding[] {
  return affinities.flatMap(({ nodeSelector = {}, storageClass = "" }, index) => {
    const path = `loadAffinity[${index}]`;
    const found: Finding[] = selectorProblems(nodeSelector)
      .map((message) => ({ severity: "warning", path: `${path}.nodeSelector`, message }));
    if (isShadowed(affinities, index)) {
      const what = storageClass === "" ? "without a storageClass" : `for class "${storageClass}"`;
      const message = `this element is ignored: of those ${what} only the first one counts`;
      found.push({ severity: "warning", path, message });
    }
    return found;
  });
}

const required = ["cpuRequest", "memoryRequest", "cpuLimit", "memoryLimit"] as const;
const quantities = [...required, "ephemeralStorageRequest", "ephemeralStorageLimit"] as const;
const pairs = [
  ["cpuRequest", "cpuLimit"],
  ["memoryRequest", "memoryLimit"],
  ["ephemeralStorageRequest", "ephemeralStorageLimit"],
] as const;

function resourceFindings(resources: PodResources | undefined): Finding[] {
  const problem = resources && resourcesProblem(resources);
  if (problem === undefined) return [];
  const message = `nothing of it is used, because ${problem} (${required.join(", ")} must all be ` +
    'quantities, "0" for none); effective: mover pods without requests and limits';
  return [{ severity: "warning", path: "podResources", message }];
}

function quantityProblem(key: string, value: string | undefined): string[] {
  if (value === undefined || value === "") return [];
  try {
    parseQuantity(value);
    return [];
  } catch (error) {
    return [`${key}: ${messageOf(error)}`];
  }
}

/** A limit of 0 is none. */
function isAbove(request = "0", limit = "0"): boolean {
  const most = parseQuantity(limit || "0").milli;
  return most !== 0n && parseQuantity(request || "0").milli > most;
}

function cacheFindings({ cachePVC }: NodeAgentConfig): Finding[] {
  if (cachePVC === undefined || (cachePVC.storageClass ?? "") !== "") return [];
  const message =
    "nothing of it is used, because storageClass is missing; effective: no cache volume";
  return [{ severity: "warning", path: "cachePVC", message }];
}

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
