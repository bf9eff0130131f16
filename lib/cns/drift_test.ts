import assert from "node:assert/strict";
import type { CnsEntity, CnsVolume } from "../vsphere/cns_types.ts";
import { cnsVolume, entity } from "../../tests/support/cns_objects.ts";
import { compare, type CompareOptions, type Desired, type Drift } from "./drift.ts";

const options: CompareOptions = {
  clusterIds: new Set(["guest"]),
  otherClusterIds: new Set(["supervisor"]),
  persistentVolumeIds: new Set(["v1", "v2"]),
};
const ofCluster = (clusterId: string, distribution = "") => ({
  clusterId,
  user: "u",
  flavor: "f",
  distribution,
});
const want = (volumeId: string, own: CnsEntity, distribution = ""): Desired => ({
  volumeId,
  entity: own,
  distribution,
});
const pod = entity({ entityType: "POD", entityName: "web" });
const volume = (labels: Record<string, string>) =>
  entity({ entityType: "PERSISTENT_VOLUME", entityName: "pv-1", namespace: "", labels });

function told(drifts: readonly Drift[]) {
  return drifts.map((drift) => `${drift.volumeId} ${drift.is}`);
}

function driftsOf(desired: readonly Desired[], actual: readonly CnsVolume[], change = {}) {
  return compare(desired, actual, { ...options, ...change }).drifts;
}

Deno.test("what is as it should be is no drift, in whatever order it is told", () => {
  const one = { entityType: "POD", entityName: "a", namespace: "", clusterId: "" };
  const two = { ...one, entityName: "b" };
  const desired = entity({ labels: { a: "1", b: "2" }, references: [one, two] });
  const actual = entity({ labels: { b: "2", a: "1" }, references: [two, one] });
  const result = compare([want("v1", desired)], [cnsVolume("v1", [actual])], options);
  assert.deepEqual(result, { drifts: [], stops: [], volumeCount: 1, entityCount: 1 });
});

Deno.test("missing and stale entities are found by their whole key", () => {
  const drifts = driftsOf(
    [want("v1", entity()), want("v1", pod)],
    [cnsVolume("v1", [entity({ namespace: "other" }), pod])],
  );
  assert.deepEqual(drifts, [
    { is: "missing-entity", volumeId: "v1", entity: entity() },
    { is: "stale-entity", volumeId: "v1", entity: entity({ namespace: "other" }) },
  ]);
});

Deno.test("labels and references are compared, each by itself", () => {
  const reference = { entityType: "POD", entityName: "a", namespace: "", clusterId: "" };
  const desired = entity({ labels: { a: "1" }, references: [reference] });
  const actual = [entity({ labels: { a: "2" } })];
  const drifts = driftsOf([want("v1", desired)], [cnsVolume("v1", actual)]);
  assert.deepEqual(told(drifts), ["v1 label-drift", "v1 reference-drift"]);
  const more = entity({ labels: { a: "1", b: "2" }, references: [reference, entity()] });
  const extra = driftsOf([want("v1", desired)], [cnsVolume("v1", [more])]);
  assert.deepEqual(told(extra), ["v1 label-drift", "v1 reference-drift"]);
  const less = driftsOf([want("v1", desired)], [cnsVolume("v1", [entity()])], {
    unknownElements: new Set(["referredEntity"]),
  });
  assert.deepEqual(told(less), ["v1 label-drift"]);
});

Deno.test("the full sync's marks on a volume are no drift, and a repair keeps them", () => {
  const marked = [cnsVolume("v1", [volume({ a: "1", pv_missing: "true" })])];
  assert.deepEqual(driftsOf([want("v1", volume({ a: "1" }))], marked), []);
  const [drift] = driftsOf([want("v1", volume({ a: "2" }))], marked);
  assert(drift?.is === "label-drift");
  assert.deepEqual(drift.entity.labels, { a: "2", pv_missing: "true" });
  const claim = [cnsVolume("v1", [entity({ labels: { pv_missing: "true" } })])];
  assert.deepEqual(told(driftsOf([want("v1", entity())], claim)), ["v1 label-drift"]);
});

Deno.test("a distribution that no object names is drift, unless this vCenter keeps none", () => {
  const actual = [cnsVolume("v1", [entity(), pod], { clusters: [ofCluster("guest", "old")] })];
  const desired = [want("v1", entity(), "TKG"), want("v1", pod)];
  assert.deepEqual(driftsOf(desired, actual), [{
    is: "distribution-drift",
    volumeId: "v1",
    clusterId: "guest",
    distribution: "TKG",
    actual: "old",
  }]);
  assert.deepEqual(driftsOf([want("v1", entity(), "TKG"), want("v1", pod, "old")], actual), []);
  const unknownElements = new Set(["clusterDistribution"]);
  assert.deepEqual(driftsOf(desired, actual, { unknownElements }), []);
});

Deno.test("a volume that CNS does not have is told once, with its entities", () => {
  const [drift, ...more] = driftsOf([want("v2", pod), want("v2", entity())], []);
  assert.deepEqual(more, []);
  assert.deepEqual(drift, { is: "unknown-volume", volumeId: "v2", entities: [entity(), pod] });
});

Deno.test("a volume without a PersistentVolume is an orphan only when it is ours alone", () => {
  const clusters = [ofCluster("guest"), ofCluster("supervisor")];
  const orphan = cnsVolume("v9", [entity()], { clusters });
  assert.deepEqual(driftsOf([], [orphan]), [
    { is: "orphan-volume", volumeId: "v9", name: "name of v9" },
  ]);
  const shared = cnsVolume("v9", [], { clusters: [...clusters, ofCluster("stranger")] });
  assert.deepEqual(driftsOf([], [shared]), []);
  assert.deepEqual(told(driftsOf([], [cnsVolume("v1", [entity()])])), ["v1 stale-entity"]);
});

Deno.test("entities of clusters that nobody claims are told and left alone", () => {
  const strange = entity({ clusterId: "stranger" });
  const supervisors = entity({ clusterId: "supervisor" });
  const actual = cnsVolume("v1", [entity(), strange, { ...strange, entityName: "b" }, supervisors]);
  assert.deepEqual(driftsOf([want("v1", entity())], [actual]), [
    { is: "foreign-cluster", volumeId: "v1", clusterId: "stranger", entityCount: 2 },
  ]);
});

Deno.test("the same differences come in the same order", () => {
  const desired = [want("v2", entity()), want("v1", pod), want("v1", entity()), want("v3", pod)];
  const actual = [cnsVolume("v2", [pod]), cnsVolume("v1", [])];
  const expected = [
    "v1 missing-entity",
    "v1 missing-entity",
    "v2 missing-entity",
    "v2 stale-entity",
    "v3 unknown-volume",
  ];
  const drifts = driftsOf(desired, actual);
  assert.deepEqual(told(drifts), expected);
  assert.deepEqual(driftsOf(desired.toReversed(), actual.toReversed()), drifts);
});

Deno.test("of a volume that two pages tell, the later one counts", () => {
  const actual = [cnsVolume("v1", []), cnsVolume("v1", [entity()])];
  const { drifts, volumeCount } = compare([want("v1", entity())], actual, options);
  assert.deepEqual([drifts, volumeCount], [[], 1]);
});
