import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { awsAccess, type AwsKeys } from "./aws_credentials.ts";
import { azureAccess, parseDotenv } from "./azure_credentials.ts";
import { type CredentialSources, missing, readCredentials } from "./credentials.ts";
import { invalid, storeOf } from "./storage_location.ts";

/** What lets an uploader into a store, read anew for each operation. */
export interface StoreAccess {
  /** Environment variables with secrets. */
  readonly keys: Readonly<Record<string, string>>;
  /** Environment variables without. */
  readonly environment: Readonly<Record<string, string>>;
  /** The text of a credentials file that the program reads itself. */
  readonly file?: string;
  readonly azureCloud?: string;
}

/**
 * From the Secret that the location names, the file of the provider's variable, or the agent's own
 * identity. Throws `MovementError` CredentialsMissing, StorageLocationInvalid for what cannot be
 * used, and what `assumeRole` throws.
 */
export async function readStoreAccess(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<StoreAccess> {
  const store = storeOf(location);
  switch (store) {
    case "filesystem":
      return { keys: {}, environment: {} };
    case "s3":
      return await readAwsAccess(location, sources, signal);
    case "azure":
      return await readAzureAccess(location, sources, signal);
    case "gcs":
      return await readGcsAccess(location, sources, signal);
    default:
      return store satisfies never;
  }
}

async function readAwsAccess(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<StoreAccess> {
  const profile = location.spec.config?.["profile"] || "default";
  const variable = "AWS_SHARED_CREDENTIALS_FILE";
  const file = await readCredentials(location, { ...sources, variable }, signal);
  const { environment } = sources;
  const access = awsAccess({ ...(file && { file: file.text }), profile, environment });
  switch (access.by) {
    case "itself":
      return { keys: {}, environment: access.environment };
    case "keys":
      return {
        keys: variablesOf(await withRoles(location, { ...access, environment }, signal)),
        environment: {},
      };
    case "unsupported":
      throw invalid(
        location,
        `profile "${access.profile}" in ${file?.from} uses "${access.setting}", which is not supported`,
        "use static keys, source_profile with such keys, or a web identity",
      );
    case "nothing":
      throw file === undefined
        ? missing(
          `BackupStorageLocation "${location.metadata.name}" has no spec.credential, ${variable} is ` +
            "not set, and the agent has no identity of its own for AWS",
          "set one of them",
        )
        : missing(
          `profile "${profile}" with aws_access_key_id and aws_secret_access_key is not in ` +
            `${file.from} (profiles there: ${quoted(access.profiles)})`,
          `correct it, or config.profile of BackupStorageLocation "${location.metadata.name}"`,
        );
    default:
      return access satisfies never;
  }
}

type WithRoles = Extract<ReturnType<typeof awsAccess>, { by: "keys" }> & {
  readonly environment: Readonly<Record<string, string>>;
};

async function withRoles(
  location: BackupStorageLocation,
  { keys, roles, environment }: WithRoles,
  signal: AbortSignal,
): Promise<AwsKeys> {
  if (roles.length === 0) return keys;
  const region = location.spec.config?.["region"] || environment["AWS_REGION"] || "us-east-1";
  const endpoint = environment["AWS_ENDPOINT_URL_STS"];
  const { assumeRole } = await import("./sts.ts"); // few need it
  let current = keys;
  for (const role of roles) {
    const options = { region, ...(endpoint && { endpoint }) };
    current = await assumeRole({ keys: current, role }, options, signal);
  }
  return current;
}

function variablesOf({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys) {
  return {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken !== undefined && { AWS_SESSION_TOKEN: sessionToken }),
  };
}

async function readAzureAccess(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<StoreAccess> {
  const variable = "AZURE_CREDENTIALS_FILE";
  const read = await readCredentials(location, { ...sources, variable }, signal);
  const file = parseDotenv(read?.text ?? "");
  const access = azureAccess(location, { file, environment: sources.environment });
  const azureCloud = file["AZURE_CLOUD_NAME"];
  return { ...access, ...(azureCloud && { azureCloud }) };
}

async function readGcsAccess(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<StoreAccess> {
  const variable = "GOOGLE_APPLICATION_CREDENTIALS";
  const read = await readCredentials(location, { ...sources, variable }, signal);
  // Without a file it is the workload identity of the node or the pod.
  if (read === undefined || read.text.trim() === "") return { keys: {}, environment: {} };
  if (isGoogleFile(read.text)) return { keys: {}, environment: {}, file: read.text };
  throw missing(
    `${read.from} is not a credentials file of Google (JSON with a "type")`,
    `correct it, or spec.credential of BackupStorageLocation "${location.metadata.name}"`,
  );
}

function isGoogleFile(text: string): boolean {
  try {
    return typeof JSON.parse(text)?.type === "string";
  } catch {
    return false;
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ") || "none";
}
