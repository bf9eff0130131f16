import { ConfigError } from "../base/error.ts";
import { readInCluster } from "./in_cluster.ts";

/** How a user of the cluster is known, beside a client certificate. */
export type Credentials =
  | { readonly type: "none" }
  | { readonly type: "header"; readonly authorization: string }
  | { readonly type: "tokenFile"; readonly path: string }
  | Plugin;

/** A command or provider of the kubeconfig that gives the credentials. */
export interface Plugin {
  readonly type: "plugin";
  /** For messages: `user "x" in "/path"`. */
  readonly where: string;
  readonly exec?: Readonly<Record<string, unknown>>;
  readonly authProvider?: Readonly<Record<string, unknown>>;
}

/** PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Where the API server is and who we are there. Holds secrets: never log it. */
export interface Connection {
  /** http(s) address without a slash at its end; may have a path. */
  readonly server: string;
  readonly namespace: string;
  /** For messages: `context "x" of "/path"` or `the pod's service account`. */
  readonly source: string;
  readonly credentials: Credentials;
  /**
   * PEM text. Deno trusts these authorities besides those of its own store (client-go: in their
   * place); DENO_TLS_CA_STORE chooses that store.
   */
  readonly ca?: string;
  readonly certificate?: Certificate;
  readonly insecure?: boolean;
  readonly tlsServerName?: string;
  /** May hold a password. NO_PROXY wins over it in Deno, unlike in client-go. */
  readonly proxyUrl?: string;
  /** Impersonation headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ConnectOptions {
  /** The --kubeconfig flag: must exist. */
  readonly kubeconfig?: string;
  /** The KUBECONFIG variable: files separated by ":"; of equal names the first wins. */
  readonly kubeconfigVariable?: string;
  readonly context?: string;
  /** The KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT variables. */
  readonly serviceHost?: string;
  readonly servicePort?: string;
  readonly serviceAccount?: ServiceAccountFiles;
  /** The home folder, for ~/.kube/config. */
  readonly home?: string;
}

/** Paths; what is absent is at its place in a pod. */
export interface ServiceAccountFiles {
  readonly token?: string;
  readonly ca?: string;
  readonly namespace?: string;
}

/**
 * Finds the cluster as client-go does: the flag, then KUBECONFIG, then the pod's service account,
 * then ~/.kube/config. Throws `ConfigError` with every place that was tried.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { kubeconfig, kubeconfigVariable = "", home } = options;
  if (kubeconfig) return await fromFiles([kubeconfig], options) ?? nothingIn(kubeconfig);

  const tried: string[] = [];
  const listed = kubeconfigVariable.split(":").filter((path) => path !== "");
  if (listed.length > 0) {
    const found = await fromFiles(listed, options);
    if (found) return found;
    tried.push(`KUBECONFIG (no file at ${listed.map((path) => `"${path}"`).join(", ")})`);
  } else tried.push("KUBECONFIG (not set)");

  const inCluster = await readInCluster(options);
  if ("connection" in inCluster) return inCluster.connection;
  tried.push(`a pod's service account (${inCluster.missing})`);

  if (home) {
    const path = `${home}/.kube/config`;
    const found = await fromFiles([path], options);
    if (found) return found;
    tried.push(`"${path}" (no such file)`);
  } else tried.push("~/.kube/config (no home folder known)");
  throw new ConfigError(
    `Cannot find a Kubernetes cluster. Tried ${tried.join("; ")}. ` +
      "Give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a service account",
  );
}

/** Loads the YAML library only when there is a kubeconfig. */
async function fromFiles(
  paths: readonly string[],
  { context }: ConnectOptions,
): Promise<Connection | undefined> {
  const { readKubeconfig } = await import("./kubeconfig.ts");
  const config = await readKubeconfig(paths);
  if (config === undefined) return undefined;
  const { resolveContext } = await import("./kubeconfig_context.ts");
  return await resolveContext(config, context);
}

function nothingIn(path: string): never {
  throw new ConfigError(
    `Cannot read kubeconfig "${path}": there is no such file. Check the path given with --kubeconfig`,
  );
}
