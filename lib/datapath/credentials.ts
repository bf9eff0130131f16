import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { type Secret, secrets } from "../api/core.ts";
import { repositoryPassword as passwordPlace } from "../api/names.ts";
import { messageOf, MovementError } from "../base/error.ts";
import { isNotFound } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";

export interface CredentialSources {
  readonly client: KubeClient;
  /** Velero's namespace. */
  readonly namespace: string;
  /** What the agent's own environment says of stores: files with credentials, and who it is. */
  readonly environment: Readonly<Record<string, string>>;
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

export interface CredentialsText {
  readonly text: string;
  /** For messages. */
  readonly from: string;
}

/**
 * The credentials of a location: of the Secret that it names, else of the file that the variable
 * names; undefined where there is neither.
 */
export async function readCredentials(
  location: BackupStorageLocation,
  { variable, ...sources }: CredentialSources & { readonly variable: string },
  signal: AbortSignal,
): Promise<CredentialsText | undefined> {
  const { name, key } = location.spec.credential ?? {};
  if (name !== undefined && key !== undefined) {
    const from = `key "${key}" of Secret "${name}"`;
    return { text: await readSecretKey(sources, { name, key }, signal), from };
  }
  const file = sources.environment[variable];
  if (!file) return undefined;
  try {
    return { text: await Deno.readTextFile(file), from: `"${file}"` };
  } catch (cause) {
    throw missing(
      `the credentials file "${file}" cannot be read (${messageOf(cause)})`,
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
  { client, namespace }: Pick<CredentialSources, "client" | "namespace">,
  { name, key }: SecretKey,
  signal: AbortSignal,
): Promise<string> {
  const secret = await getSecret(client, { namespace, name }, signal);
  const value = secret.data?.[key];
  if (value === undefined) {
    const keys = Object.keys(secret.data ?? {}).map((key) => `"${key}"`).join(", ") || "none";
    throw missing(`Secret "${name}" has no key "${key}" (its keys: ${keys})`, "add the key");
  }
  return new TextDecoder().decode(Uint8Array.fromBase64(value));
}

async function getSecret(
  client: KubeClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Secret> {
  try {
    return await client.get(secrets, { namespace, name }, signal);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw missing(`Secret "${namespace}/${name}" does not exist`, "create it", cause);
  }
}

/** The error for credentials that are not there. */
export function missing(problem: string, advice: string, cause?: unknown): MovementError {
  return new MovementError("CredentialsMissing", `Cannot read credentials: ${problem}; ${advice}`, {
    cause,
  });
}
