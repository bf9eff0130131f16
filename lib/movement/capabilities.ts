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
  /** The fields that the API server can select by, such as ".spec.node"; in stock CRDs none. */
  readonly selectable: ReadonlySet<string>;
}

const needed = ["InProgress", "Completed", "Failed"] satisfies Phase[];
const neededForCancel = ["Canceling", "Canceled"] satisfies Phase[];

/**
 * Reads what a CRD knows, whatever its version. Throws `ConfigError` when it does not serve the
 * version or lacks a phase without which no movement can be reported.
 */
export function readCapabilities<T extends KubeObject>(
  definition: CustomResourceDefinition,
  { version, kind }: Resource<T>,
): Capabilities {
  const name = definition.metadata.name;
  const served = definition.spec.versions.find((one) => one.name === version && one.served);
  if (served === undefined) {
    const others = definition.spec.versions.filter((one) => one.served).map((one) => one.name);
    throw new ConfigError(
      `The CRD "${name}" does not serve ${version}, only ${others.join(", ") || "nothing"}; ` +
        "install the CRDs of Velero 1.15 to 1.18",
    );
  }
  const schema = served.schema?.openAPIV3Schema;
  const phases = new Set(enumeration(field(schema, "status", "phase")));
  const lacking = phases.size === 0 ? [] : needed.filter((phase) => !phases.has(phase));
  if (lacking.length > 0) {
    throw new ConfigError(
      `The CRD "${name}" does not know the ${kind} phases ${lacking.join(", ")}; ` +
        "install the CRDs of Velero 1.15 to 1.18",
    );
  }
  return {
    phases,
    cancelable: field(schema, "spec", "cancel") !== undefined &&
      neededForCancel.every((phase) => phases.has(phase)),
    statusNode: field(schema, "status", "node") !== undefined,
    statusSubresource: served.subresources?.status !== undefined,
    selectable: new Set(served.selectableFields?.map(({ jsonPath }) => jsonPath)),
  };
}

function field(schema: OpenApiSchema | undefined, ...path: string[]): OpenApiSchema | undefined {
  return path.reduce((at, name) => at?.properties?.[name], schema);
}

function enumeration(schema: OpenApiSchema | undefined): string[] {
  return (schema?.enum ?? []).filter((value) => typeof value === "string");
}
