import { ConfigError } from "../base/error.ts";
import type { CustomResourceDefinition, OpenApiSchema } from "../api/custom_resource_definition.ts";
import type { KubeObject, Resource } from "../kube/object.ts";
import type { Phase } from "./lifecycle.ts";

/** What the installed CRD of a kind knows, and so what may be written. */
export interface Capabilities {
  readonly phases: ReadonlySet<string>;
  /** `spec.cancel` and the phases Canceling and Canceled exist (since Velero 1.17). */
  readonly cancelable: boolean;
  /** `status.node` exists, for the node whose agent does it (restores since Velero 1.17). */
  readonly statusNode: boolean;
  /** The status has an address of its own; in Velero 1.15 to 1.18 it has not. */
  readonly statusSubresource: boolean;
  /** The fields of the status that are kept when they are written; absent: all. */
  readonly statusFields?: ReadonlySet<string>;
  /** The fields that the API server can select by, such as ".spec.node"; in stock CRDs none. */
  readonly selectable: ReadonlySet<string>;
  /** What is missing though the kind can be worked on; each says what follows from it. */
  readonly lacks: readonly string[];
}

const needed = ["InProgress", "Completed", "Failed"] satisfies Phase[];
const neededForCancel = ["Canceling", "Canceled"] satisfies Phase[];

/** Without it nobody can ever restore what was backed up. */
const neededFields: Readonly<Record<string, readonly string[]>> = {
  PodVolumeBackup: ["phase", "snapshotID"],
};

/** All versions have them, and a movement is the same without. */
const wishedFields: Readonly<Record<string, string>> = {
  message: "nobody is told in the object why it failed",
  startTimestamp: "the object does not tell when it began",
  completionTimestamp: "the object does not tell when it ended",
  progress: "the object does not tell how far it is",
};

const remedy = "install the CRDs of Velero 1.15 to 1.18";

/**
 * Reads what a CRD knows, whatever its version. Throws `ConfigError` when it does not serve the
 * version, or lacks a phase or field without which no movement can be reported.
 */
export function readCapabilities<T extends KubeObject>(
  definition: CustomResourceDefinition,
  { version, kind }: Resource<T>,
): Capabilities {
  const { name } = definition.metadata;
  const served = definition.spec.versions.find((one) => one.name === version && one.served);
  if (served === undefined) {
    const others = definition.spec.versions.filter((one) => one.served).map((one) => one.name);
    throw new ConfigError(
      `The CRD "${name}" does not serve ${version}, only ${
        others.join(", ") || "nothing"
      }; ${remedy}`,
    );
  }
  const schema = served.schema?.openAPIV3Schema;
  const phases = new Set(enumeration(field(schema, "status", "phase")));
  const knowsPhase = (phase: string) => phases.size === 0 || phases.has(phase);
  requireAll(needed.filter((phase) => !knowsPhase(phase)), `The CRD "${name}"`, `${kind} phases`);
  const statusFields = fieldsOf(schema, "status");
  const knowsField = (field: string) => statusFields === undefined || statusFields.has(field);
  const lackingFields = (neededFields[kind] ?? ["phase"]).filter((field) => !knowsField(field));
  requireAll(lackingFields, `The CRD "${name}"`, `${kind} status fields`);
  const hasCancel = field(schema, "spec", "cancel") !== undefined;
  const lackingForCancel = neededForCancel.filter((phase) => !phases.has(phase));
  return {
    phases,
    cancelable: hasCancel && lackingForCancel.length === 0,
    statusNode: field(schema, "status", "node") !== undefined,
    statusSubresource: served.subresources?.status !== undefined,
    ...(statusFields !== undefined && { statusFields }),
    selectable: new Set(served.selectableFields?.map(({ jsonPath }) => jsonPath)),
    lacks: [
      ...(hasCancel && lackingForCancel.length > 0
        ? [
          `it has spec.cancel but not the phases ${
            lackingForCancel.join(", ")
          }: nothing is canceled`,
        ]
        : []),
      ...Object.entries(wishedFields).filter(([field]) => !knowsField(field))
        .map(([field, consequence]) => `it has no status.${field}: ${consequence}`),
    ],
  };
}

function requireAll(lacking: readonly string[], who: string, what: string): void {
  if (lacking.length === 0) return;
  throw new ConfigError(`${who} does not know the ${what} ${lacking.join(", ")}; ${remedy}`);
}

/** Undefined where the schema keeps whatever is written. */
function fieldsOf(
  schema: OpenApiSchema | undefined,
  name: string,
): ReadonlySet<string> | undefined {
  if (schema === undefined || isOpen(schema)) return undefined;
  const found = schema.properties?.[name];
  if (found === undefined) return new Set();
  return isOpen(found) ? undefined : new Set(Object.keys(found.properties ?? {}));
}

function isOpen(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

function field(schema: OpenApiSchema | undefined, ...path: string[]): OpenApiSchema | undefined {
  return path.reduce((at, name) => at?.properties?.[name], schema);
}

function enumeration(schema: OpenApiSchema | undefined): string[] {
  return (schema?.enum ?? []).filter((value) => typeof value === "string");
}
