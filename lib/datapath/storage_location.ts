import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";

/** The error for a storage location that cannot be used: what is wrong, and what to do. */
export function invalid(
  location: BackupStorageLocation,
  problem: string,
  advice: string,
): MovementError {
  return new MovementError(
    "StorageLocationInvalid",
    `Cannot use BackupStorageLocation "${location.metadata.name}": ${problem}; ${advice}`,
  );
}

/** Which of the four kinds of store it is; the provider without Velero's prefix is meant as well. */
export function storeOf(location: BackupStorageLocation): "filesystem" | "s3" | "azure" | "gcs" {
  const { provider: name, config } = location.spec;
  const provider = name.includes("/") ? name : `velero.io/${name}`;
  switch (provider) {
    case "velero.io/fs":
      return "filesystem";
    case "velero.io/aws":
      return "s3";
    case "velero.io/azure":
      return "azure";
    case "velero.io/gcp":
      return "gcs";
    default:
      if (config?.["s3Url"]) return "s3";
      throw invalid(
        location,
        `spec.provider "${name}" is not known`,
        "set config.s3Url if the store speaks S3",
      );
  }
}

/** The bucket, which every cloud store needs. */
export function bucketOf(location: BackupStorageLocation): string {
  const { config = {}, objectStorage } = location.spec;
  const bucket = trimSlashes(objectStorage?.bucket || config["bucket"] || "");
  if (bucket !== "") return bucket;
  throw invalid(location, "objectStorage.bucket is missing", "name the bucket there");
}

/** The folder that everything lies under, without slashes around it; often "". */
export function prefixOf({ spec }: BackupStorageLocation): string {
  return trimSlashes(spec.objectStorage?.prefix || spec.config?.["prefix"] || "");
}

/** The PEM text of `caCert`. */
export function decodeCaCert(location: BackupStorageLocation): string | undefined {
  const text = location.spec.objectStorage?.caCert ?? "";
  if (text === "") return undefined;
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    throw invalid(location, "objectStorage.caCert is not base64", "put the PEM text in as base64");
  }
}

function trimSlashes(text: string): string {
  return text.replace(/^\/+|\/+$/g, "");
}
