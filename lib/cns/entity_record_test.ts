import assert from "node:assert/strict";
import type { CnsVolumeMetadata } from "../api/cns_volume_metadata.ts";
import { claimMetadata } from "../../tests/support/cns_objects.ts";
import { entityRecord } from "./entity_record.ts";

const small = {
  entityType: "PERSISTENT_VOLUME",
  entityName: "pv-1",
  namespace: "",
  clusterId: "guest",
};

Deno.test("references are read in the spelling with capitals and in the small one", () => {
  const other: object = small; // a guest's, which the definition does not name
  const entityreferences = [...claimMetadata().spec.entityreferences, other];
  const { references } = entityRecord(claimMetadata({ spec: { entityreferences } }));
  assert.deepEqual(references, [small, small]);
});

Deno.test("what is no text in a reference is read as empty", () => {
  const odd = { EntityType: 7, EntityName: null } as unknown as { EntityType: string };
  const { references } = entityRecord(claimMetadata({ spec: { entityreferences: [odd] } }));
  assert.deepEqual(references, [
    { entityType: "", entityName: "", namespace: "", clusterId: "" },
  ]);
});

Deno.test("an object that lacks every field is read without a fault", () => {
  const bare = { metadata: { name: "o" }, spec: {} } as unknown as CnsVolumeMetadata;
  assert.deepEqual(entityRecord(bare), {
    entityType: "",
    entityName: "",
    namespace: "",
    clusterId: "",
    distribution: "",
    volumeNames: [],
    references: [],
  });
});

Deno.test("empty labels are not the same as none", () => {
  assert.deepEqual(entityRecord(claimMetadata({ spec: { labels: {} } })).labels, {});
  assert(!("labels" in entityRecord(claimMetadata())));
});
