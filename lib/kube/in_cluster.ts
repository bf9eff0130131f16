import { ConfigError } from "../base/error.ts";
import type { Connection, ConnectOptions } from "./connection.ts";

const folder = "/var/run/secrets/kubernetes.io/serviceaccount";

export type InCluster = { readonly connection: Connection } | { readonly missing: string };

/** The connection of a pod's service account, or what is missing for there to be one. */
export async function readInCluster(options: ConnectOptions): Promise<InCluster> {
  const { serviceHost, servicePort, serviceAccount: files = {}, context } = options;
  if (!serviceHost || !servicePort) {
    return { missing: "KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set" };
  }
  const token = files.token ?? `${folder}/token`;
  if (!await isFile(token)) return { missing: `no file at "${token}"` };
  if (context !== undefined && context !== "") {
    return { missing: `it has no context "${context}"` };
  }
  const ca = await readRequired(files.ca ?? `${folder}/ca.crt`);
  const namespace = await readOptional(files.namespace ?? `${folder}/namespace`);
  const host = serviceHost.includes(":") ? `[${serviceHost}]` : serviceHost;
  return {
    connection: {
      server: `https://${host}:${servicePort}`,
      namespace: namespace?.trim() || "default",
      source: "the pod's service account",
      credentials: { type: "tokenFile", path: token },
      ca,
    },
  };
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

async function readRequired(path: string): Promise<string> {
  const text = await read(path, { required: true });
  if (!text?.includes("-----BEGIN CERTIFICATE-----")) {
    throw new ConfigError(
      `Cannot use the service account: "${path}" holds no certificate in PEM form`,
    );
  }
  return text;
}

function readOptional(path: string): Promise<string | undefined> {
  return read(path, { required: false });
}

async function read(
  path: string,
  { required }: { readonly required: boolean },
): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    if (!required && cause instanceof Deno.errors.NotFound) return undefined;
    throw new ConfigError(`Cannot read "${path}" of the service account`, { cause });
  }
}
