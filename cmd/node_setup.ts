/** What the agent learns of its node before it takes work: how much at once, and from which folder. */
import { ConfigError, messageOf } from "../lib/base/error.ts";
import type { Log } from "../lib/base/log.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import { nodes } from "../lib/api/core.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import type { Labels } from "../lib/kube/labels.ts";
import { concurrencyOf } from "../lib/node/concurrency.ts";
import { loadConfigMap, type LoadedConfig } from "../lib/node/config_map.ts";
import { formatFinding } from "../lib/base/finding.ts";
import { settledHostPath } from "../lib/node/host_path_check.ts";
import type { LoadConcurrency } from "../lib/node/node_agent_config.ts";
import { configFollower } from "./config_follower.ts";
import type { Watches } from "./health.ts";
import type { ServerOptions } from "./server_options.ts";

export interface NodeSetup {
  /** Movements at once. */
  readonly concurrency: number;
  /** Tells when the configuration in the cluster is no more the one in use; returns with the signal. */
  followConfig(signal: AbortSignal): Promise<void>;
}

export interface NodeSetupNeeds {
  readonly client: KubeClient;
  readonly metrics: Metrics;
  readonly watches: Watches;
  readonly log: Log;
}

/**
 * Throws `ConfigError` when the host pods folder is not that of this node, or the configuration
 * cannot be used and must; `ApiError` when the node's pods may not be listed.
 */
export async function setUpNode(
  options: ServerOptions,
  needs: NodeSetupNeeds,
  signal: AbortSignal,
): Promise<NodeSetup> {
  const { client, metrics, watches, log } = needs;
  const [loaded] = await Promise.all([
    loadConfig(options, needs, signal),
    requireHostPath(options, needs, signal),
  ]);
  const { namespace } = options;
  const follower = configFollower({ loaded, client, namespace, metrics, watches, log });
  const load = loaded?.config?.loadConcurrency;
  const concurrency = await ownConcurrency(load, { client, log, node: options.node }, signal);
  return { concurrency, followConfig: follower };
}

async function loadConfig(
  { nodeAgentConfigMap: name, namespace, hasMisspeltConfigMap, strictConfig }: ServerOptions,
  { client, log }: NodeSetupNeeds,
  signal: AbortSignal,
): Promise<LoadedConfig | undefined> {
  if (hasMisspeltConfigMap) {
    log.warn("A flag has another name; it is accepted", {
      flag: "--node-agent-config",
      name: "--node-agent-configmap",
    });
  }
  if (name === undefined) {
    log.info("No ConfigMap is named: the defaults are used");
    return undefined;
  }
  const loaded = await loadConfigMap({ client, namespace, name }, signal).catch(
    (error): LoadedConfig => {
      signal.throwIfAborted();
      const finding = { severity: "error", message: messageOf(error) } as const;
      return { source: { namespace, name }, findings: [finding] };
    },
  );
  if (loaded.config === undefined && strictConfig) {
    const all = loaded.findings.map(formatFinding).join("; ");
    throw new ConfigError(
      `Cannot use the configuration in ConfigMap "${namespace}/${name}": ${all}`,
    );
  }
  logFindings(loaded, log);
  return loaded;
}

function logFindings({ source, config, findings }: LoadedConfig, log: Log): void {
  const { name, key, resourceVersion } = source;
  const where = { configmap: name, key, resourceVersion };
  for (const { severity, message, ...place } of findings) {
    const fields = { ...where, ...place, finding: message };
    if (severity === "info") log.info("The configuration has a value to note", fields);
    else log.warn("The configuration has a fault", fields);
  }
  if (config === undefined) {
    log.warn("The configuration cannot be used: the defaults are used", where);
  } else log.info("The configuration is read", where);
}

interface OwnNode {
  readonly client: KubeClient;
  readonly log: Log;
  readonly node: string;
}

async function ownConcurrency(
  load: LoadConcurrency | undefined,
  own: OwnNode,
  signal: AbortSignal,
): Promise<number> {
  const hasRules = (load?.perNodeConfig ?? []).length > 0;
  const plan = concurrencyOf(load, hasRules ? await ownLabels(own, signal) : {});
  const { number, winner, rules } = plan;
  for (const { index, selector, verdict, reason } of rules) {
    own.log.debug("A rule of concurrency was judged", { rule: index, selector, verdict, reason });
  }
  const because = winner.by === "rule" ? `rule ${winner.index}` : winner.by;
  own.log.info("The number of movements at once is known", { concurrency: number, because });
  return number;
}

/** Undefined when the node cannot be read: then no rule matches. */
async function ownLabels(
  { client, log, node }: OwnNode,
  signal: AbortSignal,
): Promise<Labels | undefined> {
  try {
    return (await client.get(nodes, { name: node }, signal)).metadata.labels ?? {};
  } catch (error) {
    signal.throwIfAborted();
    log.warn("The node cannot be read: no rule of concurrency counts", {
      node,
      error: messageOf(error),
    });
    return undefined;
  }
}

async function requireHostPath(
  { hostPods: path, node }: ServerOptions,
  { client, log }: NodeSetupNeeds,
  signal: AbortSignal,
): Promise<void> {
  const report = await settledHostPath({ path, node, client }, signal);
  const { verdict, message, hint = "", podsChecked } = report;
  switch (verdict) {
    case "ok":
      if (podsChecked > 0) return log.debug("The host pods folder is right", { path, podsChecked });
      return log.info("The node has no running pod: is its name right?", { node, message });
    case "absent":
      return log.warn("The host pods folder does not exist: volumes of pods cannot be backed up", {
        ...{ path, hint },
      });
    case "unreadable":
    case "not-a-pods-root":
    case "uid-mismatch":
      throw new ConfigError(`The host pods folder is wrong (${verdict}): ${message}. ${hint}`);
    default:
      return verdict satisfies never;
  }
}
