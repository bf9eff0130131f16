import type {
  CustomResourceDefinition,
  OpenApiSchema,
} from "../../lib/api/custom_resource_definition.ts";

const oldPhases = ["New", "InProgress", "Completed", "Failed"];

/** The CRDs as Velero 1.15 installs them: pod volume backups have no cancel and four phases. */
export function asInVelero115(definition: CustomResourceDefinition): CustomResourceDefinition {
  if (definition.metadata.name !== "podvolumebackups.velero.io") return definition;
  const changed = structuredClone(definition);
  for (const { schema } of changed.spec.versions) {
    const fields = schema?.openAPIV3Schema?.properties as Fields;
    const { cancel: _, ...spec } = fields.spec.properties;
    const { acceptedTimestamp: _1, incrementalBytes: _2, ...status } = fields.status.properties;
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
