import assert from "node:assert/strict";
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
  isTransient,
  refused,
  unanswered,
} from "./api_error.ts";

const list = {
  verb: "list",
  resource: "podvolumebackups.velero.io",
  scope: 'namespace "velero"',
};
const status = (code: number, reason: string, message = "the server's words") =>
  refused(list, {
    status: code,
    body: JSON.stringify({ kind: "Status", code, reason, message, details: {} }),
  });

Deno.test("a refusal for want of rights names verb, resource, scope and the rule to add", () => {
  const error = status(403, "Forbidden", 'User "x" cannot list resource');
  assert.equal(
    error.message,
    'Cannot list podvolumebackups.velero.io in namespace "velero": 403 Forbidden: User "x" cannot ' +
      'list resource. Grant the verb "list" on "podvolumebackups" in API group "velero.io" for ' +
      'namespace "velero" with a Role and its binding',
  );
  const facts = [error.status, error.reason, error.verb, error.resource, error.scope];
  assert.deepEqual(facts, [403, "Forbidden", ...Object.values(list)]);
  const core = { verb: "get", resource: "pods/log", scope: "all namespaces" };
  assert.match(
    refused(core, { status: 403, body: "" }).message,
    /"get" on "pods\/log" in API group "" for all namespaces with a ClusterRole/,
  );
});

Deno.test("each predicate knows its own errors only", () => {
  const table = [
    [status(404, "NotFound"), isNotFound],
    [status(409, "Conflict"), isConflict],
    [status(409, "AlreadyExists"), isAlreadyExists],
    [status(410, "Expired"), isGone],
    [status(403, "Forbidden"), isForbidden],
  ] as const;
  for (const [error] of table) {
    for (const [own, predicate] of table) {
      assert.equal(predicate(error), own === error, `${predicate.name} of ${error.reason}`);
    }
    assert.equal(isTransient(error), false);
  }
  assert.equal(isNotFound(new Error("404")), false);
});

Deno.test("what may pass by itself is transient", () => {
  for (const code of [429, 500, 502, 503, 504]) assert.ok(isTransient(status(code, "")), `${code}`);
  for (const reason of ["Unreachable", "ConnectionLost", "Timeout"]) {
    assert.ok(isTransient(unanswered(list, reason, { detail: "x" })), reason);
  }
  assert.ok(isTransient(new DOMException("silent", "TimeoutError")));
  assert.equal(isTransient(unanswered(list, "CertificateInvalid", { detail: "x" })), false);
  assert.equal(isTransient(new DOMException("stop", "AbortError")), false);
  assert.equal(isTransient(undefined), false);
});

Deno.test("a proxy's page is quoted on one short line", () => {
  const page = `<html><head><style>p { color: red }</style></head>\n<body>
    <h1>502 Bad  Gateway</h1>\r\n<p>${"long ".repeat(100)}</p></body></html>`;
  const { message } = refused(list, { status: 502, body: page });
  assert.match(message, /: 502 BadGateway: "502 Bad Gateway long long .*…"$/);
  assert.ok(message.length < 350 && !/[\n<]/.test(message), message);
});

Deno.test("an unknown code, an empty body and a broken Status still give a reason", () => {
  assert.match(
    refused(list, { status: 418, statusText: "I'm a teapot", body: "" }).message,
    /418 Imateapot$/,
  );
  assert.equal(refused(list, { status: 599, body: "" }).reason, "Unknown");
  assert.equal(refused(list, { status: 409, body: '{"kind":"Status",' }).reason, "Conflict");
});

Deno.test("Retry-After is read from the header or the Status", () => {
  const of = (retryAfter: string) =>
    refused(list, { status: 429, body: "", retryAfter }).retryAfterMs;
  assert.equal(of("3"), 3_000);
  assert.equal(of("Wed, 21 Oct 2026 07:28:00 GMT"), undefined);
  const body = JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 2 } });
  assert.equal(refused(list, { status: 429, body }).retryAfterMs, 2_000);
});

Deno.test("an error is an Error with its name and cause", () => {
  const cause = new Error("inner");
  const error = unanswered(list, "Unreachable", { detail: "no connection", cause });
  assert.ok(error instanceof ApiError && error instanceof Error);
  assert.deepEqual([error.name, error.status, error.cause], ["ApiError", 0, cause]);
});

Deno.test("a long page that is no HTML after all costs no time", () => {
  const started = performance.now();
  for (const body of ["<".repeat(500_000), "<script ".repeat(60_000)]) {
    refused(list, { status: 502, body });
  }
  assert.ok(performance.now() - started < 1_000);
});

Deno.test("a wish to come back in hours is cut to a minute", () => {
  for (const retryAfter of ["3600", "999999999"]) {
    assert.equal(refused(list, { status: 503, body: "", retryAfter }).retryAfterMs, 60_000);
  }
});
