/** Gathers what `concurrency` tells. */
import { ConfigError, UsageError } from "../lib/base/error.ts";
import { type Node, nodes, type Pod } from "../lib/api/core.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import { listAll } from "../lib/kube/pages.ts";
import { agentPods, configMapOfAgents } from "../lib/node/agent_daemon_set.ts";
import { type AgentRevision, agentRevision } from "../lib/node/agent_revision.ts";
import { concurrencyOf, type ConcurrencyPlan } from "../lib/node/concurrency.ts";
import { type ConfigSource, loadConfigMap } from "../lib/node/config_map.ts";
import { type Finding, isFault } from "../lib/base/finding.ts";
import { type NodeAgentConfig, parseNodeAgentConfig } from "../lib/node/node_agent_config.ts";
import { type Setting, settingsOf } from "../lib/node/settings.ts";
import type { ListenAddress } from "./server_options.ts";

/** Where the configuration is from; a ConfigMap's name may have been found in the agents' flags. */
export type ReportSource =
  | { readonly type: "none" }
  | { readonly type: "file"; readonly path: string }
  | ({ readonly type: "configMap"; readonly named: "by flag" | "by the agents" } & ConfigSource);

export interface ConcurrencyReport {
  readonly source: ReportSource;
  readonly findings: readonly Finding[];
  readonly settings: readonly Setting[];
  readonly nodes: readonly NodeReport[];
  /** The configuration has a fault, or an agent runs with another one. */
  readonly fault: boolean;
}

export interface NodeReport extends ConcurrencyPlan {
  readonly node: string;
  /** Absent where there is no ConfigMap to compare with. */
  readonly agent?: AgentRevision;
}

export interface ConfigFile {
  readonly path: string;
  readonly document: string;
}

export interface ConcurrencyQuestion {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Undefined: all nodes. */
  readonly node: string | undefined;
  readonly configFile?: ConfigFile;
  readonly configMap?: string;
  /** Where agents serve their metrics; without a host at their pods' addresses. */
  readonly agentAddress: ListenAddress;
}

/** Throws `ApiError` for what the cluster refuses. */
export async function concurrencyReport(
  question: ConcurrencyQuestion,
  signal: AbortSignal,
): Promise<ConcurrencyReport> {
  const [loaded, found] = await Promise.all([load(question, signal), findNodes(question, signal)]);
  const { source, config, findings } = loaded;
  const plans = found.map(({ metadata: { name, labels = {} } }) => ({
    node: name,
    ...concurrencyOf(config?.loadConcurrency, labels),
  }));
  const reports: readonly NodeReport[] = source.type === "configMap"
    ? await withAgents(plans, { question, source }, signal)
    : plans;
  return {
    source,
    findings,
    settings: config === undefined ? [] : settingsOf(config),
    nodes: reports,
    fault: findings.some(isFault) ||
      reports.some(({ agent }) => agent?.state === "differs"),
  };
}

/** Asked at once: in a big cluster seen from outside, each of them takes the longest wait. */
const askedAtOnce = 100;

async function withAgents(
  plans: readonly NodeReport[],
  { question, source }: {
    readonly question: ConcurrencyQuestion;
    readonly source: ConfigSource;
  },
  signal: AbortSignal,
): Promise<readonly NodeReport[]> {
  const agents = await agentsOf(question, signal);
  const ask = async (plan: NodeReport): Promise<NodeReport> => {
    const address = addressOf(agents.get(plan.node), question.agentAddress);
    if (address === undefined) return { ...plan, agent: noAgent };
    return { ...plan, agent: await agentRevision(address, source, signal) };
  };
  const told: NodeReport[] = [];
  for (let at = 0; at < plans.length; at += askedAtOnce) {
    told.push(...await Promise.all(plans.slice(at, at + askedAtOnce).map(ask)));
  }
  return told;
}

const noAgent: AgentRevision = {
  state: "unknown",
  message: "no running agent is known on this node",
};

interface Loaded {
  readonly source: ReportSource;
  readonly config?: NodeAgentConfig;
  readonly findings: readonly Finding[];
}

async function load(question: ConcurrencyQuestion, signal: AbortSignal): Promise<Loaded> {
  const { configFile, configMap } = question;
  if (configFile !== undefined && configMap !== undefined) {
    throw new UsageError("--config-file and --configmap do not go together");
  }
  if (configFile !== undefined) return parseFile(configFile);
  const name = configMap ?? await configMapOfAgents(question, signal);
  if (name === undefined) return { source: { type: "none" }, findings: [] };
  const { source, ...loaded } = await loadConfigMap({ ...question, name }, signal);
  const named = configMap === undefined ? "by the agents" : "by flag";
  return { source: { type: "configMap", named, ...source }, ...loaded };
}

/** Throws `ConfigError` where the file cannot be read. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  const document = await Deno.readTextFile(path).catch((cause) => {
    throw new ConfigError(`Cannot read the configuration "${path}"; check --config-file`, {
      cause,
    });
  });
  return { path, document };
}

function parseFile({ path, document }: ConfigFile): Loaded {
  const parsed = parseNodeAgentConfig(document);
  const { findings } = parsed;
  return { source: { type: "file", path }, findings, ...(parsed.ok && { config: parsed.value }) };
}

async function findNodes(
  { client, node }: ConcurrencyQuestion,
  signal: AbortSignal,
): Promise<readonly Node[]> {
  return node === undefined
    ? await listAll({ client, what: nodes }, {}, signal)
    : [await client.get(nodes, { name: node }, signal)];
}

/** The agents are a help, not a condition: who may not list pods gets the plan all the same. */
async function agentsOf(
  question: ConcurrencyQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Pod>> {
  try {
    return await agentPods(question, signal);
  } catch {
    signal.throwIfAborted();
    return new Map();
  }
}

function addressOf(pod: Pod | undefined, { hostname, port }: ListenAddress): string | undefined {
  const host = hostname || pod?.status?.podIP;
  if (host === undefined) return undefined;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
