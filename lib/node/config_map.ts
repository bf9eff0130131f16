import { createHash } from "node:crypto";
import type { ConfigMap } from "../api/core.ts";
import { configMaps } from "../api/core.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ObjectName } from "../kube/object.ts";
import type { Finding } from "../base/finding.ts";
import { type NodeAgentConfig, parseNodeAgentConfig } from "./node_agent_config.ts";

/** Where a configuration was read. */
export interface ConfigSource {
  readonly namespace: string;
  readonly name: string;
  /** The key whose value is the document; absent when there is not exactly one. */
  readonly key?: string;
  /** Absent when there is no such ConfigMap. */
  readonly resourceVersion?: string;
  /** Changes with the data alone, unlike resourceVersion. */
  readonly digest?: string;
}

/** A configuration that was asked for: `config` is absent when it could not be loaded. */
export interface LoadedConfig {
  readonly source: ConfigSource;
  readonly config?: NodeAgentConfig;
  readonly findings: readonly Finding[];
}

/** The ConfigMap's configuration; a ConfigMap that does not exist is a finding. Throws `ApiError`. */
export async function loadConfigMap(
  { client, namespace, name }: { readonly client: KubeClient } & Required<ObjectName>,
  signal: AbortSignal,
): Promise<LoadedConfig> {
  try {
    return readConfigMap(await client.get(configMaps, { namespace, name }, signal));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const message = `there is no ConfigMap "${name}" in namespace "${namespace}"; create it or ` +
      "correct its name in the agent's flag";
    return { source: { namespace, name }, findings: [{ severity: "error", message }] };
  }
}

/**
 * The value of the one key of `data`, whatever its name. Several keys are an error: the original up
 * to 1.17 takes one of them by chance.
 */
export function readConfigMap(configMap: ConfigMap): LoadedConfig {
  const { metadata, data = {} } = configMap;
  const { namespace = "", name, resourceVersion } = metadata;
  const found: ConfigSource = {
    ...{ namespace, name, digest: digestOf(configMap) },
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  const keys = Object.keys(data).sort();
  const [key, ...others] = keys;
  if (key === undefined || others.length > 0) {
    return {
      source: found,
      findings: [{ severity: "error", message: keysProblem(configMap, keys) }],
    };
  }
  const source = { ...found, key };
  const parsed = parseNodeAgentConfig(data[key] ?? "");
  return { source, findings: parsed.findings, ...(parsed.ok && { config: parsed.value }) };
}

/** A text that is the same for equal data. */
export function digestOf({ data = {} }: Pick<ConfigMap, "data">): string {
  const entries = Object.entries(data).sort(([a], [b]) => a < b ? -1 : 1);
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 16);
}

function keysProblem({ metadata, binaryData = {} }: ConfigMap, keys: readonly string[]): string {
  const name = `ConfigMap "${metadata.name}"`;
  if (keys.length > 0) {
    const listed = keys.map((key) => `"${key}"`).join(", ");
    return `${name} has ${keys.length} keys, ${listed}, and nothing says which one counts; leave one`;
  }
  return Object.keys(binaryData).length === 0
    ? `${name} has no data; put the configuration under one key of data`
    : `${name} has binaryData only, which is not read; put the configuration under one key of data`;
}
