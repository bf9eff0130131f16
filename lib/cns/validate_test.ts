import assert from "node:assert/strict";
import type { CnsVolumeMetadata } from "../api/cns_volume_metadata.ts";
import { formatFinding } from "../base/finding.ts";
import { claimMetadata, podMetadata, volumeMetadata } from "../../tests/support/cns_objects.ts";
import { entityRecord } from "./entity_record.ts";
import { violationsOf } from "./validate.ts";

type Spec = CnsVolumeMetadata["spec"];

const toClaim = { EntityType: "PERSISTENT_VOLUME_CLAIM", EntityName: "a", ClusterID: "guest" };
const toVolume = { EntityType: "PERSISTENT_VOLUME", EntityName: "a", ClusterID: "guest" };
const types = "PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD";

const ofVolume = (spec: Partial<Spec> = {}) => volumeMetadata({ spec });
const ofClaim = (spec: Partial<Spec> = {}) => claimMetadata({ spec });
const ofPod = (spec: Partial<Spec> = {}) => podMetadata(2, { spec });

const table: readonly (readonly [string, CnsVolumeMetadata, readonly string[]])[] = [
  ["a volume's object is valid", ofVolume({ labels: { a: "b" } }), []],
  ["a claim's object is valid", ofClaim({ labels: { a: "b" } }), []],
  ["a pod's object is valid", ofPod(), []],
  ["a pod may use one claim twice", ofPod({ volumenames: ["c1", "c1"] }), []],
  [
    "what every object needs",
    ofClaim({ entityname: "", entitytype: "", guestclusterid: "" }),
    [
      "spec.entityname: must be set",
      `spec.entitytype: must be one of ${types}, and is ""`,
      "spec.guestclusterid: must be set",
    ],
  ],
  [
    "an unknown type, also one that every object of the language has",
    ofClaim({ entitytype: "constructor" }),
    [`spec.entitytype: must be one of ${types}, and is "constructor"`],
  ],
  [
    "an id that CNS cannot store",
    ofClaim({ guestclusterid: "x".repeat(65) }),
    ["spec.guestclusterid: must not be longer than 64 characters, and has 65"],
  ],
  ["the longest id that it can", ofClaim({ guestclusterid: "x".repeat(64) }), []],
  [
    "every fault of a volume's object",
    ofVolume({ namespace: "app", volumenames: [], entityreferences: [toVolume, toClaim] }),
    [
      "spec.namespace: must be empty for PERSISTENT_VOLUME",
      "spec.volumenames: must have exactly one item for PERSISTENT_VOLUME, and has 0",
      "spec.entityreferences: must have exactly one item for PERSISTENT_VOLUME, and has 2",
      "spec.entityreferences[0].EntityType: must be PERSISTENT_VOLUME_CLAIM for " +
      'PERSISTENT_VOLUME, and is "PERSISTENT_VOLUME"',
      "spec.entityreferences[0].ClusterID: must be empty for PERSISTENT_VOLUME",
      "spec.entityreferences[1].ClusterID: must be empty for PERSISTENT_VOLUME",
    ],
  ],
  [
    "every fault of a claim's object",
    ofClaim({
      namespace: "",
      volumenames: ["c1", ""],
      entityreferences: [{ ...toClaim, ClusterID: "" }],
    }),
    [
      "spec.volumenames[1]: must be set",
      "spec.namespace: must be set for PERSISTENT_VOLUME_CLAIM",
      "spec.volumenames: must have exactly one item for PERSISTENT_VOLUME_CLAIM, and has 2",
      "spec.entityreferences[0].EntityType: must be PERSISTENT_VOLUME for " +
      'PERSISTENT_VOLUME_CLAIM, and is "PERSISTENT_VOLUME_CLAIM"',
      "spec.entityreferences[0].ClusterID: must be set for PERSISTENT_VOLUME_CLAIM",
    ],
  ],
  [
    "a pod with labels, no namespace, and more volumes than references",
    ofPod({ labels: {}, namespace: "", entityreferences: [toClaim] }),
    [
      "spec.namespace: must be set for POD",
      "spec.labels: must be absent for POD",
      "spec.volumenames/spec.entityreferences: must have the same length (2 vs 1)",
    ],
  ],
  [
    "a pod without volumes",
    ofPod({ volumenames: [], entityreferences: [] }),
    [
      "spec.volumenames: must have at least one item for POD",
      "spec.entityreferences: must have at least one item for POD",
    ],
  ],
];

for (const [name, object, expected] of table) {
  Deno.test(`violations: ${name}`, () => {
    const found = violationsOf(entityRecord(object));
    assert.deepEqual(found.map(formatFinding), expected);
    assert(found.every(({ severity }) => severity === "error"));
  });
}
