import type { BackupRepository } from "../api/backup_repository.ts";
import {
  type BackupStorageLocation,
  backupStorageLocations,
} from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";
import { isNotFound } from "../kube/api_error.ts";
import { ensureBackupRepository, type RepositoryKey } from "./backup_repository.ts";
import { createConnections } from "./connections.ts";
import { type CredentialSources, readCaCerts, readRepositoryPassword } from "./credentials.ts";
import type { KopiaSettings } from "./kopia.ts";
import { repositoryParameters } from "./repository_parameters.ts";
import { openSession, type RepositorySession } from "./repository_session.ts";
import type { ResticSettings } from "./restic.ts";
import { openResticSession, requireIdentifier, type ResticSession } from "./restic_session.ts";
import { type SecretFile, secretFile } from "./secret_file.ts";
import { decodeCaCert, invalid } from "./storage_location.ts";
import { readStoreAccess, type StoreAccess } from "./store_access.ts";

export interface RepositoriesOptions extends CredentialSources {
  readonly kopia: KopiaSettings;
  readonly restic: ResticSettings;
  /** How long to wait for the server to make a repository ready, and for one short command. */
  readonly resourceTimeoutMs: number;
}

export interface ResticKey extends RepositoryKey {
  /** Where the object says that its repository is; else the BackupRepository says it. */
  readonly identifier?: string;
}

/** The repositories that this process works with. Disposing it removes their local files. */
export interface Repositories extends AsyncDisposable {
  /**
   * Waits until the repository is ready and connects to it where that has not been done yet.
   * Reads the location and the Secrets each time. Throws `MovementError`, or `ApiError`.
   */
  open(key: RepositoryKey, signal: AbortSignal): Promise<RepositorySession>;
  /** The same for a repository of restic, which needs no connection. */
  openRestic(key: ResticKey, signal: AbortSignal): Promise<ResticSession>;
}

export function createRepositories(options: RepositoriesOptions): Repositories {
  const connections = createConnections(options.kopia);
  return {
    async open(key, signal) {
      const found = await find({ ...key, type: "kopia" }, options, signal);
      const { location, repository, access, caCerts, password } = found;
      const { azureCloud } = access;
      const parameters = repositoryParameters(location, key.volumeNamespace, {
        ...(caCerts !== undefined && { caCerts }),
        ...(azureCloud !== undefined && { azureCloud }),
      });
      const { name, uid = name } = repository.metadata;
      await using stack = new AsyncDisposableStack();
      const file = stack.use(await fileOf(access, options.kopia.folder));
      const { keys } = access;
      const limitMs = options.resourceTimeoutMs;
      const connection = await connections.take({
        ...{ uid, title: `repository "${name}"`, parameters, password, keys, limitMs },
        environment: { ...access.environment, ...file.environment },
        cacheLimitMB: cacheLimitOf(repository),
      }, signal);
      const secrets = { KOPIA_PASSWORD: password, ...keys };
      const held = stack.move();
      const environment = { ...access.environment, ...file.environment };
      return openSession(options.kopia, {
        ...{ name, connection, secrets, environment, limitMs, held },
      });
    },
    async openRestic(key, signal) {
      await options.restic.find(signal); // said at once, not after the wait for a repository
      const found = await find({ ...key, type: "restic" }, options, signal);
      const { location, repository, access, caCerts, password } = found;
      await using stack = new AsyncDisposableStack();
      const { name } = repository.metadata;
      const told = key.identifier || repository.spec?.resticIdentifier;
      const identifier = requireIdentifier(told, name); // before any file is written
      const { folder } = options.restic;
      const file = stack.use(await fileOf(access, folder));
      const ca = caCerts ?? decodeCaCert(location);
      const caFile = ca && stack.use(await secretFile(`${folder}/credentials`, ca)).path;
      return openResticSession(options.restic, {
        name,
        identifier,
        location,
        secrets: { RESTIC_PASSWORD: password, ...access.keys },
        environment: { ...access.environment, ...file.environment },
        ...(caFile && { caFile }),
        limitMs: options.resourceTimeoutMs,
        held: stack.move(),
      });
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

/** What is the same for both kinds of repository. */
async function find(
  key: RepositoryKey,
  options: RepositoriesOptions,
  signal: AbortSignal,
) {
  const location = await getLocation(options, key.storageLocation, signal);
  const repository = await ensureBackupRepository(key, options, signal);
  const caCerts = await readCaCerts(location, options, signal);
  const access = await readStoreAccess(location, options, signal);
  const password = await readRepositoryPassword(options, signal);
  return { location, repository, caCerts, access, password };
}

/** Google's libraries read the credentials from a file, each time they start. */
async function fileOf({ file }: StoreAccess, folder: string): Promise<FileOf> {
  if (file === undefined) return { environment: {}, [Symbol.asyncDispose]: async () => {} };
  const written: SecretFile = await secretFile(`${folder}/credentials`, file);
  return {
    environment: { GOOGLE_APPLICATION_CREDENTIALS: written.path },
    [Symbol.asyncDispose]: () => written[Symbol.asyncDispose](),
  };
}

interface FileOf extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
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
