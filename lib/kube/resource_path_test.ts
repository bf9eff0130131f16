import assert from "node:assert/strict";
import { ApiError, isNotFound } from "./api_error.ts";
import type { KubeObject, Resource } from "./object.ts";
import { attemptOf, queryOf, resourcePath, type Target } from "./resource_path.ts";

const pods: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};
const uploads: Resource<KubeObject> = {
  group: "velero.io",
  version: "v2alpha1",
  plural: "datauploads",
  kind: "DataUpload",
  namespaced: true,
};
const nodes: Resource<KubeObject> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

const path = (what: Resource<KubeObject>, target: Target, verb = "get") =>
  resourcePath(attemptOf(verb, what, target), what, target);

Deno.test("paths of objects and collections", () => {
  assert.equal(path(pods, {}, "list"), "/api/v1/pods");
  assert.equal(path(pods, { namespace: "a" }, "list"), "/api/v1/namespaces/a/pods");
  assert.equal(path(pods, { namespace: "a", name: "p" }), "/api/v1/namespaces/a/pods/p");
  assert.equal(
    path(uploads, { namespace: "a", name: "u", subresource: "status" }),
    "/apis/velero.io/v2alpha1/namespaces/a/datauploads/u/status",
  );
  assert.equal(path(nodes, { name: "n" }), "/api/v1/nodes/n");
  assert.equal(path(nodes, { namespace: "ignored", name: "n" }), "/api/v1/nodes/n");
});

Deno.test("a hostile name stays within its segment of the URL", () => {
  const hostile = [
    "a?watch=1",
    "a#b",
    "..;",
    " ",
    "a\\b",
    "ä\n",
  ];
  for (const name of hostile) {
    const { pathname, search, hash } = new URL(`https://h${path(pods, { namespace: name, name })}`);
    const segments = pathname.split("/");
    assert.equal(segments.length, 7, name);
    assert.deepEqual(
      [segments[3], segments[5], search, hash],
      ["namespaces", "pods", "", ""],
      name,
    );
    assert.equal(decodeURIComponent(segments[6] ?? ""), name);
  }
});

Deno.test("a name that no object can have is not asked for: to a get it is not found", () => {
  for (const name of ["", ".", "..", "\ud800", "a/b", "../../secrets/x", "%2e%2e", "a%2fb"]) {
    for (const target of [{ namespace: "a", name }, { namespace: name, name: "p" }]) {
      assert.throws(
        () => path(pods, target),
        (error) => isNotFound(error) && / cannot be a name/.test(error.message),
        name,
      );
      assert.throws(
        () => path(pods, target, "patch"),
        (error) => error instanceof ApiError && error.reason === "InvalidRequest",
        name,
      );
    }
  }
});

Deno.test("an object of a namespaced kind needs a namespace", () => {
  assert.throws(() => path(pods, { name: "p" }), /Cannot get pods "p" .*a Pod needs a namespace/);
  assert.throws(() => path(pods, {}, "create"), /needs a namespace/);
});

Deno.test("a call is named in the words of RBAC", () => {
  const target = { namespace: "v", name: "u", subresource: "status" };
  assert.deepEqual(attemptOf("patch", uploads, target), {
    verb: "patch",
    resource: "datauploads.velero.io/status",
    scope: 'namespace "v"',
    name: "u",
  });
  assert.equal(attemptOf("list", pods, {}).scope, "all namespaces");
  assert.equal(attemptOf("get", nodes, { name: "n" }).scope, "the cluster");
});

Deno.test("queries are encoded, and empty without values", () => {
  assert.equal(queryOf({ a: undefined }), "");
  assert.equal(queryOf({ labelSelector: "a=b,c in (d)", limit: 5 }).includes("a%3Db%2Cc"), true);
});
