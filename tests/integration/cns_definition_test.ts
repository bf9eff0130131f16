import assert from "node:assert/strict";
import type { CnsVolumeMetadata } from "../../lib/api/cns_volume_metadata.ts";
import { entityRecord } from "../../lib/cns/entity_record.ts";
import { claimMetadata } from "../support/cns_objects.ts";
import { startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

Deno.test({
  name: "an API server keeps both spellings of references, and the status in the object",
  ignore,
  fn: async () => {
    await using controlPlane = await startControlPlane();
    await installCrds(controlPlane, { group: "cns.vmware.com" });
    await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name: "s" } });
    const path = "/apis/cns.vmware.com/v1alpha1/namespaces/s/cnsvolumemetadatas";
    const small: object = { entityType: "POD", entityName: "a", namespace: "n", clusterId: "c" };
    const entityreferences = [...claimMetadata().spec.entityreferences, small];
    const head = { apiVersion: "cns.vmware.com/v1alpha1", kind: "CnsVolumeMetadata" };
    const object = { ...head, ...claimMetadata({ spec: { entityreferences } }) };
    await controlPlane.call("POST", path, object);
    const status = { volumestatus: [{ volumename: "c1", updated: true }] };
    await controlPlane.call("PATCH", `${path}/o`, { status });
    const read = await controlPlane.call<CnsVolumeMetadata>("GET", `${path}/o`);
    assert.deepEqual(entityRecord(read), entityRecord(object));
    assert.deepEqual(entityRecord(read).references[1], small);
    assert.deepEqual(read.status, status);
    await assert.rejects(controlPlane.call("PATCH", `${path}/o/status`, { status }), /404/);
  },
});
