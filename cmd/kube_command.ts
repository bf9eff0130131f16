/** What every command does that asks the cluster: which cluster, which namespace, a client. */
import { join } from "node:path";
import { ConfigError, UsageError } from "../lib/base/error.ts";
import { configureLog } from "../lib/base/log.ts";
import { defaultNamespace } from "../lib/api/names.ts";
import { createClient, type KubeClient } from "../lib/kube/client.ts";
import { connect, type ConnectOptions } from "../lib/kube/connection.ts";
import { type Command, type FlagValues, textOf, type World } from "./command.ts";
import { outputOf } from "./output.ts";

export interface Cluster extends AsyncDisposable {
  readonly client: KubeClient;
  /** Velero's. */
  readonly namespace: string;
}

/** For a one-shot command: its log goes to standard error, warnings and graver. */
export async function openCluster(
  { name }: Pick<Command, "name">,
  flags: FlagValues,
  world: World,
): Promise<Cluster> {
  configureLog({ level: "warning", format: outputOf(flags), write: world.err });
  const namespace = await namespaceOf(flags, world);
  const connection = await connect(connectOptions(flags, world));
  const client = createClient(connection, {
    userAgent: `longshore/${world.version} (linux) ${name}`,
  });
  return { client, namespace, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** The flag --node, else $NODE_NAME. Throws `UsageError`, with what else may be passed, for neither. */
export function nodeOf(flags: FlagValues, world: World, or: "" | "--all-nodes" = ""): string {
  const node = textOf(flags, "node") || world.env("NODE_NAME") || "";
  if (node !== "") return node;
  throw new UsageError(`which node? Pass --node NAME${or && `, or ${or}`}, or set NODE_NAME`);
}

export function connectOptions(flags: FlagValues, world: World): ConnectOptions {
  const given = {
    kubeconfig: textOf(flags, "kubeconfig"),
    kubeconfigVariable: world.env("KUBECONFIG"),
    context: textOf(flags, "kubecontext"),
    serviceHost: world.env("KUBERNETES_SERVICE_HOST"),
    servicePort: world.env("KUBERNETES_SERVICE_PORT"),
    home: world.env("HOME"),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value));
}

/** --namespace, then the velero client's configuration, then VELERO_NAMESPACE, then "velero". */
export async function namespaceOf(flags: FlagValues, world: World): Promise<string> {
  return textOf(flags, "namespace") || await configuredNamespace(world.env("HOME")) ||
    world.env("VELERO_NAMESPACE") || defaultNamespace;
}

async function configuredNamespace(home: string | undefined): Promise<string | undefined> {
  if (!home) return undefined;
  const path = join(home, ".config/velero/config.json");
  const text = await Deno.readTextFile(path).catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return "";
    }
    throw new ConfigError(`Cannot read "${path}"; remove it or make it readable`, { cause: error });
  });
  if (text === "") return undefined;
  try {
    const { namespace } = JSON.parse(text);
    return typeof namespace === "string" ? namespace : undefined;
  } catch (error) {
    throw new ConfigError(`"${path}" is not JSON; correct or remove it`, { cause: error });
  }
}
