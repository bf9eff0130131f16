import type {
  CustomResourceDefinition,
  OpenApiSchema,
} from "../../lib/api/custom_resource_definition.ts";

const oldPhases = ["New", "InProgress", "Completed", "Failed"];

const movements = ["podvolumebackups.velero.io", "podvolumerestores.velero.io"];

/** The CRDs as Velero 1.15 installs them: pod volumes have no cancel and four phases. */
export function asInVelero115(definition: CustomResourceDefinition): CustomResourceDefinition {
  if (!movements.includes(definition.metadata.name)) return definition;
  const changed = structuredClone(definition);
  for (const version of changed.spec.versions) {
    const { schema } = version;
    delete (version as { selectableFields?: unknown }).selectableFields;
    const fields = schema?.openAPIV3Schema?.properties as Fields;
    const { cancel: _, snapshotSize: _0, ...spec } = fields.spec.properties;
    const { acceptedTimestamp: _1, incrementalBytes: _2, node: _3, ...status } =
      fields.status.properties;
    Object.assign(fields.spec, { properties: spec });
    Object.assign(fields.status, {
      properties: { ...status, phase: { type: "string", enum: oldPhases } },
    });
  }
  return changed;
}

type Fields = Readonly<
  Record<"spec" | "status", { readonly properties: Readonly<Record<string, OpenApiSchema>> }>
>;
