/** A client without credentials, and servers that answer it as the test wants. */
import assert from "node:assert/strict";
import { ApiError } from "../../lib/kube/api_error.ts";
import { type ClientOptions, createClient, type KubeClient } from "../../lib/kube/client.ts";
import type { KubeObject, Resource } from "../../lib/kube/object.ts";

/** For calls that are to end by themselves. */
export const never = new AbortController().signal;
export const pods: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};
export const pod = { metadata: { namespace: "a", name: "p", resourceVersion: "7" } };
export const name = { namespace: "a", name: "p" };
export const watching = { resourceVersion: "1", timeoutSeconds: 60, readDeadlineMs: 20_000 };

/** Repeats without a wait worth the name. */
export function clientFor(server: string, options: Partial<ClientOptions> = {}): KubeClient {
  return createClient(
    { server, namespace: "d", source: "the test", credentials: { type: "none" } },
    { userAgent: "longshore-test", retryFirstMs: 1, ...options },
  );
}

/** `nth` counts requests from 0. */
export type Handler = (request: Request, nth: number) => Response | Promise<Response>;

/** A server that speaks HTTP properly; for one that does not see `raw_server.ts`. */
export function serve(handler: Handler) {
  const requests: { readonly url: string }[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, onError: () => new Response(null) },
    (request) => handler(request, requests.push({ url: request.url }) - 1),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A whole answer over HTTP/1.1. */
export function http(json: unknown): string {
  const body = JSON.stringify(json);
  const length = new TextEncoder().encode(body).length;
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\n\r\n${body}`;
}

/** The error of a promise that must fail with one. */
export async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert.ok(error instanceof ApiError, `${error}`);
  return error;
}

export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** Resolves when a call is about to be repeated. */
export function repetitions() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ignore = () => {};
  const debug = (sentence: string) => void (sentence.includes("is repeated") && resolve());
  return { log: { debug, info: ignore, warn: ignore, error: ignore }, repeating: promise };
}
