import assert from "node:assert/strict";
import { concurrencyOf } from "../lib/node/concurrency.ts";
import { isFault } from "../lib/base/finding.ts";
import { parseNodeAgentConfig } from "../lib/node/node_agent_config.ts";
import { settingsOf } from "../lib/node/settings.ts";
import type { ConcurrencyReport, NodeReport, ReportSource } from "./concurrency_report.ts";
import { explainText } from "./concurrency_text.ts";

const nodes = {
  n1: { size: "s", zone: "a" },
  n2: { size: "l", zone: "a" },
  n3: {},
};

const source: ReportSource = {
  type: "configMap",
  named: "by flag",
  namespace: "bk",
  name: "cfg",
  key: "node-agent.json",
  resourceVersion: "1234",
};

interface Told {
  readonly document: string;
  readonly source?: ReportSource;
  readonly nodes?: readonly (keyof typeof nodes)[];
  readonly agent?: NodeReport["agent"];
}

function report({ document, agent, ...told }: Told): ConcurrencyReport {
  const parsed = parseNodeAgentConfig(document);
  const config = parsed.ok ? parsed.value : undefined;
  return {
    source: told.source ?? source,
    findings: parsed.findings,
    settings: config === undefined ? [] : settingsOf(config),
    nodes: (told.nodes ?? ["n1"]).map((node) => ({
      node,
      ...concurrencyOf(config?.loadConcurrency, nodes[node]),
      ...(agent && { agent }),
    })),
    fault: parsed.findings.some(isFault),
  };
}

const overlapping = `{
  "loadConcurrency": {
    "globalConfig": 2,
    "perNodeConfig": [
      {"nodeSelector": {"matchLabels": {"size": "s"}}, "number": 3},
      {"nodeSelector": {"matchLabels": {"zone": "a"}}, "number": 5}
    ]
  }
}`;
const faulty = `{
  "loadConcurrency": {
    "globalConfig": 0,
    "perNodeConfig": [
      {"nodeSelector": {"matchExpressions": [{"key": "zone", "operator": "Near"}]}, "number": 4},
      {"nodeSelector": {"matchLabels": {"zone": "a"}}}
    ],
    "prepareQueueLength": 10,
    "prepareQueLength": 12
  },
  "loadAffinity": [
    {"nodeSelector": {"matchLabels": {"zone": "a"}}},
    {"nodeSelector": {"matchLabels": {"zone": "b"}}}
  ],
  "podResources": {"memoryLimit": "1Gi"},
  "restorePVC": {"ignoreDelayBinding": true}
}`;

const cases: Readonly<Record<string, Told>> = {
  one_node: {
    document: overlapping,
    agent: {
      state: "differs",
      resourceVersion: "1200",
      message: "the agent runs with resourceVersion 1200, the ConfigMap is at 1234; restart the " +
        "agent to use it",
    },
  },
  all_nodes: { document: overlapping, nodes: ["n1", "n2", "n3"] },
  faults: { document: faulty },
  no_json: {
    document: '{"loadConcurrency": {"globalConfig: 2}}',
    source: { type: "file", path: "new.json" },
  },
  none: { document: "{}", source: { type: "none" } },
};

for (const [name, told] of Object.entries(cases)) {
  Deno.test(`concurrency explains the case ${name} as recorded`, async () => {
    const file = new URL(`../tests/golden/explain_${name}.txt`, import.meta.url);
    const text = explainText(report(told));
    if (Deno.env.get("UPDATE")) await Deno.writeTextFile(file, text);
    assert.equal(text, await Deno.readTextFile(file));
  });
}
