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
  /** Of the status, beside the phase. */
  readonly fields?: readonly string[];
  /** The schema keeps whatever is written. */
  readonly open?: true;
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

const all = ["snapshotID", "path", "message", "startTimestamp", "completionTimestamp", "progress"];

function definition(
  { phases, cancel, version = "v1", statusAddress, selectable, fields = all, open }: Given,
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
              status: open ? { "x-kubernetes-preserve-unknown-fields": true } : {
                properties: { phase, ...Object.fromEntries(fields.map((name) => [name, {}])) },
              },
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
  assert.throws(
    () => read({ phases: older, fields: ["message"] }),
    /PodVolumeBackup status fields snapshotID; install/,
  );
  assert.throws(() => read({ phases: ["New", "Completed"] }), /phases InProgress, Failed; install/);
});

Deno.test("what is missing without being needed is told with what follows, and not written", () => {
  assert.deepEqual(read({ phases: older }).lacks, []);
  const { lacks, statusFields } = read({ phases: older, fields: ["snapshotID", "message"] });
  assert.deepEqual([...statusFields ?? []], ["phase", "snapshotID", "message"]);
  assert.deepEqual(lacks.map((text) => text.split(":")[0]), [
    "it has no status.startTimestamp",
    "it has no status.completionTimestamp",
    "it has no status.progress",
  ]);
  assert.match(
    read({ phases: older, cancel: true }).lacks[0] ?? "",
    /spec\.cancel but not the phases Canceling, Canceled: nothing is canceled/,
  );
});

Deno.test("a schema that keeps whatever is written lacks nothing", () => {
  const { lacks, statusFields } = read({ open: true });
  assert.deepEqual([lacks, statusFields], [[], undefined]);
});
