import assert from "node:assert/strict";
import type { UpdateResult } from "../vsphere/cns_calls.ts";
import type { FaultClass } from "../vsphere/fault.ts";
import { claimMetadata, podMetadata } from "../../tests/support/cns_objects.ts";
import { outcomeOf } from "./outcome.ts";
import { planFor } from "./plan.ts";
import type { VolumeState } from "./volume_state.ts";

const configuration = { clusterId: "c", supervisorId: "", isSupervisorIdUsed: false, user: "u" };
const v1: VolumeState = { is: "known", volumeId: "v1" };
const v2: VolumeState = { is: "known", volumeId: "v2" };
const deletionTimestamp = "2026-01-01T00:00:00Z";
const ok: UpdateResult = { ok: true };
const fault = (kind: FaultClass, message = "NotFound: no such volume"): UpdateResult => ({
  ok: false,
  fault: { type: "NotFound", message, class: kind },
});

Deno.test("one failed volume of a pod leaves the other one updated", () => {
  const plan = planFor(podMetadata(2), [v1, v2], configuration);
  const results = new Map([["v1", ok], ["v2", fault("retry", "CnsFault: a lock")]]);
  assert.deepEqual(outcomeOf(plan, results), {
    next: "again",
    volumestatus: [
      { volumename: "c1", updated: true },
      {
        volumename: "c2",
        updated: false,
        errormessage: 'CnsFailed: volume "v2" of CNS: CnsFault: a lock',
      },
    ],
  });
});

Deno.test("a volume that is gone fails a setting and ends a removal", () => {
  const results = new Map([["v1", fault("gone")]]);
  const set = outcomeOf(planFor(claimMetadata(), [v1], configuration), results);
  assert.equal(set.next, "again");
  assert.match(set.volumestatus[0]?.errormessage ?? "", /^VolumeNotInCns: /);
  const deleted = planFor(claimMetadata({ deletionTimestamp }), [v1], configuration);
  assert.equal(outcomeOf(deleted, results).next, "done");
});

Deno.test("other faults hold a deleted object", () => {
  const plan = planFor(claimMetadata({ deletionTimestamp }), [v1], configuration);
  for (const kind of ["retry", "permanent", "session", "login"] as const) {
    assert.notEqual(outcomeOf(plan, new Map([["v1", fault(kind)]])).next, "done", kind);
  }
});

Deno.test("what was refused is tried seldom, but another's failure is not kept waiting", () => {
  const plan = planFor(podMetadata(2), [v1, v2], configuration);
  const refused = fault("permanent");
  const next = (other: UpdateResult) =>
    outcomeOf(plan, new Map([["v1", refused], ["v2", other]])).next;
  assert.equal(next(ok), "seldom");
  assert.equal(next(fault("retry")), "again");
});

Deno.test("a volume that nobody answered for has failed", () => {
  const { next, volumestatus } = outcomeOf(
    planFor(claimMetadata(), [v1], configuration),
    new Map(),
  );
  assert.equal(next, "again");
  assert.equal(volumestatus[0]?.updated, false);
});

Deno.test("an invalid object waits for a change, also one without volumes", () => {
  for (const volumenames of [["c1"], []]) {
    const object = claimMetadata({ spec: { volumenames, namespace: "" } });
    const { next, volumestatus } = outcomeOf(planFor(object, [v1], configuration), new Map());
    assert.equal(next, "on-change");
    assert.equal(volumestatus.length, volumenames.length);
  }
});

Deno.test("a deleted object that is invalid and has nothing usable is done with", () => {
  const object = claimMetadata({ deletionTimestamp, spec: { entityname: "" } });
  assert.equal(outcomeOf(planFor(object, [v1], configuration), new Map()).next, "done");
});

Deno.test("a skipped volume counts as updated and says why it is skipped", () => {
  const state: VolumeState = { is: "other-driver", volume: "pv1", driver: "nfs.example" };
  assert.deepEqual(outcomeOf(planFor(claimMetadata(), [state], configuration), new Map()), {
    next: "done",
    volumestatus: [{
      volumename: "c1",
      updated: true,
      errormessage:
        'Skipped: PersistentVolume "pv1" is of the driver "nfs.example", so CNS does not know it',
    }],
  });
});

Deno.test("a message is one line of at most 1 KiB, and no character is cut in two", () => {
  const plan = planFor(claimMetadata(), [v1], configuration);
  for (const head of ["a\nb", "aa\nb"]) { // one of them is cut within a character
    const results = new Map([["v1", fault("retry", `${head} ${"ä".repeat(2_000)}`)]]);
    const message = outcomeOf(plan, results).volumestatus[0]?.errormessage ?? "";
    assert.match(message, /: a+ b ä+…$/);
    const { length } = new TextEncoder().encode(message);
    assert(length <= 1_024 && length > 1_000, `${length} bytes`);
  }
});
