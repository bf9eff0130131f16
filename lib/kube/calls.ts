import { refused, unanswered } from "./api_error.ts";
import type { Deletion, KubeClient, ListOptions, ListPage, Patch, PodLogs } from "./client.ts";
import type { PartsOptions, WatchEvent, WatchOptions } from "./client.ts";
import { listItems, type ListPart } from "./list_items.ts";
import type { KubeObject, ObjectName, Resource } from "./object.ts";
import {
  createRequest,
  deleteRequest,
  getRequest,
  listRequest,
  logsRequest,
  partsRequest,
  patchRequest,
  updateRequest,
  watchRequest,
} from "./requests.ts";
import { lines, TooLargeError } from "./stream.ts";
import type { Request } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/** The verbs of the client, without its end. */
export type Calls = Omit<KubeClient, "server" | typeof Symbol.asyncDispose>;

export interface CallsOptions {
  readonly lineLimitBytes: number;
}

/** The requests of each verb, and the reading of their answers. */
export function createCalls(transport: Transport, { lineLimitBytes }: CallsOptions): Calls {
  const { call } = transport;
  return {
    // All async: a request that cannot be made is a rejection, like one that is refused.
    get: async <T extends KubeObject>(what: Resource<T>, name: ObjectName, signal: AbortSignal) =>
      await call(getRequest(what, name), parseObject<T>, signal),

    list: async <T extends KubeObject>(
      what: Resource<T>,
      options: ListOptions,
      signal: AbortSignal,
    ) => await call(listRequest(what, options), parsePage<T>, signal),

    listParts: <T extends KubeObject>(
      what: Resource<T>,
      options: PartsOptions,
      signal: AbortSignal,
    ) => listParts<T>(partsRequest(what, options), signal),

    watch: <T extends KubeObject>(what: Resource<T>, options: WatchOptions, signal: AbortSignal) =>
      watchEvents<T>(watchRequest(what, options), options, signal),

    create: async <T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal) =>
      await call(createRequest(what, object), parseObject<T>, signal),

    update: async <T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal) =>
      await call(updateRequest(what, object), parseObject<T>, signal),

    patch: async <T extends KubeObject>(what: Resource<T>, patch: Patch, signal: AbortSignal) =>
      await call(patchRequest(what, patch), parseObject<T>, signal),

    delete: async <T extends KubeObject>(
      what: Resource<T>,
      deletion: Deletion,
      signal: AbortSignal,
    ) => await call(deleteRequest(what, deletion), () => undefined, signal),

    podLogs: async (which: PodLogs, signal: AbortSignal) =>
      await call(logsRequest(which), (text) => text, signal),
  };

  async function* listParts<T extends KubeObject>(
    request: Request,
    signal: AbortSignal,
  ): AsyncGenerator<ListPart<T>> {
    try {
      yield* listItems<T>(transport.read(request, signal), lineLimitBytes);
    } catch (error) {
      if (error instanceof SyntaxError) {
        const detail = "the server sent a list that is no JSON or not whole";
        throw unanswered(request, "InvalidAnswer", { detail });
      }
      throw tooLarge(error, request, "an object");
    }
  }

  async function* watchEvents<T extends KubeObject>(
    request: Request,
    { readDeadlineMs, opening }: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const bytes = transport.stream(request, { readDeadlineMs }, signal);
    try {
      if (opening === "told" && !(await bytes.next()).done) yield { type: "OPENED" };
      for await (const line of lines(bytes, lineLimitBytes)) {
        const event = parseEvent<T>(line, request);
        if (event !== undefined) yield event;
      }
    } catch (error) {
      throw tooLarge(error, request, "an event");
    } finally {
      await bytes.return(undefined);
    }
  }
}

function tooLarge(error: unknown, request: Request, what: string): unknown {
  if (!(error instanceof TooLargeError)) return error;
  const detail = `${what} has ${error.message}, which is not read`;
  return unanswered(request, "AnswerTooLarge", { detail });
}

function parseObject<T extends KubeObject>(text: string): T {
  return JSON.parse(text);
}

function parsePage<T extends KubeObject>(text: string): ListPage<T> {
  const { items, metadata } = JSON.parse(text);
  return {
    items: items ?? [],
    resourceVersion: metadata.resourceVersion ?? "",
    ...(metadata.continue ? { continue: metadata.continue } : {}),
  };
}

function parseEvent<T extends KubeObject>(
  line: string,
  request: Request,
): WatchEvent<T> | undefined {
  let event: { type?: unknown; object?: T & { code?: unknown } };
  try {
    event = JSON.parse(line);
  } catch {
    throw unanswered(request, "InvalidAnswer", {
      detail: "the server sent an event that is no JSON",
    });
  }
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return object && { type, object };
    case "BOOKMARK":
      return { type, resourceVersion: object?.metadata.resourceVersion ?? "" };
    case "ERROR": {
      const status = typeof object?.code === "number" ? object.code : 500;
      throw refused(request, { status, body: JSON.stringify(object) ?? "" });
    }
    default:
      return undefined;
  }
}
