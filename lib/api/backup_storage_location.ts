// Generated from manifests/crds/velero.io_backupstoragelocations.yaml by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

/** A place that keeps backups. Longshore only reads it. */
export interface BackupStorageLocation extends KubeObject {
  readonly spec: BackupStorageLocationSpec;
  readonly status?: BackupStorageLocationStatus;
}

/** How the API server addresses BackupStorageLocation objects. */
export const backupStorageLocations: Resource<BackupStorageLocation> = {
  group: "velero.io",
  version: "v1",
  plural: "backupstoragelocations",
  kind: "BackupStorageLocation",
  namespaced: true,
};

/** Where the place is and how it is entered. */
export interface BackupStorageLocationSpec {
  readonly accessMode?: BackupStorageLocationAccessMode;
  /** How often the server looks for new backups here, in Go's syntax. */
  readonly backupSyncPeriod?: string | null;
  /** Settings of the provider, such as `region`, `s3Url` or `fspath`. */
  readonly config?: Readonly<Record<string, string>>;
  readonly credential?: BackupStorageLocationCredential;
  /** Whether backups that name no location go here. */
  readonly default?: boolean;
  readonly objectStorage: BackupStorageLocationObjectStorage;
  /** Such as `aws` or `velero.io/fs`; without a slash `velero.io/` is meant. */
  readonly provider: string;
  /** How often the server checks the location, in Go's syntax. */
  readonly validationFrequency?: string | null;
}

/** ReadOnly refuses new backups. */
export type BackupStorageLocationAccessMode = "ReadOnly" | "ReadWrite";

/** The key of a Secret, in the same namespace, with a credentials file. */
export interface BackupStorageLocationCredential {
  readonly key: string;
  readonly name?: string;
  readonly optional?: boolean;
}

/** The bucket; a provider without buckets takes any name. */
export interface BackupStorageLocationObjectStorage {
  readonly bucket: string;
  /** PEM certificates as base64. From Velero 1.18 `caCertRef` wins. */
  readonly caCert?: string;
  readonly caCertRef?: BackupStorageLocationObjectStorageCaCertRef;
  /** The folder in the bucket that all objects lie under. */
  readonly prefix?: string;
}

/** The key of a Secret with PEM certificates. Since Velero 1.18. */
export interface BackupStorageLocationObjectStorageCaCertRef {
  readonly key: string;
  readonly name?: string;
  readonly optional?: boolean;
}

/** Whether the location can be reached. Written by the Velero server. */
export interface BackupStorageLocationStatus {
  readonly accessMode?: BackupStorageLocationAccessMode;
  readonly lastSyncedRevision?: string;
  readonly lastSyncedTime?: string | null;
  readonly lastValidationTime?: string | null;
  /** Why the location is unavailable. */
  readonly message?: string;
  readonly phase?: BackupStorageLocationPhase;
}

export type BackupStorageLocationPhase = "Available" | "Unavailable";
