import assert from "node:assert/strict";
import type { CustomResourceDefinition } from "../api/custom_resource_definition.ts";
import { podVolumeBackups } from "../api/pod_volume_backup.ts";
import { readCapabilities } from "./capabilities.ts";

interface Given {
  readonly phases?: readonly string[];
  readonly cancel?: true;
  readonly version?: string;
  readonly statusAddress?: true;
  readonly selectable?: string;
}

const older = ["New", "InProgress", "Completed", "Failed"];
const newer = [
  "New",
  "Accepted",
  "Prepared",
  "InProgress",
  "Canceling",
  "Canceled",
  "Completed",
  "Failed",
];

function definition(
  { phases, cancel, version = "v1", statusAddress, selectable }: Given,
): CustomResourceDefinition {
  const phase = phases === undefined ? { type: "string" } : { type: "string", enum: phases };
  return {
    metadata: { name: "podvolumebackups.velero.io" },
    spec: {
      group: "velero.io",
      names: { kind: "PodVolumeBackup", plural: "podvolumebackups" },
      versions: [{
        name: version,
        served: true,
        storage: true,
        ...(selectable !== undefined && { selectableFields: [{ jsonPath: selectable }] }),
        subresources: statusAddress === undefined ? {} : { status: {} },
        schema: {
          openAPIV3Schema: {
            properties: {
              spec: { properties: cancel === undefined ? {} : { cancel: { type: "boolean" } } },
              status: { properties: { phase } },
            },
          },
        },
      }],
    },
  };
}

const read = (given: Given) => readCapabilities(definition(given), podVolumeBackups);

Deno.test("the CRD of Velero 1.15 and 1.16 knows no cancel", () => {
  const { cancelable, statusSubresource } = read({ phases: older });
  assert.deepEqual({ cancelable, statusSubresource }, {
    cancelable: false,
    statusSubresource: false,
  });
});

Deno.test("the CRD of Velero 1.17 and 1.18 knows cancel", () => {
  assert.equal(read({ phases: newer, cancel: true }).cancelable, true);
});

Deno.test("cancel needs the field and the phases", () => {
  assert.equal(read({ phases: newer }).cancelable, false);
  assert.equal(read({ phases: older, cancel: true }).cancelable, false);
});

Deno.test("a field that the API server can select by is noticed", () => {
  assert.deepEqual([...read({ phases: older }).selectable], []);
  assert.deepEqual([...read({ phases: newer, selectable: ".spec.node" }).selectable], [
    ".spec.node",
  ]);
});

Deno.test("a status address is noticed", () => {
  assert.equal(read({ phases: older, statusAddress: true }).statusSubresource, true);
});

Deno.test("a CRD without the needed version or phases is refused with what to install", () => {
  assert.throws(
    () => read({ phases: older, version: "v9" }),
    /does not serve v1, only v9; install/,
  );
  assert.throws(() => read({ phases: ["New", "Completed"] }), /phases InProgress, Failed; install/);
});
