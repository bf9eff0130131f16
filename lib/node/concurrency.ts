import { formatSelector, type Labels, type LabelSelector } from "../kube/labels.ts";
import { matchesLabels, selectorProblems } from "../kube/labels.ts";
import { ruleProblem } from "./config_findings.ts";
import type { LoadConcurrency, NodeRule } from "./node_agent_config.ts";

/** How many movements run at once on a node, and why. */
export interface ConcurrencyPlan {
  /** At least 1. */
  readonly number: number;
  readonly winner: Winner;
  /** What counts where no rule matches. */
  readonly global: number;
  readonly rules: readonly JudgedRule[];
}

export type Winner =
  | { readonly by: "default" }
  | { readonly by: "globalConfig" }
  | { readonly by: "rule"; readonly index: number };

export interface JudgedRule {
  readonly index: number;
  /** The selector in short, `size=s,zone in (a,b)`. */
  readonly selector: string;
  readonly number?: number;
  readonly verdict: "matched" | "not matched" | "invalid";
  readonly reason: string;
}

/**
 * The number for a node with these labels: the smallest number of the rules that match, whatever
 * their order and even above the global one; else the global one; else 1. Labels that are undefined
 * are not known, and then no rule matches.
 */
export function concurrencyOf(
  { globalConfig, perNodeConfig = [] }: LoadConcurrency = {},
  labels: Labels | undefined,
): ConcurrencyPlan {
  const isGiven = globalConfig !== undefined && globalConfig > 0;
  const global = isGiven ? globalConfig : 1;
  const rules = perNodeConfig.map((rule, index) => judged(rule, index, labels));
  const [best] = rules
    .filter(({ verdict }) => verdict === "matched")
    .sort((a, b) => numberOf(a) - numberOf(b) || a.index - b.index);
  if (best !== undefined) {
    return { number: numberOf(best), winner: { by: "rule", index: best.index }, global, rules };
  }
  return { number: global, winner: { by: isGiven ? "globalConfig" : "default" }, global, rules };
}

function numberOf({ number = 1 }: JudgedRule): number {
  return number;
}

function judged(rule: NodeRule, index: number, labels: Labels | undefined): JudgedRule {
  const { nodeSelector = {}, number } = rule;
  const known = {
    index,
    selector: selectorText(nodeSelector),
    ...(number !== undefined && { number }),
  };
  const problem = ruleProblem(rule);
  if (problem !== undefined) return { ...known, verdict: "invalid", reason: problem };
  if (labels === undefined) {
    return { ...known, verdict: "not matched", reason: "the node's labels are not known" };
  }
  const unmet = requirementsOf(nodeSelector).filter((one) => !matchesLabels(one, labels));
  if (unmet.length > 0) {
    const reason = unmet.map((one) => unmetText(one, labels)).join("; ");
    return { ...known, verdict: "not matched", reason };
  }
  const isEmpty = requirementsOf(nodeSelector).length === 0;
  const reason = isEmpty ? "an empty selector matches every node" : "the node has these labels";
  return { ...known, verdict: "matched", reason };
}

/** The selector as selectors of one requirement each; all of them must match. */
function requirementsOf(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
): LabelSelector[] {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ matchLabels: { [key]: value } })),
    ...matchExpressions.map((expression) => ({ matchExpressions: [expression] })),
  ];
}

function unmetText(requirement: LabelSelector, labels: Labels): string {
  const [key = ""] = Object.keys(requirement.matchLabels ?? {})
    .concat(requirement.matchExpressions?.map(({ key }) => key) ?? []);
  const wanted = selectorText(requirement);
  return Object.hasOwn(labels, key)
    ? `wants ${wanted}, the node has ${key}=${labels[key]}`
    : `wants ${wanted}, the node has no label ${key}`;
}

/** The short form; one with problems has none, and is shown as it was written. */
function selectorText(selector: LabelSelector): string {
  if (selectorProblems(selector).length > 0) return JSON.stringify(selector);
  return formatSelector(selector) || "{}";
}
