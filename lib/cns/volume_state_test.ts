import assert from "node:assert/strict";
import type { PersistentVolume, PersistentVolumeClaim } from "../api/core.ts";
import { csiDriver } from "./entity_record.ts";
import { type Lookup, volumeState } from "./volume_state.ts";

const missing = { is: "missing" } as const;
const failed = { is: "failed", why: "503" } as const;

function claim(volumeName?: string): Lookup<PersistentVolumeClaim> {
  const metadata = { name: "c1", namespace: "s", uid: "u1" };
  return { is: "found", object: { metadata, spec: { ...(volumeName && { volumeName }) } } };
}

function volume(spec: Partial<PersistentVolume["spec"]> = {}): Lookup<PersistentVolume> {
  const csi = { driver: csiDriver, volumeHandle: "v1" };
  const claimRef = { namespace: "s", name: "c1", uid: "u1" };
  return { is: "found", object: { metadata: { name: "pv1" }, spec: { csi, claimRef, ...spec } } };
}

Deno.test("a bound claim stands for the volume that its PersistentVolume names", () => {
  assert.deepEqual(volumeState(claim("pv1"), volume()), { is: "known", volumeId: "v1" });
});

Deno.test("what is missing is told from what could not be read", () => {
  assert.equal(volumeState(missing).is, "claim-missing");
  assert.deepEqual(volumeState(failed), { is: "unreadable", why: "503" });
  assert.deepEqual(volumeState(claim("pv1"), missing), { is: "volume-missing", volume: "pv1" });
  assert.deepEqual(volumeState(claim("pv1"), failed), { is: "unreadable", why: "503" });
});

Deno.test("a claim without a volume is unbound", () => {
  assert.equal(volumeState(claim()).is, "unbound");
});

Deno.test("a claim cannot reach the volume of another by naming it", () => {
  for (
    const claimRef of [
      { namespace: "other", name: "c1", uid: "u1" },
      { namespace: "s", name: "c2", uid: "u1" },
      { namespace: "s", name: "c1", uid: "u0" },
    ]
  ) assert.equal(volumeState(claim("pv1"), volume({ claimRef })).is, "unbound");
});

Deno.test("volumes of other drivers are told apart", () => {
  const other = volume({ csi: { driver: "nfs.example", volumeHandle: "v1" } });
  assert.deepEqual(volumeState(claim("pv1"), other), {
    is: "other-driver",
    volume: "pv1",
    driver: "nfs.example",
  });
  const spec = { hostPath: { path: "/data" } };
  const object: PersistentVolume = { metadata: { name: "pv1" }, spec };
  assert.equal(volumeState(claim("pv1"), { is: "found", object }).is, "other-driver");
});
