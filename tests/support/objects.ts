/** Builders: each gives an object that works; a test changes what it is about. */
import type { BackupRepository } from "../../lib/api/backup_repository.ts";
import type { BackupStorageLocation } from "../../lib/api/backup_storage_location.ts";
import type { ContainerStatus, Pod, Secret } from "../../lib/api/core.ts";
import {
  annotations,
  labels,
  repositoryPassword,
  restoreWaitContainer,
} from "../../lib/api/names.ts";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { KubeObject, ObjectMeta } from "../../lib/kube/object.ts";

/** `spec` and `metadata` are laid over the builder's, field by field; `status` is taken as it is. */
export type Change<T extends KubeObject> =
  & Partial<ObjectMeta>
  & (T extends { readonly spec: infer S } ? { readonly spec?: Partial<S> } : unknown)
  & (T extends { readonly status?: infer S } ? { readonly status?: S } : unknown);

export const backupUid = "0b5c3d9e-6f0a-4a55-9d5e-2f6f4c1f7a10";
export const restoreUid = "3f9f2f0a-2a3c-4c9d-9a64-5f2b7a0c1d22";
export const podUid = "7c1d2a34-58a6-4f0e-8f7e-0d8a4d5f6b21";
export const password = "a password of the tests";

/** Pod `app/web` on node `node-1`: Running, with the emptyDir volume `data`. */
export function pod(change: Change<Pod> = {}): Pod {
  const { spec, status, ...metadata } = change;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "app", ...metadata },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "web", image: "example.invalid/web:1" }],
      volumes: [{ name: "data", emptyDir: {} }],
      ...spec,
    },
    status: status ?? { phase: "Running" },
  };
}

/** A new PodVolumeBackup of volume `data` of pod `app/web`, as a Velero server makes it. */
export function podVolumeBackup(change: Change<PodVolumeBackup> = {}): PodVolumeBackup {
  const { spec, status, ...metadata } = change;
  return {
    apiVersion: "velero.io/v1",
    kind: "PodVolumeBackup",
    metadata: {
      name: "nightly-1",
      namespace: "velero",
      labels: { [labels.backupName]: "nightly", [labels.backupUid]: backupUid },
      ownerReferences: [{
        apiVersion: "velero.io/v1",
        kind: "Backup",
        name: "nightly",
        uid: backupUid,
        controller: true,
      }],
      ...metadata,
    },
    spec: {
      node: "node-1",
      pod: { kind: "Pod", namespace: "app", name: "web", uid: podUid },
      volume: "data",
      backupStorageLocation: "default",
      repoIdentifier: "",
      uploaderType: "kopia",
      tags: { backup: "nightly", "backup-uid": backupUid, ns: "app", pod: "web", volume: "data" },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** A new PodVolumeRestore into volume `data` of pod `app/web`, as a Velero server makes it. */
export function podVolumeRestore(change: Change<PodVolumeRestore> = {}): PodVolumeRestore {
  const { spec, status, ...metadata } = change;
  const pod = spec?.pod ?? { kind: "Pod", namespace: "app", name: "web", uid: podUid };
  return {
    apiVersion: "velero.io/v1",
    kind: "PodVolumeRestore",
    metadata: {
      name: "again-1",
      namespace: "velero",
      labels: {
        [labels.restoreName]: "again",
        [labels.restoreUid]: restoreUid,
        [labels.podUid]: pod.uid ?? "",
      },
      ownerReferences: [{
        apiVersion: "velero.io/v1",
        kind: "Restore",
        name: "again",
        uid: restoreUid,
        controller: true,
      }],
      ...metadata,
    },
    spec: {
      volume: "data",
      backupStorageLocation: "default",
      repoIdentifier: "",
      snapshotID: "0".repeat(32),
      sourceNamespace: "app",
      uploaderType: "kopia",
      ...spec,
      pod,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** What a pod is like whose init container holds it back until its volumes are filled. */
export function waitingForRestore(
  { before = [] }: { readonly before?: readonly string[] } = {},
): Change<Pod> & { readonly spec: Partial<Pod["spec"]> } {
  const names = [...before, restoreWaitContainer];
  return {
    spec: {
      initContainers: names.map((name) => ({ name, image: "example.invalid/helper:1" })),
    },
    status: {
      phase: "Pending",
      initContainerStatuses: [containerRunning(restoreWaitContainer)],
    },
  };
}

/** With the members that the API server insists on. */
export function containerRunning(name: string): ContainerStatus {
  const image = "example.invalid/helper:1";
  const status = { image, imageID: "", ready: false, restartCount: 0 };
  return { name, state: { running: { startedAt: "2026-01-01T00:00:00Z" } }, ...status };
}

/** What a Velero server adds to the PodVolumeBackup of a claim's volume. */
export function ofClaim(name: string, uid: string): Pick<ObjectMeta, "labels" | "annotations"> {
  return {
    labels: {
      [labels.backupName]: "nightly",
      [labels.backupUid]: backupUid,
      [labels.pvcUid]: uid,
    },
    annotations: { [annotations.pvcName]: name },
  };
}

/** Location `default` of provider `velero.io/fs`; tests that move data set `config.fspath`. */
export function backupStorageLocation(
  change: Change<BackupStorageLocation> = {},
): BackupStorageLocation {
  const { spec, status, ...metadata } = change;
  return {
    apiVersion: "velero.io/v1",
    kind: "BackupStorageLocation",
    metadata: { name: "default", namespace: "velero", ...metadata },
    spec: {
      provider: "velero.io/fs",
      objectStorage: { bucket: "backups" },
      config: { fspath: "/nonexistent" },
      ...spec,
    },
    status: status ?? { phase: "Available" },
  };
}

/** The ready repository of namespace `app` in location `default`. */
export function backupRepository(change: Change<BackupRepository> = {}): BackupRepository {
  const { spec, status, ...metadata } = change;
  const full = {
    volumeNamespace: "app",
    backupStorageLocation: "default",
    repositoryType: "kopia",
    maintenanceFrequency: "1h0m0s",
    resticIdentifier: "", // Velero up to 1.16 wants it
    ...spec,
  } as const;
  return {
    apiVersion: "velero.io/v1",
    kind: "BackupRepository",
    metadata: {
      name: `${full.volumeNamespace}-${full.backupStorageLocation}-${full.repositoryType}`,
      namespace: "velero",
      labels: {
        [labels.volumeNamespace]: full.volumeNamespace,
        [labels.storageLocation]: full.backupStorageLocation,
        [labels.repositoryType]: full.repositoryType,
      },
      ...metadata,
    },
    spec: full,
    status: status ?? { phase: "Ready" },
  };
}

/** A Secret in Velero's namespace whose values are given as plain text. */
export function secret(name: string, values: Readonly<Record<string, string>>): Secret {
  const encoded = Object.entries(values)
    .map(([key, value]) => [key, new TextEncoder().encode(value).toBase64()]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "velero" },
    type: "Opaque",
    data: Object.fromEntries(encoded),
  };
}

/** The Secret with the password of all repositories. */
export function repositoryPasswordSecret(value: string = password): Secret {
  return secret(repositoryPassword.secret, { [repositoryPassword.key]: value });
}
