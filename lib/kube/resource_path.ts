import type { KubeObject, Resource } from "./object.ts";
import { ApiError, type Attempt, unanswered } from "./api_error.ts";

export interface Target {
  readonly namespace?: string;
  /** Absent: the whole collection. */
  readonly name?: string;
  readonly subresource?: string;
}

/** What a call is about, in the words of RBAC and of error messages. */
export function attemptOf<T extends KubeObject>(
  verb: string,
  what: Resource<T>,
  { namespace, name, subresource }: Target,
): Attempt {
  const group = what.group === "" ? "" : `.${what.group}`;
  return {
    verb,
    resource: `${what.plural}${group}${subresource === undefined ? "" : `/${subresource}`}`,
    scope: !what.namespaced
      ? "the cluster"
      : namespace === undefined
      ? "all namespaces"
      : `namespace "${namespace}"`,
    ...(name === undefined ? {} : { name }),
  };
}

/**
 * The path of an object or a collection. A name that no object can have throws `ApiError`: of a get
 * as the server's own NotFound, else InvalidRequest; so does an object of a namespaced kind without
 * a namespace. The server decodes a path before it takes it apart, so encoding alone does not keep
 * a name with "/" in its segment: the rest would be read as a subresource.
 */
export function resourcePath<T extends KubeObject>(
  attempt: Attempt,
  what: Resource<T>,
  { namespace, name, subresource }: Target,
): string {
  const segment = (text: string, field: string): string => {
    if (!isSegment(text)) {
      const detail = `${JSON.stringify(text)} cannot be a ${field}`;
      throw attempt.verb === "get"
        ? new ApiError({ ...attempt, status: 404, reason: "NotFound", detail })
        : unanswered(attempt, "InvalidRequest", { detail });
    }
    return encodeURIComponent(text);
  };
  const parts = what.group === "" ? ["api", what.version] : ["apis", what.group, what.version];
  if (what.namespaced && namespace !== undefined) {
    parts.push("namespaces", segment(namespace, "namespace"));
  } else if (what.namespaced && (name !== undefined || attempt.verb === "create")) {
    throw unanswered(attempt, "InvalidRequest", { detail: `a ${what.kind} needs a namespace` });
  }
  parts.push(what.plural);
  if (name !== undefined) parts.push(segment(name, "name"));
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.join("/")}`;
}

/** As the server itself judges names that it puts into paths. */
function isSegment(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/%]/.test(text) && text.isWellFormed();
}

/** `?a=1&b=2`, without what is undefined. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) query.set(key, `${value}`);
  }
  return query.size === 0 ? "" : `?${query}`;
}
