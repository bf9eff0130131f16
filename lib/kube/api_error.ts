import { messageOf } from "../base/error.ts";

/** What was asked of the API server, in the words of RBAC. */
export interface Attempt {
  /** get, list, watch, create, update, patch or delete. */
  readonly verb: string;
  /** With group and subresource: `pods`, `pods/log`, `podvolumebackups.velero.io`. */
  readonly resource: string;
  /** `namespace "velero"`, `all namespaces` or `the cluster`. */
  readonly scope: string;
  readonly name?: string;
}

export interface ApiErrorFacts extends Attempt {
  /** The HTTP code; 0 when no answer came. */
  readonly status: number;
  /**
   * `Status.reason` of the server (NotFound, Conflict, Expired, …), or where it gave none:
   * Unreachable (never sent), ConnectionLost (sent, the answer did not come whole), Timeout,
   * CertificateInvalid, CredentialsUnavailable (the cause says why), InvalidAnswer, AnswerTooLarge, InvalidRequest, ClientClosed.
   */
  readonly reason: string;
  /** What went wrong and what to do, as it shall follow "Cannot list pods …: ". */
  readonly detail: string;
  /** The server's wish, from Retry-After; at most a minute. */
  readonly retryAfterMs?: number;
}

/** A call to the API server that failed: refused by it, or without an answer. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly reason: string;
  readonly verb: string;
  readonly resource: string;
  readonly scope: string;
  readonly retryAfterMs: number | undefined;

  constructor(facts: ApiErrorFacts, options?: ErrorOptions) {
    super(`Cannot ${describe(facts)}: ${facts.detail}`, options);
    this.status = facts.status;
    this.reason = facts.reason;
    this.verb = facts.verb;
    this.resource = facts.resource;
    this.scope = facts.scope;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** `list podvolumebackups.velero.io in namespace "velero"` */
export function describe({ verb, resource, scope, name }: Attempt): string {
  const object = name === undefined ? resource : `${resource} "${name}"`;
  return `${verb} ${object}${scope === "the cluster" ? "" : ` in ${scope}`}`;
}

export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

/** The object was changed by another in between; an existing name is `isAlreadyExists`. */
export function isConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.reason !== "AlreadyExists";
}

export function isAlreadyExists(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.reason === "AlreadyExists";
}

/** The resourceVersion or the continue token is too old: list anew. */
export function isGone(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 410;
}

export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** The answer was longer than is read; a smaller page of a list may be not. */
export function isAnswerTooLarge(error: unknown): error is ApiError {
  return error instanceof ApiError && error.reason === "AnswerTooLarge";
}

const lostReasons = ["Unreachable", "ConnectionLost", "Timeout", "InvalidAnswer"];

/** The same call may succeed later with nothing changed. A watch's TimeoutError counts as well. */
export function isTransient(error: unknown): boolean {
  if (error instanceof DOMException) return error.name === "TimeoutError";
  if (!(error instanceof ApiError)) return false;
  return error.status === 0
    ? lostReasons.includes(error.reason)
    : [429, 500, 502, 503, 504].includes(error.status);
}

const rightsReasons = ["CredentialsUnavailable", "CertificateInvalid"];

/** As `isTransient`, or a refusal that people mend while we wait: rights, credentials, certificates. */
export function isMendable(error: unknown): boolean {
  if (isTransient(error)) return true;
  return error instanceof ApiError &&
    (error.status === 401 || error.status === 403 || rightsReasons.includes(error.reason));
}

/** The text and headers of a refusal as they came. */
export interface Refusal {
  readonly status: number;
  readonly statusText?: string;
  readonly retryAfter?: string | null;
  readonly body: string;
}

/** The error for an answer that is not 2xx, or for the Status in a watch's ERROR event. */
export function refused(attempt: Attempt, refusal: Refusal): ApiError {
  const { status: code } = refusal;
  const status = parseStatus(refusal.body);
  const reason = status?.reason ?? reasonOf(code, refusal.statusText);
  const said = status?.message ?? quoted(refusal.body);
  const hint = hintFor(attempt, code);
  const detail = [`${code} ${reason}${said === "" ? "" : `: ${said}`}`, hint]
    .filter((part) => part !== "").join(". ");
  const retryAfterMs = parseRetryAfter(refusal.retryAfter ?? status?.retryAfter);
  return new ApiError({
    ...attempt,
    status: code,
    reason,
    detail,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** The error for a call without a whole answer. */
export function unanswered(
  attempt: Attempt,
  reason: string,
  { detail, cause }: { readonly detail: string; readonly cause?: unknown },
): ApiError {
  return new ApiError({ ...attempt, status: 0, reason, detail }, { cause });
}

interface StatusText {
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfter?: string;
}

function parseStatus(body: string): StatusText | undefined {
  if (!body.trimStart().startsWith("{")) return undefined;
  try {
    const { kind, reason, message, details } = JSON.parse(body);
    if (kind !== "Status") return undefined;
    const seconds = details?.retryAfterSeconds;
    return {
      ...(typeof reason === "string" && reason !== "" ? { reason } : {}),
      ...(typeof message === "string" ? { message: short(message, 2_000) } : {}),
      ...(typeof seconds === "number" && seconds > 0 ? { retryAfter: `${seconds}` } : {}),
    };
  } catch {
    return undefined;
  }
}

const reasonNames: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  502: "BadGateway",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function reasonOf(code: number, statusText = ""): string {
  return reasonNames[code] ?? (statusText.replace(/[^\w]/g, "") || "Unknown");
}

function hintFor({ verb, resource, scope, name }: Attempt, code: number): string {
  const [, plain = "", group = "", sub = ""] = resource.match(/^([^./]+)(?:\.([^/]+))?(\/.*)?$/) ??
    [];
  switch (code) {
    case 401:
      return "The API server does not accept our credentials: check that the token or certificate " +
        "is of this cluster and has not expired";
    case 403:
      return `Grant the verb "${verb}" on "${plain}${sub}" in API group "${group}" for ${scope} ` +
        `with a ${scope.startsWith("namespace ") ? "Role" : "ClusterRole"} and its binding`;
    case 404:
      return name === undefined
        ? `Check that the server knows "${resource}" (is the CustomResourceDefinition installed?)`
        : "";
    default:
      return code >= 300 && code < 400
        ? "The address leads to something that redirects instead of an API server; check it"
        : "";
  }
}

/** A proxy's page in a line, without tags. */
function quoted(body: string): string {
  // A prefix only: on a long text of nothing but "<" these patterns would take minutes.
  const text = short(
    body.slice(0, 4_096).replace(/<(style|script)\b.*?<\/\1>/gis, " ").replace(/<[^>]*>/g, " "),
    200,
  );
  return text === "" ? "" : `"${text}"`;
}

function short(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** A proxy's maintenance page may ask for hours. */
const longestWishMs = 60_000;

function parseRetryAfter(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\d{1,9}$/.test(text.trim())
    ? Math.min(Number(text) * 1_000, longestWishMs)
    : undefined;
}

/** The most telling text of an error that has causes, on one line. */
export function causeText(error: unknown): string {
  return short(messageOf(error), 500);
}
