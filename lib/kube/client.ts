/**
 * The contract of the Kubernetes client, and the client: calls over `transport.ts`, which owns the
 * connections, credentials, deadlines and repetitions.
 */
import type { Log } from "../base/log.ts";
import { type Calls, createCalls } from "./calls.ts";
import type { Connection } from "./connection.ts";
import type { ListPart } from "./list_items.ts";
import type { KubeObject, ObjectName, Resource } from "./object.ts";
import { openTransport } from "./transport.ts";

export interface Where {
  /** Absent: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends Where {
  /** Objects a page; the default is 500. */
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface PartsOptions extends Where {
  /** "0": as the server last knew it, which costs it least; absent: as it is now. */
  readonly resourceVersion?: "0";
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Present while more pages follow. */
  readonly continue?: string;
}

export interface WatchOptions extends Where {
  readonly resourceVersion: string;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
  /** Without a byte for so long the connection counts as dead: a TimeoutError. */
  readonly readDeadlineMs: number;
  /** The server's first answer, before any event, is told as OPENED. */
  readonly opening?: "told";
}

/** An ERROR event of the server is thrown as `ApiError`. */
export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  | { readonly type: "OPENED" };

export interface Patch extends ObjectName {
  /** A JSON merge patch; `metadata.resourceVersion` in it makes a conflict a 409. */
  readonly body: unknown;
  readonly subresource?: "status";
}

export interface Deletion extends ObjectName {
  /** Delete only this very object; another of the same name is a 409. */
  readonly uid?: string;
  readonly gracePeriodSeconds?: number;
}

export interface PodLogs extends ObjectName {
  readonly container?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

/** Every call throws `ApiError`, or the signal's reason when it was aborted. */
export interface KubeClient extends AsyncDisposable {
  /** The server's address, for messages. */
  readonly server: string;
  get<T extends KubeObject>(what: Resource<T>, name: ObjectName, signal: AbortSignal): Promise<T>;
  list<T extends KubeObject>(
    what: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ListPage<T>>;
  /** All objects, in parts as they come; unlike `list` it is never asked for again by itself. */
  listParts<T extends KubeObject>(
    what: Resource<T>,
    options: PartsOptions,
    signal: AbortSignal,
  ): AsyncGenerator<ListPart<T>>;
  /** Ends when the server ends the watch. */
  watch<T extends KubeObject>(
    what: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>>;
  create<T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal): Promise<T>;
  /** Replaces the object; its `metadata.resourceVersion` makes a conflict a 409. */
  update<T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal): Promise<T>;
  patch<T extends KubeObject>(what: Resource<T>, patch: Patch, signal: AbortSignal): Promise<T>;
  delete<T extends KubeObject>(
    what: Resource<T>,
    deletion: Deletion,
    signal: AbortSignal,
  ): Promise<void>;
  podLogs(which: PodLogs, signal: AbortSignal): Promise<string>;
}

export interface ClientOptions {
  readonly userAgent: string;
  readonly log?: Log;
  /** Longest silence of the server during a call; the default is 30 s. */
  readonly requestDeadlineMs?: number;
  /** A longer answer is refused; the default is 32 MiB, which costs about four times that in memory. */
  readonly answerLimitBytes?: number;
  /** A longer event of a watch, or object of a list in parts, is refused; the default is 16 MiB. */
  readonly lineLimitBytes?: number;
  /** How often a call is sent again; the default is 4, about 8 s in all. 0 = never. */
  readonly retries?: number;
  /** The first delay before that; the default is 500 ms. It doubles. */
  readonly retryFirstMs?: number;
}

/**
 * A client for the API server. Calls are sent again after 429, 5xx and lost connections where that
 * cannot do harm. A guarded patch (with `metadata.resourceVersion`) that was done but whose answer
 * was lost is repeated too, and then answers 409 because of itself: after a conflict read the object
 * before deciding that another has changed it. Disposing closes all sockets and ends all calls.
 */
export function createClient(connection: Connection, options: ClientOptions): KubeClient {
  const { lineLimitBytes = 16 << 20, ...rest } = options;
  const transport = openTransport(connection, {
    requestDeadlineMs: 30_000,
    answerLimitBytes: 32 << 20,
    retries: 4,
    retryFirstMs: 500,
    ...rest,
  });
  const calls: Calls = createCalls(transport, { lineLimitBytes });
  return {
    server: connection.server,
    ...calls,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}
