/** Which revision of its configuration a running agent uses, by its metrics. */
import { deadline } from "../base/abort.ts";
import { messageOf } from "../base/error.ts";
import type { ConfigSource } from "./config_map.ts";

/** The metrics by which an agent tells; `server` sets them. */
export const configMetrics = {
  info: "longshore_config_info",
  stale: "longshore_config_stale",
  loadFailed: "longshore_config_load_failed",
} as const;

/** What an agent said. */
export interface AgentConfig {
  /** Absent: it runs without a ConfigMap. */
  readonly configmap?: string;
  readonly resourceVersion?: string;
  /** It has seen that the ConfigMap's data has changed since its start. */
  readonly stale: boolean;
}

export type AgentRevision =
  | { readonly state: "current"; readonly message: string }
  | { readonly state: "differs"; readonly message: string; readonly resourceVersion?: string }
  | { readonly state: "unknown"; readonly message: string };

const longestMs = 2_000;

/** Asks the agent at `host:port`; one that does not answer is a revision that is not known. */
export async function agentRevision(
  address: string,
  source: ConfigSource,
  signal: AbortSignal,
): Promise<AgentRevision> {
  try {
    using limit = deadline(signal, longestMs, "the request");
    const url = `http://${address}/metrics`;
    const answer = await fetch(url, { signal: limit.signal, headers: { connection: "close" } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`it answers ${answer.status} ${answer.statusText}`);
    return compareRevisions(source, readAgentConfig(text));
  } catch (error) {
    signal.throwIfAborted();
    return {
      state: "unknown",
      message: `the agent cannot be asked at ${address} from here: ${messageOf(error)}`,
    };
  }
}

/** Reads a scrape; undefined when it is not one of our agents. */
export function readAgentConfig(scrape: string): AgentConfig | undefined {
  const stale = scrape.match(new RegExp(`^${configMetrics.stale} (\\d)`, "m"))?.[1];
  if (stale === undefined) return undefined;
  const labels = scrape.match(new RegExp(`^${configMetrics.info}\\{(.*)\\} 1$`, "m"))?.[1] ?? "";
  const label = (name: string) => labels.match(new RegExp(`(?:^|,)${name}="([^"]*)"`))?.[1];
  const configmap = label("configmap");
  const resourceVersion = label("resource_version");
  return {
    stale: stale === "1",
    ...(configmap && { configmap }),
    ...(resourceVersion && { resourceVersion }),
  };
}

/** The agent's revision against the one that is there now. */
export function compareRevisions(
  source: ConfigSource,
  agent: AgentConfig | undefined,
): AgentRevision {
  const now = source.resourceVersion ?? "none";
  if (agent === undefined) {
    return {
      state: "unknown",
      message: "what answers there is no agent that tells its configuration",
    };
  }
  const { configmap, resourceVersion = "none", stale } = agent;
  if (configmap === undefined) {
    return { state: "differs", message: "the agent runs without a ConfigMap; see its flags" };
  }
  if (configmap !== source.name) {
    return {
      state: "differs",
      message: `the agent runs with ConfigMap "${configmap}"`,
      resourceVersion,
    };
  }
  if (stale) {
    const message = `the agent runs with resourceVersion ${resourceVersion}, the ConfigMap is at ` +
      `${now}; restart the agent to use it`;
    return { state: "differs", message, resourceVersion };
  }
  const same = resourceVersion === now ? "" : `; the data of resourceVersion ${now} is the same`;
  return {
    state: "current",
    message: `the agent runs with resourceVersion ${resourceVersion}${same}`,
  };
}
