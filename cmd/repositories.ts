/** Where the agent keeps what uploaders need on the node, and what they may see of the environment. */
import { join } from "node:path";
import { ConfigError, messageOf } from "../lib/base/error.ts";
import { logger } from "../lib/base/log.ts";
import { awsIdentity } from "../lib/datapath/aws_credentials.ts";
import { kopiaFinder, type KopiaPlaces, kopiaProgram } from "../lib/datapath/kopia_program.ts";
import { readMemoryLimit } from "../lib/datapath/memory_cgroup.ts";
import { createRepositories, type Repositories } from "../lib/datapath/repositories.ts";
import { resticFinder } from "../lib/datapath/restic.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import type { World } from "./command.ts";
import type { ServerOptions } from "./server_options.ts";

export interface RepositoriesNeeds {
  readonly client: KubeClient;
  readonly world: World;
  /** How many movements may run at once. */
  readonly concurrency: number;
}

/** Short enough that after --grace there is time to write how the movement ended. */
const uploaderGraceMs = 5_000;

/** Makes a private folder for this process, and removes those of agents that were killed. */
export async function openRepositories(
  { namespace, resourceTimeoutMs, kopia, restic }: ServerOptions,
  { client, world, concurrency }: RepositoriesNeeds,
): Promise<Repositories> {
  const folder = await privateFolder(world);
  const searchPath = world.env("PATH") ?? "";
  const common = {
    folder,
    environment: await uploaderEnvironment(world, concurrency),
    graceMs: uploaderGraceMs,
  };
  const kopiaPlaces = { searchPath, ...(kopia !== undefined && { kopia }) };
  await warnWithoutKopia(kopiaPlaces);
  const repositories = createRepositories({
    ...{ client, namespace, resourceTimeoutMs },
    environment: variables(world, ofStores),
    kopia: { ...common, find: kopiaFinder(kopiaPlaces) },
    restic: {
      ...common,
      find: resticFinder({ searchPath, ...(restic !== undefined && { restic }) }),
    },
  });
  return {
    open: repositories.open,
    openRestic: repositories.openRestic,
    async [Symbol.asyncDispose]() {
      await repositories[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true }).catch(() => {}); // the next start removes it
    },
  };
}

/** It may come later, and is looked for anew each time; but who starts the agent wants to know. */
async function warnWithoutKopia(places: KopiaPlaces): Promise<void> {
  try {
    await kopiaProgram(places);
  } catch (error) {
    logger("server").warn("Nothing can be moved by kopia yet", { error: messageOf(error) });
  }
}

const inherited = [
  ...["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"],
];

/** What says how to get into stores whose location does not say it, as Velero reads it. */
const ofStores = [
  ...["AWS_SHARED_CREDENTIALS_FILE", "AZURE_CREDENTIALS_FILE", "GOOGLE_APPLICATION_CREDENTIALS"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", ...awsIdentity],
  ...["AWS_ENDPOINT_URL_STS", "AWS_EC2_METADATA_DISABLED"],
  ...["AZURE_FEDERATED_TOKEN_FILE", "AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_AUTHORITY_HOST"],
];

function variables(world: World, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => {
    const value = world.env(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

async function uploaderEnvironment(
  world: World,
  concurrency: number,
): Promise<Readonly<Record<string, string>>> {
  const kept = variables(world, inherited);
  const limit = await readMemoryLimit();
  return limit === undefined ? kept : { ...kept, GOMEMLIMIT: kopiaMemory(limit, concurrency) };
}

const agentBytes = 120 * 2 ** 20;

/**
 * What the heap of each kopia may grow to in a container with a limit: Go then collects rather than being
 * killed, and the agent with it. The agent's own memory and a tenth for what is not heap are left out.
 */
export function kopiaMemory(limitBytes: number, concurrency: number): string {
  const bytes = Math.max(limitBytes - agentBytes, limitBytes / 4) * 0.9 / concurrency;
  return `${Math.floor(bytes / 2 ** 20)}MiB`;
}

const folderName = /^longshore-(\d+)$/;

/** Its name holds the process id, so that a later agent knows whether its owner still lives. */
async function privateFolder(world: World): Promise<string> {
  const tried: string[] = [];
  for (
    const place of [world.env("VELERO_SCRATCH_DIR"), world.env("HOME"), world.env("TMPDIR"), "/tmp"]
  ) {
    if (!place?.startsWith("/")) continue;
    const parent = join(place, "udmrepo");
    try {
      await Deno.mkdir(parent, { recursive: true, mode: 0o700 });
      await removeAbandoned(parent);
      const folder = join(parent, `longshore-${Deno.pid}`);
      await Deno.mkdir(folder, { mode: 0o700 });
      return folder;
    } catch (error) {
      tried.push(`"${parent}": ${messageOf(error)}`);
    }
  }
  throw new ConfigError(
    `No place for the uploader's cache and configuration (${tried.join("; ")}); ` +
      "mount a writable volume and name it with VELERO_SCRATCH_DIR",
  );
}

async function removeAbandoned(parent: string): Promise<void> {
  for await (const { name } of Deno.readDir(parent)) {
    const pid = Number(name.match(folderName)?.[1]);
    if (Number.isNaN(pid) || (pid !== Deno.pid && await lives(pid))) continue;
    await Deno.remove(join(parent, name), { recursive: true }).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // another agent was faster
    });
  }
}

async function lives(pid: number): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}
