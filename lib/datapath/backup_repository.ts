import { backupRepositories, type BackupRepository } from "../api/backup_repository.ts";
import { labels } from "../api/names.ts";
import { deadline, sleep } from "../base/abort.ts";
import { MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import { isAlreadyExists } from "../kube/api_error.ts";
import type { KubeClient } from "../kube/client.ts";
import { formatSelector, validLabelValue } from "../kube/labels.ts";

/** The program whose format a repository has. */
export type RepositoryType = "kopia" | "restic";

export interface RepositoryKey {
  /** The default is kopia. */
  readonly type?: RepositoryType;
  /** The namespace whose volumes the repository keeps. */
  readonly volumeNamespace: string;
  /** Name of the BackupStorageLocation. */
  readonly storageLocation: string;
}

export interface EnsureOptions {
  readonly client: KubeClient;
  /** Velero's namespace. */
  readonly namespace: string;
  /** How long to wait until the Velero server has made the repository ready. */
  readonly resourceTimeoutMs: number;
}

const log = logger("repository");
const pollMs = 500;

/**
 * The BackupRepository of a namespace in a location, made when there is none, once the Velero
 * server says that it is ready. Throws `MovementError` RepositoryNotReady.
 */
export async function ensureBackupRepository(
  key: RepositoryKey,
  options: EnsureOptions,
  signal: AbortSignal,
): Promise<BackupRepository> {
  using limit = deadline(signal, options.resourceTimeoutMs, "Waiting for the repository");
  let phase = "unknown";
  let found = await findOne(key, options, signal) ?? await create(key, options, signal);
  while (true) {
    const verdict = readiness(found);
    if (verdict === "ready" && found !== undefined) return found;
    phase = found?.status?.phase || "New";
    try {
      await sleep(pollMs, limit.signal);
    } catch {
      signal.throwIfAborted();
      throw new MovementError(
        "RepositoryNotReady",
        `${titleOf(key)} is still "${phase}" after ${options.resourceTimeoutMs / 1_000} s; ` +
          "check that the Velero server runs, and its log",
      );
    }
    found = await findOne(key, options, signal);
  }
}

function readiness(repository: BackupRepository | undefined): "ready" | "wait" {
  switch (repository?.status?.phase) {
    case "Ready":
      return "ready";
    case "NotReady":
      throw new MovementError(
        "RepositoryNotReady",
        `BackupRepository "${repository.metadata.name}" is not ready: ` +
          (repository.status.message || "the Velero server gave no reason; see its log"),
      );
    default:
      return "wait";
  }
}

async function findOne(
  key: RepositoryKey,
  { client, namespace }: EnsureOptions,
  signal: AbortSignal,
): Promise<BackupRepository | undefined> {
  const labelSelector = formatSelector({ matchLabels: labelsOf(key) });
  const { items } = await client.list(backupRepositories, { namespace, labelSelector }, signal);
  if (items.length < 2) return items[0];
  const names = items.map(({ metadata }) => `"${metadata.name}"`).join(", ");
  throw new MovementError(
    "RepositoryNotReady",
    `${titleOf(key)} exists ${items.length} times: ${names}; delete all but the right one`,
  );
}

async function create(
  key: RepositoryKey,
  { client, namespace }: EnsureOptions,
  signal: AbortSignal,
): Promise<BackupRepository | undefined> {
  const { type = "kopia" } = key;
  const name = `${key.volumeNamespace}-${key.storageLocation}-${type}`;
  const spec = {
    volumeNamespace: key.volumeNamespace,
    backupStorageLocation: key.storageLocation,
    repositoryType: type,
    // The server fills these two in; the schema of older versions wants them.
    maintenanceFrequency: "0s",
    resticIdentifier: "",
  };
  const metadata = { name, namespace, labels: labelsOf(key) };
  const head = { apiVersion: "velero.io/v1", kind: "BackupRepository" };
  try {
    const made = await client.create(backupRepositories, { ...head, metadata, spec }, signal);
    log.info("BackupRepository is created", { namespace, name });
    return made;
  } catch (error) {
    if (isAlreadyExists(error)) return undefined; // another node was faster
    throw error;
  }
}

function labelsOf({ volumeNamespace, storageLocation, type = "kopia" }: RepositoryKey) {
  return {
    [labels.volumeNamespace]: validLabelValue(volumeNamespace),
    [labels.storageLocation]: validLabelValue(storageLocation),
    [labels.repositoryType]: type,
  };
}

function titleOf({ volumeNamespace, storageLocation, type = "kopia" }: RepositoryKey): string {
  return `The ${type} BackupRepository of namespace "${volumeNamespace}" in location ` +
    `"${storageLocation}"`;
}
