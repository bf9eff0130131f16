import assert from "node:assert/strict";
import { formatFinding } from "../base/finding.ts";
import { claimMetadata, podMetadata, volumeMetadata } from "../../tests/support/cns_objects.ts";
import { planFor } from "./plan.ts";
import type { VolumeState } from "./volume_state.ts";

const configuration = {
  clusterId: "vcenter-cluster",
  supervisorId: "vSphereSupervisorID-7",
  isSupervisorIdUsed: true,
  user: "u",
};
const known = (volumeId: string): VolumeState => ({ is: "known", volumeId });
const deletionTimestamp = "2026-01-01T00:00:00Z";

Deno.test("a claim's object sets its entity at its volume, with labels in order", () => {
  const labels = { b: "2", a: "1" };
  const object = claimMetadata({ spec: { labels, clusterdistribution: "TKG" } });
  const { aim, volumes, intents } = planFor(object, [known("v1")], configuration);
  assert.equal(aim, "set");
  assert.deepEqual(volumes, [{ do: "push", volumeName: "c1", volumeId: "v1" }]);
  assert.deepEqual(intents, [{
    volumeId: "v1",
    entity: {
      entityType: "PERSISTENT_VOLUME_CLAIM",
      entityName: "data",
      namespace: "app",
      clusterId: "guest",
      labels: { a: "1", b: "2" },
      references: [
        { entityType: "PERSISTENT_VOLUME", entityName: "pv-1", namespace: "", clusterId: "guest" },
      ],
    },
    cluster: { clusterId: "guest", user: "u", flavor: "GUEST_CLUSTER", distribution: "TKG" },
  }]);
  assert.deepEqual(Object.keys(intents[0]?.entity.labels ?? {}), ["a", "b"]);
});

Deno.test("each volume of a pod gets only the reference of its own claim", () => {
  const { intents } = planFor(podMetadata(2), [known("v1"), known("v2")], configuration);
  const names = intents.map(({ volumeId, entity }) =>
    [volumeId, entity.references.map(({ entityName }) => entityName)] as const
  );
  assert.deepEqual(names, [["v1", ["data-1"]], ["v2", ["data-2"]]]);
});

Deno.test("a pod that uses a claim twice has one intent, which refers to it once", () => {
  const pod = podMetadata(2);
  const [first] = pod.spec.entityreferences;
  const spec = { volumenames: ["c1", "c1"], entityreferences: [first!, first!] };
  const { intents, volumes } = planFor(
    podMetadata(2, { spec }),
    [known("v1"), known("v1")],
    configuration,
  );
  assert.equal(volumes.length, 2);
  assert.deepEqual(intents.map(({ entity }) => entity.references.length), [1]);
});

Deno.test("a volume refers to the supervisor, by the id that the feature chooses", () => {
  const idOf = (isSupervisorIdUsed: boolean) => {
    const chosen = { ...configuration, isSupervisorIdUsed };
    const { intents } = planFor(volumeMetadata(), [known("v1")], chosen);
    return intents[0]?.entity.references[0]?.clusterId;
  };
  assert.equal(idOf(true), "vSphereSupervisorID-7");
  assert.equal(idOf(false), "vcenter-cluster");
});

Deno.test("one volume that cannot be set does not hinder the others", () => {
  const states: readonly VolumeState[] = [
    known("v1"),
    { is: "claim-missing" },
    { is: "unbound", why: "it has no volume yet" },
    { is: "volume-missing", volume: "pv4" },
    { is: "other-driver", volume: "pv5", driver: "nfs.example" },
    { is: "unreadable", why: "503" },
    { is: "other-driver", volume: "pv7", driver: "" },
  ];
  const { volumes, intents } = planFor(podMetadata(7), states, configuration);
  const told = volumes.map((volume) =>
    volume.do === "fail" ? `${volume.reason}: ${volume.why}` : volume.do
  );
  assert.deepEqual(told, [
    "push",
    'ClaimMissing: PersistentVolumeClaim "s/c2" does not exist in the supervisor; ' +
    "it is tried again",
    'ClaimUnbound: PersistentVolumeClaim "s/c3" is not bound: it has no volume yet; ' +
    "it is tried again",
    'VolumeMissing: PersistentVolumeClaim "s/c4" is bound to PersistentVolume "pv4", ' +
    "which does not exist; delete the claim or restore the volume",
    "skip",
    'ReadFailed: PersistentVolumeClaim "s/c6" or its volume cannot be read: 503',
    "skip",
  ]);
  assert.deepEqual(intents.map(({ volumeId }) => volumeId), ["v1"]);
});

Deno.test("an invalid object sets nothing, and each volume tells every violation", () => {
  const object = podMetadata(2, { spec: { namespace: "", labels: {} } });
  const plan = planFor(object, [known("v1"), known("v2")], configuration);
  assert.deepEqual(plan.intents, []);
  const why = "spec.namespace: must be set for POD; spec.labels: must be absent for POD";
  assert.equal(plan.violations.map(formatFinding).join("; "), why);
  assert.deepEqual(
    plan.volumes,
    ["c1", "c2"].map((volumeName) => (
      { do: "fail", reason: "ObjectInvalid", why, volumeName }
    )),
  );
});

Deno.test("a deletion removes the entity where it may be, and asks nothing of what is gone", () => {
  const states: readonly VolumeState[] = [
    known("v1"),
    { is: "claim-missing" },
    { is: "unbound", why: "it has no volume yet" },
    { is: "volume-missing", volume: "pv4" },
    { is: "other-driver", volume: "pv5", driver: "nfs.example" },
  ];
  const plan = planFor(podMetadata(5, { deletionTimestamp }), states, configuration);
  assert.deepEqual(plan.volumes.map((volume) => volume.do), [
    "push",
    ...["skip", "skip", "skip", "skip"],
  ]);
  assert.deepEqual(plan.intents.map(({ entity }) => entity.remove), [true]);
});

Deno.test("a deletion waits for what could not be read: the entity may still be there", () => {
  const states: readonly VolumeState[] = [{ is: "unreadable", why: "503" }];
  const { volumes } = planFor(claimMetadata({ deletionTimestamp }), states, configuration);
  assert.equal(volumes[0]?.do, "fail");
});

Deno.test("an object that became invalid is removed by what is left of it", () => {
  const spec = { namespace: "app", labels: {}, entityreferences: [] };
  const plan = planFor(
    podMetadata(2, { deletionTimestamp, spec }),
    [known("v1"), known("v2")],
    configuration,
  );
  assert(plan.violations.length > 0);
  assert.deepEqual(plan.intents.map(({ volumeId, entity }) => [volumeId, entity.remove]), [
    ["v1", true],
    ["v2", true],
  ]);
});

Deno.test("a deleted object without a key or a claim's name has nothing in CNS", () => {
  const lacks = [{ entityname: "" }, { guestclusterid: "" }, { entitytype: "NODE" }];
  for (const lack of [...lacks, { volumenames: [""] }]) {
    const object = claimMetadata({ deletionTimestamp, spec: lack });
    const { volumes, intents } = planFor(object, [known("v1")], configuration);
    assert.deepEqual([volumes[0]?.do, intents], ["skip", []]);
  }
});
