// Generated from manifests/crds/velero.io_backuprepositories.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** The repository of one namespace's volumes in one storage location. */
export interface BackupRepository extends KubeObject {
  readonly spec: BackupRepositorySpec;
  readonly status?: BackupRepositoryStatus;
}

/** How the API server addresses BackupRepository objects. */
export const backupRepositories: Resource<BackupRepository> = {
  group: "velero.io",
  version: "v1",
  plural: "backuprepositories",
  kind: "BackupRepository",
  namespaced: true,
};

/** Whose data the repository holds and where it lies. */
export interface BackupRepositorySpec {
  /** The BackupStorageLocation, in the same namespace, that holds the data. */
  readonly backupStorageLocation: string;
  /** Time between two maintenance runs, in Go's syntax ("1h0m0s"). */
  readonly maintenanceFrequency: string;
  /** Settings such as `cacheLimitMB` and `fullMaintenanceInterval`. */
  readonly repositoryConfig?: Readonly<Record<string, string>> | null;
  readonly repositoryType?: BackupRepositoryRepositoryType;
  /** The repository's address for restic. Required up to Velero 1.16. */
  readonly resticIdentifier?: string;
  /** The namespace whose volumes are kept here. */
  readonly volumeNamespace: string;
}

/** The program whose format the repository has; empty means restic. */
export type BackupRepositoryRepositoryType = "kopia" | "restic" | "";

/** Whether the repository can be used. Written by the Velero server. */
export interface BackupRepositoryStatus {
  /** When maintenance last succeeded. */
  readonly lastMaintenanceTime?: string | null;
  /** Why the repository is not ready. */
  readonly message?: string;
  readonly phase?: BackupRepositoryPhase;
  /** The last maintenance runs. Since Velero 1.16. */
  readonly recentMaintenance?: readonly BackupRepositoryRecentMaintenance[];
}

/** Only a Ready repository takes data. */
export type BackupRepositoryPhase = "New" | "Ready" | "NotReady";

export interface BackupRepositoryRecentMaintenance {
  readonly completeTimestamp?: string | null;
  readonly message?: string;
  readonly result?: BackupRepositoryRecentMaintenanceResult;
  readonly startTimestamp?: string | null;
}

export type BackupRepositoryRecentMaintenanceResult = "Succeeded" | "Failed";
