import type { Finding } from "../base/finding.ts";
import { type EntityRecord, longestClusterId } from "./entity_record.ts";

interface Rules {
  readonly namespace: "set" | "empty";
  readonly labels: "allowed" | "absent";
  /** How many volumes, and as many references. */
  readonly volumes: "one" | "some";
  readonly referenceType: string;
  readonly referenceClusterId: "set" | "empty";
}

const rules: Readonly<Record<string, Rules>> = {
  PERSISTENT_VOLUME: {
    namespace: "empty",
    labels: "allowed",
    volumes: "one",
    referenceType: "PERSISTENT_VOLUME_CLAIM",
    referenceClusterId: "empty", // the supervisor's, which its controller knows
  },
  PERSISTENT_VOLUME_CLAIM: {
    namespace: "set",
    labels: "allowed",
    volumes: "one",
    referenceType: "PERSISTENT_VOLUME",
    referenceClusterId: "set",
  },
  POD: {
    namespace: "set",
    labels: "absent",
    volumes: "some",
    referenceType: "PERSISTENT_VOLUME_CLAIM",
    referenceClusterId: "set",
  },
};

/** A demand, and whether it is met. */
type Demand = readonly [isMet: boolean, path: string, demand: string];

/** Whether an entity of this type can be in CNS at all. */
export function isEntityType(type: string): boolean {
  return Object.hasOwn(rules, type);
}

/** Every rule that an object breaks, each an error with the field's path; none for a valid one. */
export function violationsOf(record: EntityRecord): readonly Finding[] {
  const { entityType, entityName, clusterId, volumeNames } = record;
  const ofType = isEntityType(entityType) ? rules[entityType] : undefined;
  const types = Object.keys(rules).join(", ");
  const demands: readonly Demand[] = [
    [entityName !== "", "spec.entityname", "must be set"],
    [ofType !== undefined, "spec.entitytype", `must be one of ${types}, and is "${entityType}"`],
    [clusterId !== "", "spec.guestclusterid", "must be set"],
    [
      clusterId.length <= longestClusterId,
      "spec.guestclusterid",
      `must not be longer than ${longestClusterId} characters, and has ${clusterId.length}`,
    ],
    ...volumeNames.map((name, nth): Demand => [
      name !== "",
      `spec.volumenames[${nth}]`,
      "must be set",
    ]),
    ...(ofType === undefined ? [] : demandsOfType(record, ofType)),
  ];
  return demands.filter(([isMet]) => !isMet)
    .map(([, path, message]) => ({ severity: "error", path, message }));
}

function demandsOfType(record: EntityRecord, rule: Rules): readonly Demand[] {
  const { entityType, namespace, labels, volumeNames, references } = record;
  return [
    [
      (namespace !== "") === (rule.namespace === "set"),
      "spec.namespace",
      `must be ${rule.namespace} for ${entityType}`,
    ],
    [
      rule.labels === "allowed" || labels === undefined,
      "spec.labels",
      `must be absent for ${entityType}`,
    ],
    ...demandsOfCount(record, rule),
    [
      rule.volumes === "one" || volumeNames.length === references.length,
      "spec.volumenames/spec.entityreferences",
      `must have the same length (${volumeNames.length} vs ${references.length})`,
    ],
    ...references.flatMap((reference, nth): readonly Demand[] => [
      [
        reference.entityType === rule.referenceType,
        `spec.entityreferences[${nth}].EntityType`,
        `must be ${rule.referenceType} for ${entityType}, and is "${reference.entityType}"`,
      ],
      [
        (reference.clusterId !== "") === (rule.referenceClusterId === "set"),
        `spec.entityreferences[${nth}].ClusterID`,
        `must be ${rule.referenceClusterId} for ${entityType}`,
      ],
    ]),
  ];
}

function demandsOfCount(record: EntityRecord, rule: Rules): readonly Demand[] {
  const { entityType, volumeNames, references } = record;
  const fields = [["volumenames", volumeNames], ["entityreferences", references]] as const;
  return fields.map(([field, { length }]): Demand =>
    rule.volumes === "one"
      ? [
        length === 1,
        `spec.${field}`,
        `must have exactly one item for ${entityType}, and has ${length}`,
      ]
      : [length >= 1, `spec.${field}`, `must have at least one item for ${entityType}`]
  );
}
