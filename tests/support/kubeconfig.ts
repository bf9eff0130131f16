import type { KeyPair } from "./pki.ts";

export interface Kubeconfig {
  readonly server: string;
  readonly caFile: string;
  /** The `user` entry. */
  readonly user: Readonly<Record<string, string>>;
}

/** Writes a kubeconfig with one context and returns its path. JSON is YAML too. */
export async function writeKubeconfig(
  path: string,
  { server, caFile, user }: Kubeconfig,
): Promise<string> {
  const cluster = { server, "certificate-authority-data": await base64(caFile) };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user", namespace: "default" } }],
    users: [{ name: "user", user }],
  };
  await Deno.writeTextFile(path, JSON.stringify(config, undefined, 2));
  return path;
}

/** The `user` entry of a client certificate, inlined. */
export async function certificateUser({ certFile, keyFile }: KeyPair) {
  return {
    "client-certificate-data": await base64(certFile),
    "client-key-data": await base64(keyFile),
  };
}

async function base64(file: string): Promise<string> {
  return (await Deno.readFile(file)).toBase64();
}
