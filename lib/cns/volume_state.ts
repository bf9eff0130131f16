import type { PersistentVolume, PersistentVolumeClaim } from "../api/core.ts";
import { csiDriver } from "./entity_record.ts";

/** What came of reading an object. `failed`: whether it exists is not known. */
export type Lookup<T> =
  | { readonly is: "found"; readonly object: T }
  | { readonly is: "missing" }
  | { readonly is: "failed"; readonly why: string };

/** Which volume of CNS a claim of the supervisor stands for. */
export type VolumeState =
  | { readonly is: "known"; readonly volumeId: string }
  | { readonly is: "claim-missing" }
  /** Also when the volume that it names belongs to another claim. */
  | { readonly is: "unbound"; readonly why: string }
  | { readonly is: "volume-missing"; readonly volume: string }
  /** CNS has nothing of it. */
  | { readonly is: "other-driver"; readonly volume: string; readonly driver: string }
  | { readonly is: "unreadable"; readonly why: string };

/** `volume` is what the claim names, and absent when that is nothing. */
export function volumeState(
  claim: Lookup<PersistentVolumeClaim>,
  volume?: Lookup<PersistentVolume>,
): VolumeState {
  if (claim.is === "missing") return { is: "claim-missing" };
  if (claim.is === "failed") return { is: "unreadable", why: claim.why };
  const name = claim.object.spec.volumeName ?? "";
  if (name === "" || volume === undefined) return { is: "unbound", why: "it has no volume yet" };
  if (volume.is === "missing") return { is: "volume-missing", volume: name };
  if (volume.is === "failed") return { is: "unreadable", why: volume.why };
  if (!isHeldBy(volume.object, claim.object)) {
    return { is: "unbound", why: `PersistentVolume "${name}" belongs to another claim` };
  }
  const { csi } = volume.object.spec;
  if (csi === undefined || csi.driver !== csiDriver) {
    return { is: "other-driver", volume: name, driver: csi?.driver ?? "" };
  }
  return { is: "known", volumeId: csi.volumeHandle };
}

/** A claim may name any volume before it is bound; nobody may reach another's volume by that. */
function isHeldBy(volume: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const holder = volume.spec.claimRef;
  if (holder === undefined) return true;
  if (holder.namespace !== metadata.namespace || holder.name !== metadata.name) return false;
  return holder.uid === undefined || metadata.uid === undefined || holder.uid === metadata.uid;
}
