/** What an object asks of CNS. Pure: the object and the states of its volumes in, intents out. */
import type { CnsVolumeMetadata } from "../api/cns_volume_metadata.ts";
import { type Finding, formatFinding } from "../base/finding.ts";
import type { CnsCluster, CnsEntity, CnsReference, Removable } from "../vsphere/cns_types.ts";
import { entityKey, type EntityRecord, entityRecord } from "./entity_record.ts";
import type { CnsReason } from "./reason.ts";
import { isEntityType, violationsOf } from "./validate.ts";
import type { VolumeState } from "./volume_state.ts";

/** One entity to be set at one volume, or to be taken off it. */
export interface Intent {
  readonly volumeId: string;
  readonly entity: Removable<CnsEntity>;
  readonly cluster: CnsCluster;
}

/** What of the configuration enters what is written. */
export interface PlanConfiguration {
  readonly clusterId: string;
  /** With its prefix, as the configuration gives it. */
  readonly supervisorId: string;
  /** The feature `tkgs-ha`: the supervisor goes by `supervisorId`, else by `clusterId`. */
  readonly isSupervisorIdUsed: boolean;
  /** Who is logged in at the vCenter. */
  readonly user: string;
}

/** What is to be done about one of the object's volumes. */
export type VolumePlan =
  /** By an intent of the plan. */
  | { readonly do: "push"; readonly volumeName: string; readonly volumeId: string }
  /** There is nothing to do, and that is as it should be. */
  | { readonly do: "skip"; readonly volumeName: string; readonly why: string }
  | {
    readonly do: "fail";
    readonly volumeName: string;
    readonly reason: CnsReason;
    /** A clause that says what is wrong and what helps. */
    readonly why: string;
  };

export interface Plan {
  readonly aim: "set" | "remove";
  /** Every rule that the object breaks; when it is being deleted, they hinder nothing. */
  readonly violations: readonly Finding[];
  /** One for each of the object's volumes, in their order. */
  readonly volumes: readonly VolumePlan[];
  /** At most one for each volume of CNS. */
  readonly intents: readonly Intent[];
}

/** `states`: of the object's volumes, in their order. */
export function planFor(
  object: CnsVolumeMetadata,
  states: readonly VolumeState[],
  configuration: PlanConfiguration,
): Plan {
  const record = entityRecord(object);
  const aim = object.metadata.deletionTimestamp === undefined ? "set" : "remove";
  const violations = violationsOf(record);
  if (violations.length > 0 && aim === "set") {
    const why = violations.map(formatFinding).join("; ");
    const fail = { do: "fail", reason: "ObjectInvalid", why } as const;
    const volumes = record.volumeNames.map((volumeName) => ({ ...fail, volumeName }));
    return { aim, violations, volumes, intents: [] };
  }
  const namespace = object.metadata.namespace ?? "";
  const volumes = record.volumeNames.map((volumeName, nth): VolumePlan => {
    if (!isNameable(record) || volumeName === "") {
      return { do: "skip", volumeName, why: "nothing can have such a name" };
    }
    const state = states[nth] ?? { is: "unreadable", why: "the claim was not looked up" };
    return aim === "set"
      ? planToSet(state, { namespace, volumeName })
      : planToRemove(state, { namespace, volumeName });
  });
  return { aim, violations, volumes, intents: intentsOf(record, volumes, { aim, configuration }) };
}

/** An object that became invalid may lack what an entity goes by. */
function isNameable({ entityType, entityName, clusterId }: EntityRecord): boolean {
  return isEntityType(entityType) && entityName !== "" && clusterId !== "";
}

interface ClaimName {
  readonly namespace: string;
  readonly volumeName: string;
}

function planToSet(state: VolumeState, { namespace, volumeName }: ClaimName): VolumePlan {
  const claim = `PersistentVolumeClaim "${namespace}/${volumeName}"`;
  const fail = (reason: CnsReason, why: string): VolumePlan => {
    return { do: "fail", volumeName, reason, why };
  };
  switch (state.is) {
    case "known":
      return { do: "push", volumeName, volumeId: state.volumeId };
    case "claim-missing":
      return fail("ClaimMissing", `${claim} does not exist in the supervisor; it is tried again`);
    case "unbound":
      return fail("ClaimUnbound", `${claim} is not bound: ${state.why}; it is tried again`);
    case "volume-missing": {
      const lost = `${claim} is bound to PersistentVolume "${state.volume}", which does not exist`;
      return fail("VolumeMissing", `${lost}; delete the claim or restore the volume`);
    }
    case "other-driver":
      return { do: "skip", volumeName, why: otherDriver(state) };
    case "unreadable":
      return fail("ReadFailed", `${claim} or its volume cannot be read: ${state.why}`);
    default:
      return state satisfies never;
  }
}

/** What does not exist has no metadata to take off; only what is not known may hold an object. */
function planToRemove(state: VolumeState, { namespace, volumeName }: ClaimName): VolumePlan {
  const claim = `PersistentVolumeClaim "${namespace}/${volumeName}"`;
  switch (state.is) {
    case "known":
      return { do: "push", volumeName, volumeId: state.volumeId };
    case "claim-missing":
      return { do: "skip", volumeName, why: `${claim} does not exist any more` };
    case "unbound":
      return { do: "skip", volumeName, why: `${claim} is not bound: ${state.why}` };
    case "volume-missing":
      return {
        do: "skip",
        volumeName,
        why: `PersistentVolume "${state.volume}" does not exist any more`,
      };
    case "other-driver":
      return { do: "skip", volumeName, why: otherDriver(state) };
    case "unreadable": {
      const why = `${claim} or its volume cannot be read: ${state.why}`;
      return { do: "fail", volumeName, reason: "ReadFailed", why };
    }
    default:
      return state satisfies never;
  }
}

function otherDriver({ volume, driver }: { readonly volume: string; readonly driver: string }) {
  const whose = driver === "" ? "of no CSI driver" : `of the driver "${driver}"`;
  return `PersistentVolume "${volume}" is ${whose}, so CNS does not know it`;
}

interface Aim {
  readonly aim: "set" | "remove";
  readonly configuration: PlanConfiguration;
}

/** A pod may use one claim twice: then its volume has one entity with the references of both. */
function intentsOf(
  record: EntityRecord,
  volumes: readonly VolumePlan[],
  { aim, configuration }: Aim,
): readonly Intent[] {
  const references = new Map<string, CnsReference[]>();
  for (const [nth, volume] of volumes.entries()) {
    if (volume.do !== "push") continue;
    const own = references.get(volume.volumeId) ?? [];
    references.set(volume.volumeId, own);
    const reference = record.references[nth];
    if (reference === undefined) continue;
    const filled = filledReference(record, reference, configuration);
    if (!own.some((one) => entityKey(one) === entityKey(filled))) own.push(filled);
  }
  const { entityType, entityName, namespace, clusterId, distribution } = record;
  const cluster: CnsCluster = {
    clusterId,
    user: configuration.user,
    flavor: "GUEST_CLUSTER",
    distribution,
  };
  const labels = sorted(record.labels ?? {});
  return [...references].map(([volumeId, own]) => {
    const entity = { entityType, entityName, namespace, clusterId, labels, references: own };
    const removable = aim === "remove" ? { ...entity, remove: true as const } : entity;
    return { volumeId, entity: removable, cluster };
  });
}

/** A PERSISTENT_VOLUME refers to a claim of the supervisor, whose id the guest does not know. */
function filledReference(
  { entityType }: EntityRecord,
  reference: CnsReference,
  { clusterId, supervisorId, isSupervisorIdUsed }: PlanConfiguration,
): CnsReference {
  if (entityType !== "PERSISTENT_VOLUME") return reference;
  return { ...reference, clusterId: isSupervisorIdUsed ? supervisorId : clusterId };
}

function sorted(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).sort(([one], [other]) => one < other ? -1 : 1),
  );
}
