import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { type Secret, secrets } from "../api/core.ts";
import { repositoryPassword as passwordPlace } from "../api/names.ts";
import { messageOf, MovementError } from "../base/error.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import { type AwsKeys, parseAwsProfile } from "./aws_credentials.ts";
import { invalid } from "./repository_parameters.ts";

export interface CredentialSources {
  readonly client: KubeClient;
  /** Velero's namespace. */
  readonly namespace: string;
  /** The value of AWS_SHARED_CREDENTIALS_FILE: the file for locations without a Secret. */
  readonly credentialsFile?: string;
}

/** Read anew for each operation; throws `MovementError` CredentialsMissing. */
export async function readRepositoryPassword(
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<string> {
  const place = { name: passwordPlace.secret, key: passwordPlace.key };
  const password = (await readSecretKey(sources, place, signal)).trim();
  if (password !== "") return password;
  throw missing(
    `key "${place.key}" of Secret "${place.name}" is empty`,
    "put the password of the repositories there",
  );
}

/**
 * The keys for an S3 location: from the Secret that it names, else from the credentials file. Throws
 * `MovementError` CredentialsMissing, or StorageLocationInvalid for a profile that asks for more
 * than static keys.
 */
export async function readAwsKeys(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<AwsKeys> {
  const profile = location.spec.config?.["profile"] || "default";
  const { text, from } = await credentialsText(location, sources, signal);
  const parsed = parseAwsProfile(text, profile);
  switch (parsed.found) {
    case "keys":
      return parsed.keys;
    case "unsupported":
      throw invalid(
        location,
        `profile "${profile}" in ${from} uses "${parsed.setting}", which is not supported yet`,
        "use aws_access_key_id and aws_secret_access_key",
      );
    case "nothing":
      throw missing(
        `profile "${profile}" with aws_access_key_id and aws_secret_access_key is not in ${from}` +
          ` (profiles there: ${parsed.profiles.map((name) => `"${name}"`).join(", ") || "none"})`,
        `correct it, or config.profile of BackupStorageLocation "${location.metadata.name}"`,
      );
    default:
      return parsed satisfies never;
  }
}

/** The PEM text of `caCertRef`, or undefined where the location has none. */
export async function readCaCerts(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, key } = location.spec.objectStorage?.caCertRef ?? {};
  if (name === undefined || key === undefined) return undefined;
  return await readSecretKey(sources, { name, key }, signal);
}

async function credentialsText(
  location: BackupStorageLocation,
  sources: CredentialSources,
  signal: AbortSignal,
) {
  const { name, key } = location.spec.credential ?? {};
  if (name !== undefined && key !== undefined) {
    const from = `key "${key}" of Secret "${name}"`;
    return { text: await readSecretKey(sources, { name, key }, signal), from };
  }
  const { credentialsFile } = sources;
  if (credentialsFile === undefined || credentialsFile === "") {
    throw missing(
      `BackupStorageLocation "${location.metadata.name}" has no spec.credential, and ` +
        "AWS_SHARED_CREDENTIALS_FILE is not set",
      "set one of them",
    );
  }
  try {
    return { text: await Deno.readTextFile(credentialsFile), from: `"${credentialsFile}"` };
  } catch (cause) {
    throw missing(
      `the credentials file "${credentialsFile}" cannot be read (${messageOf(cause)})`,
      "mount it, or set spec.credential of the BackupStorageLocation",
      cause,
    );
  }
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
}

async function readSecretKey(
  { client, namespace }: CredentialSources,
  { name, key }: SecretKey,
  signal: AbortSignal,
): Promise<string> {
  const secret = await getSecret({ client, namespace }, name, signal);
  const value = secret.data?.[key];
  if (value === undefined) {
    const keys = Object.keys(secret.data ?? {}).map((key) => `"${key}"`).join(", ") || "none";
    throw missing(`Secret "${name}" has no key "${key}" (its keys: ${keys})`, "add the key");
  }
  return new TextDecoder().decode(Uint8Array.fromBase64(value));
}

async function getSecret(
  { client, namespace }: CredentialSources,
  name: string,
  signal: AbortSignal,
): Promise<Secret> {
  try {
    return await client.get(secrets, { namespace, name }, signal);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw missing(`Secret "${namespace}/${name}" does not exist`, "create it", cause);
  }
}

function missing(problem: string, advice: string, cause?: unknown): MovementError {
  return new MovementError("CredentialsMissing", `Cannot read credentials: ${problem}; ${advice}`, {
    cause,
  });
}
