/** The requests of each verb: method, path, query and body, and when one may be sent again. */
import type { Deletion, ListOptions, PartsOptions, Patch, PodLogs } from "./client.ts";
import type { WatchOptions, Where } from "./client.ts";
import type { Request } from "./exchange.ts";
import type { KubeObject, ObjectName, Resource } from "./object.ts";
import { attemptOf, queryOf, resourcePath, type Target } from "./resource_path.ts";

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

/** One object. */
export function getRequest<T extends KubeObject>(what: Resource<T>, name: ObjectName): Request {
  return requestTo("get", what, { target: name });
}

function selectorsOf({ labelSelector, fieldSelector }: Where) {
  return { labelSelector, fieldSelector };
}

function placeOf({ namespace }: { readonly namespace?: string }): Target {
  return namespace === undefined ? {} : { namespace };
}

/** A page, of 500 objects where no limit is given. */
export function listRequest<T extends KubeObject>(
  what: Resource<T>,
  options: ListOptions,
): Request {
  const { limit = 500, continue: next, resourceVersion } = options;
  const query = { ...selectorsOf(options), limit, continue: next, resourceVersion };
  return requestTo("list", what, { target: placeOf(options), query });
}

/** All objects in one answer. */
export function partsRequest<T extends KubeObject>(
  what: Resource<T>,
  options: PartsOptions,
): Request {
  const { resourceVersion } = options;
  const query = { ...selectorsOf(options), resourceVersion };
  return requestTo("list", what, { target: placeOf(options), query });
}

/** With bookmarks. */
export function watchRequest<T extends KubeObject>(
  what: Resource<T>,
  options: WatchOptions,
): Request {
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

/** Is never sent again by itself: a first try may have made the object. */
export function createRequest<T extends KubeObject>(what: Resource<T>, object: T): Request {
  const target = targetOf(object);
  return requestTo("create", what, { target, body: bodyOf(what, object), guarded: false });
}

/** May be sent again when the object's `resourceVersion` guards it. */
export function updateRequest<T extends KubeObject>(what: Resource<T>, object: T): Request {
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

/** A merge patch; may be sent again when a `resourceVersion` in its body guards it. */
export function patchRequest<T extends KubeObject>(what: Resource<T>, patch: Patch): Request {
  const { body, ...target } = patch;
  const metadata = (body as { metadata?: { resourceVersion?: unknown } } | null)?.metadata;
  return requestTo("patch", what, {
    target,
    body,
    contentType: "application/merge-patch+json",
    guarded: typeof metadata?.resourceVersion === "string",
  });
}

/** May be sent again; then "not found" is no error. */
export function deleteRequest<T extends KubeObject>(
  what: Resource<T>,
  deletion: Deletion,
): Request {
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

/** Text, where everything else answers in JSON. */
export function logsRequest({ container, tailLines, limitBytes, ...name }: PodLogs): Request {
  const target = { ...name, subresource: "log" };
  const query = { container, tailLines, limitBytes };
  // A refusal comes as JSON; other types are answered with 406.
  return { ...requestTo("get", podResource, { target, query }), accept: "application/json, */*" };
}
