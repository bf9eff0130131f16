import assert from "node:assert/strict";
import type { PodVolumeBackup } from "../api/pod_volume_backup.ts";
import { kopiaSource, parentOf, sourceAnnotation } from "./kopia_source.ts";

interface Given {
  readonly claim?: string;
  readonly claimName?: string;
  readonly pod?: string;
  readonly location?: string;
  readonly status?: PodVolumeBackup["status"];
  readonly source?: string;
}

function backup(
  { claim, claimName, pod = "web-1", location = "s3", status, source }: Given,
): PodVolumeBackup {
  return {
    metadata: {
      name: "b",
      labels: claim === undefined ? {} : { "velero.io/pvc-uid": claim },
      annotations: {
        ...(claimName !== undefined && { "velero.io/pvc-name": claimName }),
        ...(source !== undefined && { [sourceAnnotation]: source }),
      },
    },
    spec: {
      node: "n1",
      pod: { namespace: "app", name: pod },
      volume: "data",
      backupStorageLocation: location,
      repoIdentifier: "",
      uploaderType: "kopia",
    },
    ...(status !== undefined && { status }),
  };
}

const done = (startTimestamp: string, more: PodVolumeBackup["status"] = {}) =>
  ({ phase: "Completed", snapshotID: "s", startTimestamp, ...more }) as const;

Deno.test("the parent is the newest completed backup of the same claim", () => {
  const old = backup({ claim: "c1", status: done("2026-01-01T00:00:00Z") });
  const newest = backup({ claim: "c1", status: done("2026-02-01T00:00:00Z") });
  const others = [
    backup({ claim: "c2", status: done("2026-03-01T00:00:00Z") }),
    backup({ claim: "c1", location: "elsewhere", status: done("2026-03-01T00:00:00Z") }),
    backup({ claim: "c1", status: { phase: "Failed", snapshotID: "s" } }),
    backup({ claim: "c1", status: { phase: "Completed" } }),
  ];
  assert.equal(parentOf(backup({ claim: "c1" }), [old, newest, ...others]), newest);
  assert.equal(parentOf(backup({}), [old, newest]), undefined);
  assert.equal(parentOf(backup({ claim: "c9" }), [old, newest]), undefined);
});

Deno.test("without a parent the source names the pod and the claim, or the volume", () => {
  assert.equal(kopiaSource(backup({}), undefined), "snapshot-pod-volume/kopia/app/web-1/data");
  assert.equal(
    kopiaSource(backup({ claim: "c1", claimName: "web-data" }), undefined),
    "snapshot-pod-volume/kopia/app/web-1/web-data",
  );
});

Deno.test("empty annotations count as absent: kopia refuses a source that ends with a slash", () => {
  const source = "snapshot-pod-volume/kopia/app/web-1/data";
  assert.equal(kopiaSource(backup({ claimName: "" }), undefined), source);
  assert.equal(kopiaSource(backup({ claim: "c1" }), backup({ claim: "c1", source: "" })), source);
});

Deno.test("the source stays when the pod changes", () => {
  const first = backup({ claim: "c1", claimName: "d", pod: "web-abc", source: "x/y" });
  assert.equal(kopiaSource(backup({ claim: "c1", pod: "web-xyz" }), first), "x/y");
});

Deno.test("a parent that Velero made is found where that version stored it", () => {
  const path = "/host_pods/u1/volumes/kubernetes.io~csi/pv1/mount";
  const older = backup({ claim: "c1", status: done("2026-01-01T00:00:00Z", { path }) });
  assert.equal(kopiaSource(backup({ claim: "c1", pod: "new" }), older), path);
  const newer = backup({
    claim: "c1",
    claimName: "d",
    status: done("2026-01-01T00:00:00Z", { path: "/u1" }),
  });
  assert.equal(
    kopiaSource(backup({ claim: "c1", pod: "new" }), newer),
    "snapshot-pod-volume/kopia/app/web-1/d",
  );
});
