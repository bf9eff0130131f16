import type { KeyPair } from "./pki.ts";

export interface Access {
  readonly server: string;
  readonly caFile: string;
  readonly admin: KeyPair;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** A connection of its own each time: what stays open would count as a leak of the test. */
export async function request<T>(access: Access, { method, path, body }: Request): Promise<T> {
  using client = Deno.createHttpClient({
    caCerts: [await Deno.readTextFile(access.caFile)],
    cert: await Deno.readTextFile(access.admin.certFile),
    key: await Deno.readTextFile(access.admin.keyFile),
  });
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const response = await fetch(`${access.server}${path}`, {
    client,
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": type } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  const isJson = response.headers.get("content-type")?.includes("json");
  return (isJson ? JSON.parse(text) : text) as T;
}
