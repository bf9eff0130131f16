import { refused, unanswered } from "./api_error.ts";
import type { Deletion, KubeClient, ListOptions, ListPage, Patch, PodLogs } from "./client.ts";
import type { PartsOptions, WatchEvent, WatchOptions, Where } from "./client.ts";
import { listItems, type ListPart } from "./list_items.ts";
import type { KubeObject, ObjectName, Resource } from "./object.ts";
import { attemptOf, queryOf, resourcePath, type Target } from "./resource_path.ts";
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
    get: <T extends KubeObject>(what: Resource<T>, name: ObjectName, signal: AbortSignal) =>
      call(requestTo("get", what, { target: name }), parseObject<T>, signal),

    list: <T extends KubeObject>(what: Resource<T>, options: ListOptions, signal: AbortSignal) =>
      call(listRequest(what, options), parsePage<T>, signal),

    listParts: <T extends KubeObject>(
      what: Resource<T>,
      options: PartsOptions,
      signal: AbortSignal,
    ) => listParts<T>(partsRequest(what, options), signal),

    watch: <T extends KubeObject>(what: Resource<T>, options: WatchOptions, signal: AbortSignal) =>
      watchEvents<T>(watchRequest(what, options), options, signal),

    create: <T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal) =>
      call(createRequest(what, object), parseObject<T>, signal),

    update: <T extends KubeObject>(what: Resource<T>, object: T, signal: AbortSignal) =>
      call(updateRequest(what, object), parseObject<T>, signal),

    patch: <T extends KubeObject>(what: Resource<T>, patch: Patch, signal: AbortSignal) =>
      call(patchRequest(what, patch), parseObject<T>, signal),

    delete: <T extends KubeObject>(what: Resource<T>, deletion: Deletion, signal: AbortSignal) =>
      call(deleteRequest(what, deletion), () => undefined, signal),

    podLogs: (which: PodLogs, signal: AbortSignal) =>
      call(logsRequest(which), (text) => text, signal),
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

const methods = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const;

interface RequestParts {
  readonly target: Target;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly guarded?: boolean;
}

function requestTo<T extends KubeObject>(
  verb: keyof typeof methods,
  what: Resource<T>,
  { target, query = {}, body, contentType = "application/json", guarded = true }: RequestParts,
): Request {
  const attempt = attemptOf(verb, what, target);
  // The name of an object to be made stands in its body.
  const addressed = verb === "create" ? placeOf(target) : target;
  return {
    ...attempt,
    method: methods[verb],
    path: resourcePath(attempt, what, addressed) + queryOf(query),
    repeatable: guarded ? "always" : "unsent",
    ...(body === undefined ? {} : { body: JSON.stringify(body), contentType }),
  };
}

function selectorsOf({ labelSelector, fieldSelector }: Where) {
  return { labelSelector, fieldSelector };
}

function placeOf({ namespace }: { readonly namespace?: string }): Target {
  return namespace === undefined ? {} : { namespace };
}

function listRequest<T extends KubeObject>(what: Resource<T>, options: ListOptions): Request {
  const { limit = 500, continue: next, resourceVersion } = options;
  const query = { ...selectorsOf(options), limit, continue: next, resourceVersion };
  return requestTo("list", what, { target: placeOf(options), query });
}

function partsRequest<T extends KubeObject>(what: Resource<T>, options: PartsOptions): Request {
  const { resourceVersion } = options;
  const query = { ...selectorsOf(options), resourceVersion };
  return requestTo("list", what, { target: placeOf(options), query });
}

function watchRequest<T extends KubeObject>(what: Resource<T>, options: WatchOptions): Request {
  const { resourceVersion, timeoutSeconds } = options;
  const query = {
    ...selectorsOf(options),
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion,
    timeoutSeconds,
  };
  return requestTo("watch", what, { target: placeOf(options), query });
}

/** With the type's name: objects from a list have none. */
function bodyOf<T extends KubeObject>(what: Resource<T>, object: T): KubeObject {
  const apiVersion = what.group === "" ? what.version : `${what.group}/${what.version}`;
  return { ...object, apiVersion, kind: what.kind };
}

function createRequest<T extends KubeObject>(what: Resource<T>, object: T): Request {
  const target = targetOf(object);
  return requestTo("create", what, { target, body: bodyOf(what, object), guarded: false });
}

function updateRequest<T extends KubeObject>(what: Resource<T>, object: T): Request {
  const guarded = object.metadata.resourceVersion !== undefined;
  return requestTo("update", what, {
    target: { ...targetOf(object), name: object.metadata.name },
    body: bodyOf(what, object),
    guarded,
  });
}

/** An object that is to get a generated name has none yet. */
function targetOf({ metadata }: KubeObject): Target {
  return { ...placeOf(metadata), ...(metadata.name ? { name: metadata.name } : {}) };
}

function patchRequest<T extends KubeObject>(what: Resource<T>, patch: Patch): Request {
  const { body, ...target } = patch;
  const metadata = (body as { metadata?: { resourceVersion?: unknown } } | null)?.metadata;
  return requestTo("patch", what, {
    target,
    body,
    contentType: "application/merge-patch+json",
    guarded: typeof metadata?.resourceVersion === "string",
  });
}

function deleteRequest<T extends KubeObject>(what: Resource<T>, deletion: Deletion): Request {
  const { uid, gracePeriodSeconds, ...target } = deletion;
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
  return requestTo("delete", what, { target, body });
}

const podResource = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
} as const satisfies Resource<KubeObject>;

function logsRequest({ container, tailLines, limitBytes, ...name }: PodLogs): Request {
  const target = { ...name, subresource: "log" };
  const query = { container, tailLines, limitBytes };
  // A refusal comes as JSON; other types are answered with 406.
  return { ...requestTo("get", podResource, { target, query }), accept: "application/json, */*" };
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
