import assert from "node:assert/strict";
import { cnsVolume, entity } from "../../tests/support/cns_objects.ts";
import { compare, type Desired } from "./drift.ts";
import { stopsOf } from "./drift_stops.ts";

interface Scene {
  /** Entities that are in CNS and desired. */
  readonly kept: number;
  /** In CNS and not desired, on volumes that have a PersistentVolume. */
  readonly stale: number;
  readonly staleNamespace?: string;
  /** On volumes that have none. */
  readonly orphaned?: number;
}

/** Each entity on a volume of its own. */
function stopsIn({ kept, stale, staleNamespace = "app", orphaned = 0 }: Scene) {
  const numbered = (prefix: string, count: number, namespace: string) =>
    Array.from({ length: count }, (_, nth) => ({
      volumeId: `${prefix}-${nth}`,
      entity: entity({ entityName: `${prefix}-${nth}`, namespace }),
    }));
  const desired: readonly Desired[] = numbered("kept", kept, "app")
    .map((one) => ({ ...one, distribution: "" }));
  const left = numbered("stale", stale, staleNamespace);
  const lost = numbered("orphan", orphaned, staleNamespace);
  const actual = [...desired, ...left, ...lost].map((one) => cnsVolume(one.volumeId, [one.entity]));
  return compare(desired, actual, {
    clusterIds: new Set(["guest"]),
    persistentVolumeIds: new Set(left.map(({ volumeId }) => volumeId)),
  }).stops;
}

Deno.test("a few stale entities may be taken away, whatever their share", () => {
  assert.deepEqual(stopsIn({ kept: 1, stale: 10, staleNamespace: "gone" }), []);
});

Deno.test("a share of stale entities over the limit stops, one below it does not", () => {
  assert.deepEqual(stopsIn({ kept: 80, stale: 20 }), []);
  assert.deepEqual(stopsIn({ kept: 79, stale: 21 }), [
    { is: "too-many-stale", removals: 21, of: 100 },
  ]);
});

Deno.test("nothing is taken away when nothing at all is desired", () => {
  assert.deepEqual(stopsIn({ kept: 0, stale: 1 }), [{ is: "nothing-desired", removals: 1 }]);
  assert.deepEqual(stopsIn({ kept: 0, stale: 0 }), []);
});

Deno.test("a cluster whose id much goes by that it never speaks of shares that id", () => {
  assert.deepEqual(stopsIn({ kept: 30, stale: 0, orphaned: 20, staleNamespace: "strange" }), [
    { is: "duplicate-cluster-id", clusterId: "guest", strangers: 20, of: 50 },
  ]);
  assert.deepEqual(stopsIn({ kept: 30, stale: 0, orphaned: 20 }), [], "its own namespace");
});

Deno.test("a volume is known by its name in the guest, wherever it stands", () => {
  const volumes = (prefix: string) =>
    Array.from({ length: 20 }, (_, nth) => ({
      entity: entity({
        entityType: "PERSISTENT_VOLUME",
        entityName: `${prefix}-${nth}`,
        namespace: "",
      }),
    }));
  const desired = volumes("ours");
  assert.deepEqual(stopsOf({ desired, ours: volumes("ours"), removals: 0 }, {}), []);
  assert.deepEqual(stopsOf({ desired, ours: volumes("strange"), removals: 0 }, {}), [
    { is: "duplicate-cluster-id", clusterId: "guest", strangers: 20, of: 20 },
  ]);
});
