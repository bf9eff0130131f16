/** Custom resource definitions, with the fields that tell which phases and fields a server knows. */
import type { KubeObject, Resource } from "../kube/object.ts";
import type { Condition } from "./core.ts";

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope?: "Namespaced" | "Cluster";
    readonly versions: readonly CustomResourceVersion[];
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: OpenApiSchema };
  /** Fields for field selectors; since Kubernetes 1.30. */
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  /** With a `status` member the status is written through its own address. */
  readonly subresources?: { readonly status?: Readonly<Record<string, never>> };
}

/** The part of a structural schema that says which fields and enumeration values exist. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly items?: OpenApiSchema;
}

export const customResourceDefinitions: Resource<CustomResourceDefinition> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};
