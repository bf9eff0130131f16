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

export interface InstalledCrds {
  readonly backups: Capabilities;
  /** Absent: the restores cannot be done, and why. */
  readonly restores: Capabilities | { readonly skew: string };
}

const tries = 10;

/**
 * Ten tries, one second apart, while the API server is away. Throws when the CRD of backups is not
 * there or lacks what every backup needs.
 */
export async function probeCrds(
  { connection, userAgent, log }: ProbeOptions,
  signal: AbortSignal,
): Promise<InstalledCrds> {
  await using client: KubeClient = createClient(connection, { userAgent, retries: 0 });
  for (let attempt = 1;; attempt++) {
    try {
      const [backups, restores] = await Promise.all([
        capabilitiesOf(client, podVolumeBackups, signal),
        capabilitiesOf(client, podVolumeRestores, signal).catch(skewOf),
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

async function capabilitiesOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  signal: AbortSignal,
): Promise<Capabilities> {
  const name = crdName(resource);
  const definition = await client.get(customResourceDefinitions, { name }, signal);
  return readCapabilities(definition, resource);
}

/** What only the restores lack must not stop the backups. */
function skewOf(error: unknown) {
  if (error instanceof ConfigError) return { skew: error.message };
  if (!isNotFound(error)) throw error;
  return { skew: `The CRD "${crdName(podVolumeRestores)}" is not installed` };
}
