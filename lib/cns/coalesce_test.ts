import assert from "node:assert/strict";
import type { CnsCluster, CnsEntity } from "../vsphere/cns_types.ts";
import type { Fault, FaultClass } from "../vsphere/fault.ts";
import { entity } from "../../tests/support/cns_objects.ts";
import { afterFault, type Batch, wavesOf } from "./coalesce.ts";
import type { Intent } from "./plan.ts";

interface Named extends Intent {
  readonly name: string;
}

const cluster: CnsCluster = { clusterId: "guest", user: "u", flavor: "f", distribution: "" };

function intent(name: string, volumeId: string, change: Partial<CnsEntity> = {}): Named {
  const own = entity(change);
  return { name, volumeId, entity: own, cluster: { ...cluster, clusterId: own.clusterId } };
}

function removal(name: string, volumeId: string, change: Partial<CnsEntity> = {}): Named {
  const set = intent(name, volumeId, change);
  return { ...set, entity: { ...set.entity, remove: true } };
}

/** Waves of batches of specs, each with the names of its intents. */
function namesIn(waves: readonly (readonly Batch<Named>[])[]) {
  return waves.map((wave) => wave.map(namesOf));
}

function namesOf(batch: Batch<Named>) {
  return batch.map(({ intents }) => intents.map(({ name }) => name).join("+"));
}

const pod = (entityName: string) => ({ entityType: "POD", entityName });
const volume = { entityType: "PERSISTENT_VOLUME", entityName: "pv", namespace: "" };

Deno.test("the entities of one volume go in one spec, in their order", () => {
  const intents = [intent("pv", "v1", volume), intent("pvc", "v1"), intent("pod", "v1", pod("a"))];
  const waves = wavesOf(intents, { size: 32 });
  assert.deepEqual(namesIn(waves), [[["pv+pvc+pod"]]]);
  assert.deepEqual(waves[0]?.[0]?.[0]?.update, {
    volumeId: "v1",
    cluster,
    entities: intents.map((one) => one.entity),
  });
});

Deno.test("two of one type wait for one another, and what came later stays later", () => {
  const waves = wavesOf([
    intent("a", "v1", pod("a")),
    intent("other", "v2", pod("a")),
    intent("pvc", "v1"),
    intent("b", "v1", pod("b")),
    intent("pvc again", "v1"),
  ], { size: 32 });
  assert.deepEqual(namesIn(waves), [[["a+pvc", "other"]], [["b+pvc again"]]]);
});

Deno.test("a FILE volume takes several of one type, but nothing twice", () => {
  const waves = wavesOf([
    intent("a", "v1", pod("a")),
    intent("b", "v1", pod("b")),
    intent("a again", "v1", pod("a")),
  ], { size: 32, isFile: (id) => id === "v1" });
  assert.deepEqual(namesIn(waves), [[["a+b"]], [["a again"]]]);
});

Deno.test("a spec is of one container cluster", () => {
  const waves = wavesOf([
    intent("one", "v1", volume),
    intent("two", "v1", { clusterId: "other guest" }),
  ], { size: 32 });
  assert.deepEqual(namesIn(waves), [[["one"]], [["two"]]]);
});

Deno.test("an entity that takes another's place comes after the removal", () => {
  const waves = wavesOf([
    intent("new", "v1", pod("new")),
    removal("old", "v1", pod("old")),
  ], { size: 32 });
  assert.deepEqual(namesIn(waves), [[["old"]], [["new"]]]);
});

Deno.test("a removal never overtakes what was set of the same entity, nor is overtaken", () => {
  const set = intent("set", "v1", pod("a"));
  const remove = removal("remove", "v1", pod("a"));
  const again = intent("again", "v1", pod("a"));
  assert.deepEqual(namesIn(wavesOf([set, remove, again], { size: 32 })), [
    [["set"]],
    [["remove"]],
    [["again"]],
  ]);
  assert.deepEqual(namesIn(wavesOf([remove, again], { size: 32 })), [[["remove"]], [["again"]]]);
});

Deno.test("a call has no more specs than it may, and no volume twice", () => {
  const many = Array.from({ length: 70 }, (_, nth) => intent(`${nth}`, `v${nth}`));
  const waves = wavesOf([...many, intent("late", "v3", { entityName: "b" })], { size: 32 });
  assert.deepEqual(waves.map((wave) => wave.map(({ length }) => length)), [[32, 32, 6], [1]]);
  for (const wave of waves) {
    const ids = wave.flat().map(({ update }) => update.volumeId);
    assert.equal(new Set(ids).size, ids.length);
  }
  const all = waves.flat(2).flatMap(({ intents }) => intents);
  assert.equal(all.length, 71);
});

Deno.test("the cluster of a spec is what its newest intent says", () => {
  const older = intent("older", "v1", volume);
  const newer = { ...intent("newer", "v1"), cluster: { ...cluster, distribution: "TKG" } };
  const [[[spec] = []] = []] = wavesOf([older, newer], { size: 32 });
  assert.equal(spec?.update.cluster.distribution, "TKG");
});

Deno.test("nothing to do is no wave", () => {
  assert.deepEqual(wavesOf([], { size: 32 }), []);
});

const fault = (kind: FaultClass, type = "CnsFault"): Fault => ({ type, message: "m", class: kind });

function batchOf(...intents: readonly Named[]): Batch<Named> {
  return wavesOf(intents, { size: 32 })[0]?.[0] ?? [];
}

Deno.test("a refused call is divided by volume, then by intent, then it has failed", () => {
  const whole = batchOf(intent("pv", "v1", volume), intent("pvc", "v1"), intent("b", "v2"));
  const first = afterFault(whole, fault("permanent"));
  assert(first.do === "divide");
  assert.deepEqual(first.batches.map(namesOf), [["pv+pvc"], ["b"]]);
  const second = afterFault(first.batches[0] ?? [], fault("permanent"));
  assert(second.do === "divide");
  assert.deepEqual(second.batches.map(namesOf), [["pv"], ["pvc"]]);
  for (const batch of second.batches) {
    assert.deepEqual(afterFault(batch, fault("permanent")), { do: "fail" });
  }
});

Deno.test("a fault that any call would meet does not make more calls", () => {
  const batch = batchOf(intent("a", "v1"), intent("b", "v2"));
  const faults = [fault("session"), fault("login"), fault("retry", "ManagedObjectNotFound")];
  for (const one of faults) assert.deepEqual(afterFault(batch, one), { do: "fail" });
  assert.equal(afterFault(batch, fault("retry")).do, "divide");
});
