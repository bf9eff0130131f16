/** How `concurrency` tells people. */
import type { ConcurrencyPlan } from "../lib/node/concurrency.ts";
import { formatFinding } from "../lib/base/finding.ts";
import type { ConcurrencyReport, NodeReport, ReportSource } from "./concurrency_report.ts";
import { formatTable } from "./table.ts";

/** One node with every rule; several nodes as the plan of the cluster. */
export function explainText(report: ConcurrencyReport): string {
  const [only, ...others] = report.nodes;
  const parts = only !== undefined && others.length === 0 ? nodeParts(only) : [planTable(report)];
  return [
    `configuration: ${sourceText(report.source)}\n`,
    ...parts,
    section("settings", report.settings.map(({ key, effect }) => `${key}: ${effect}`)),
    section(
      "findings",
      report.findings.map((finding) => `${finding.severity}: ${formatFinding(finding)}`),
    ),
  ].filter((part) => part !== "").join("\n");
}

function sourceText(source: ReportSource): string {
  switch (source.type) {
    case "none":
      return "none; the DaemonSet node-agent names no ConfigMap, and --configmap was not given";
    case "file":
      return `file ${source.path}`;
    case "configMap": {
      const { namespace, name, key, resourceVersion, named } = source;
      return [
        `ConfigMap ${namespace}/${name} (named ${named})`,
        ...(key === undefined ? [] : [`key ${key}`]),
        ...(resourceVersion === undefined ? [] : [`resourceVersion ${resourceVersion}`]),
      ].join(", ");
    }
    default:
      return source satisfies never;
  }
}

function nodeParts(node: NodeReport): string[] {
  const { agent, rules } = node;
  return [
    `node ${node.node}: ${atOnce(node.number)}\n  ${whyText(node)}\n` +
    (agent === undefined ? "" : `  ${agent.message}\n`),
    formatTable(
      ["rule", "selector", "number", "verdict", "reason"],
      rules.map(({ index, selector, number, verdict, reason }) => [
        String(index),
        selector,
        number === undefined ? "-" : String(number),
        verdict,
        reason,
      ]),
    ),
  ];
}

function planTable({ nodes }: ConcurrencyReport): string {
  if (nodes.length === 0) return "the cluster has no nodes\n";
  const hasAgents = nodes.some(({ agent }) => agent !== undefined);
  const rows = nodes.map((node) => [
    node.node,
    String(node.number),
    whyText(node),
    ...(hasAgents ? [node.agent?.message ?? "-"] : []),
  ]);
  const total = nodes.reduce((sum, { number }) => sum + number, 0);
  return `${formatTable(["node", "number", "why", ...(hasAgents ? ["agent"] : [])], rows)}` +
    `${nodes.length} ${nodes.length === 1 ? "node" : "nodes"}, ${atOnce(total)}\n`;
}

function whyText({ winner, rules }: ConcurrencyPlan): string {
  switch (winner.by) {
    case "default":
      return rules.length === 0 ? "the default" : "the default; no rule matches";
    case "globalConfig":
      return rules.length === 0 ? "globalConfig" : "globalConfig; no rule matches";
    case "rule": {
      const matched = rules.filter(({ verdict }) => verdict === "matched").length;
      const smallest = matched > 1 ? `, the smallest number of ${matched} that match` : "";
      return `rule ${winner.index}, ${rules[winner.index]?.selector}${smallest}`;
    }
    default:
      return winner satisfies never;
  }
}

function atOnce(number: number): string {
  return `${number} ${number === 1 ? "movement" : "movements"} at once`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}
