/**
 * The only owner of client-node: it runs exec plugins and speaks to OIDC and cloud providers. To be
 * reached by `import()` alone, it costs 22 MiB.
 */
import { type Cluster, KubeConfig, type User } from "@kubernetes/client-node";
import { ConfigError, messageOf } from "../base/error.ts";
import type { Plugin } from "./connection.ts";
import type { Identity } from "./credentials.ts";

/** A function that asks the plugin, with a cache of its own until the credentials expire. */
export function pluginAsker(): (plugin: Plugin) => Promise<Identity> {
  let config: KubeConfig | undefined;
  return async (plugin) => {
    config ??= configFor(plugin);
    const answer: { headers?: Record<string, unknown>; cert?: unknown; key?: unknown } = {};
    try {
      // The type asks for far more than the call writes: headers, cert and key.
      await config.applyToHTTPSOptions(answer as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
    } catch (error) {
      throw new ConfigError(refusal(plugin, error));
    }
    const authorization = answer.headers?.["Authorization"];
    const { cert, key } = answer;
    if (authorization === undefined && cert === undefined) {
      throw new ConfigError(`${subject(plugin)} gave neither a token nor a certificate`);
    }
    return {
      ...(authorization === undefined ? {} : { authorization: String(authorization) }),
      ...(cert === undefined ? {} : { certificate: { cert: String(cert), key: String(key) } }),
    };
  };
}

function configFor({ exec, authProvider }: Plugin): KubeConfig {
  const config = new KubeConfig();
  const user = { name: "user", exec, authProvider } as unknown as User;
  // The address is not used: only the credentials are taken from client-node.
  const cluster: Cluster = { name: "cluster", server: "https://localhost", skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, user);
  return config;
}

function subject({ where, exec, authProvider }: Plugin): string {
  return exec === undefined
    ? `The auth provider "${authProvider?.["name"]}" of ${where}`
    : `The credential plugin "${exec["command"]}" of ${where}`;
}

/** Without the plugin's standard output, which may hold the token. */
function refusal(plugin: Plugin, error: unknown): string {
  const hint = plugin.exec?.["installHint"];
  const advice = typeof hint === "string" && hint !== "" ? `. ${hint.trim()}` : "";
  if ((error as { code?: unknown } | null)?.code === "ENOENT") {
    return `${subject(plugin)} is not installed or not in PATH${advice}`;
  }
  if (error instanceof SyntaxError || error instanceof TypeError) {
    return `${subject(plugin)} did not print an ExecCredential in JSON${advice}`;
  }
  const said = error instanceof Error && error.message.trim() === ""
    ? "it ended with an error and without a word"
    : messageOf(error).slice(0, 500);
  return `${subject(plugin)} failed: ${said}${advice}`;
}
