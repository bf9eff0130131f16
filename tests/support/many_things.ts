import assert from "node:assert/strict";
import type { KubeObject, Resource } from "../../lib/kube/object.ts";
import type { ControlPlane } from "./control_plane.ts";

/** Objects of nearly no size, for lists of many. `fillThings` makes their definition. */
export const things: Resource<KubeObject> = {
  group: "longshore.test",
  version: "v1",
  plural: "things",
  kind: "Thing",
  namespaced: true,
};

/** Written to etcd directly: through the API server 50,000 would take minutes. */
export async function fillThings(controlPlane: ControlPlane, count: number) {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await controlPlane.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "things.longshore.test" },
    spec: {
      group: things.group,
      scope: "Namespaced",
      names: { plural: things.plural, kind: things.kind, singular: "thing", listKind: "ThingList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  const put = (index: number) => {
    const name = `t${String(index).padStart(6, "0")}`;
    const metadata = {
      name,
      namespace: "default",
      uid: name,
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    const value = JSON.stringify({ apiVersion: "longshore.test/v1", kind: "Thing", metadata });
    const key = btoa(`/registry/longshore.test/things/default/${name}`);
    return { requestPut: { key, value: btoa(value) } };
  };
  for (let from = 0; from < count; from += 100) {
    const success = Array.from({ length: Math.min(100, count - from) }, (_, i) => put(from + i));
    const response = await fetch(`${controlPlane.etcdServer}/v3/kv/txn`, {
      method: "POST",
      body: JSON.stringify({ success }),
    });
    await response.text();
    assert.equal(response.status, 200);
  }
}
