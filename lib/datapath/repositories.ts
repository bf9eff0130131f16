import type { BackupRepository } from "../api/backup_repository.ts";
import {
  type BackupStorageLocation,
  backupStorageLocations,
} from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";
import { isNotFound } from "../kube/api_error.ts";
import { ensureBackupRepository, type RepositoryKey } from "./backup_repository.ts";
import { createConnections } from "./connections.ts";
import {
  type CredentialSources,
  readAwsKeys,
  readCaCerts,
  readRepositoryPassword,
} from "./credentials.ts";
import type { KopiaSettings } from "./kopia.ts";
import {
  invalid,
  type RepositoryParameters,
  repositoryParameters,
} from "./repository_parameters.ts";
import { openSession, type RepositorySession } from "./repository_session.ts";

export interface RepositoriesOptions extends CredentialSources {
  readonly kopia: KopiaSettings;
  /** How long to wait for the server to make a repository ready, and for one short command. */
  readonly resourceTimeoutMs: number;
}

/** The repositories that this process works with. Disposing it removes their local files. */
export interface Repositories extends AsyncDisposable {
  /**
   * Waits until the repository is ready and connects to it where that has not been done yet.
   * Reads the location and the Secrets each time. Throws `MovementError`, or `ApiError`.
   */
  open(key: RepositoryKey, signal: AbortSignal): Promise<RepositorySession>;
}

export function createRepositories(options: RepositoriesOptions): Repositories {
  const connections = createConnections(options.kopia);
  return {
    async open(key, signal) {
      const location = await getLocation(options, key.storageLocation, signal);
      const repository = await ensureBackupRepository(key, options, signal);
      const place = await placeOf(location, { key, sources: options }, signal);
      const password = await readRepositoryPassword(options, signal);
      const { name, uid = name } = repository.metadata;
      const connection = await connections.take({
        uid,
        title: `repository "${name}"`,
        parameters: place.parameters,
        password,
        keys: place.keys,
        cacheLimitMB: cacheLimitOf(repository),
        limitMs: options.resourceTimeoutMs,
      }, signal);
      const secrets = { KOPIA_PASSWORD: password, ...place.keys };
      return openSession(options.kopia, {
        name,
        connection,
        secrets,
        limitMs: options.resourceTimeoutMs,
      });
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

interface Place {
  readonly parameters: RepositoryParameters;
  readonly keys: Readonly<Record<string, string>>;
}

async function placeOf(
  location: BackupStorageLocation,
  { key, sources }: { readonly key: RepositoryKey; readonly sources: CredentialSources },
  signal: AbortSignal,
): Promise<Place> {
  const caCerts = await readCaCerts(location, sources, signal);
  const secrets = caCerts === undefined ? {} : { caCerts };
  const parameters = repositoryParameters(location, key.volumeNamespace, secrets);
  if (parameters.store === "filesystem") return { parameters, keys: {} };
  const keys = await readAwsKeys(location, sources, signal);
  const token = keys.sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: keys.sessionToken };
  return {
    parameters,
    keys: {
      AWS_ACCESS_KEY_ID: keys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
      ...token,
    },
  };
}

async function getLocation(
  { client, namespace }: RepositoriesOptions,
  name: string,
  signal: AbortSignal,
): Promise<BackupStorageLocation> {
  if (name === "") {
    throw new MovementError(
      "StorageLocationMissing",
      "The object does not say which BackupStorageLocation; back up again",
    );
  }
  try {
    const location = await client.get(backupStorageLocations, { namespace, name }, signal);
    if (location.spec) return location; // Velero's CRDs take one without
    throw invalid(location, "it has no spec", "write one");
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new MovementError(
      "StorageLocationMissing",
      `BackupStorageLocation "${namespace}/${name}" does not exist; create it`,
      { cause },
    );
  }
}

const usualCacheLimitMB = 5_000;

function cacheLimitOf({ spec }: BackupRepository): number {
  const limit = Number(spec?.repositoryConfig?.["cacheLimitMB"] ?? usualCacheLimitMB);
  return Number.isFinite(limit) && limit >= 5 ? limit : usualCacheLimitMB;
}
