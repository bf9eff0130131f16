/** Reads from the installed CRDs what may be written. */
import { sleep } from "../lib/base/abort.ts";
import { ConfigError, messageOf } from "../lib/base/error.ts";
import type { Log } from "../lib/base/log.ts";
import { customResourceDefinitions } from "../lib/api/custom_resource_definition.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../lib/api/pod_volume_restore.ts";
import { isNotFound, isTransient } from "../lib/kube/api_error.ts";
import { createClient, type KubeClient } from "../lib/kube/client.ts";
import type { Connection } from "../lib/kube/connection.ts";
import type { KubeObject, Resource } from "../lib/kube/object.ts";
import { type Capabilities, readCapabilities } from "../lib/movement/capabilities.ts";

export interface ProbeOptions {
  readonly connection: Connection;
  readonly userAgent: string;
  readonly log: Log;
}

/** What a kind's CRD knows, or why the kind cannot be worked on. */
export type Probed = Capabilities | { readonly skew: string };

export interface InstalledCrds {
  readonly backups: Probed;
  readonly restores: Probed;
}

const tries = 10;

/** Ten tries, one second apart, while the API server is away. */
export async function probeCrds(
  { connection, userAgent, log }: ProbeOptions,
  signal: AbortSignal,
): Promise<InstalledCrds> {
  await using client: KubeClient = createClient(connection, { userAgent, retries: 0 });
  for (let attempt = 1;; attempt++) {
    try {
      const [backups, restores] = await Promise.all([
        probe(client, podVolumeBackups, signal),
        probe(client, podVolumeRestores, signal),
      ]);
      return { backups, restores };
    } catch (error) {
      if (signal.aborted || !isTransient(error) || attempt === tries) throw error;
      log.warn("The API server does not answer", { attempt, of: tries, error: messageOf(error) });
    }
    await sleep(1_000, signal);
  }
}

export function crdName({ plural, group }: Resource<KubeObject>): string {
  return `${plural}.${group}`;
}

/** What one kind lacks must not stop the other. */
async function probe<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  signal: AbortSignal,
): Promise<Probed> {
  const name = crdName(resource);
  try {
    const definition = await client.get(customResourceDefinitions, { name }, signal);
    return readCapabilities(definition, resource);
  } catch (error) {
    if (error instanceof ConfigError) return { skew: error.message };
    if (!isNotFound(error)) throw error;
    const remedy = "install the CRDs of Velero 1.15 to 1.18 (velero install --crds-only)";
    return { skew: `The CRD "${name}" is not installed; ${remedy}` };
  }
}
