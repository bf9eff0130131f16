import { createHash } from "node:crypto";
import { MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import { keyedTurns } from "./keyed_turns.ts";
import { hasBucket } from "./bucket_probe.ts";
import { snapshotNames } from "../api/names.ts";
import { type KopiaSettings, type KopiaTask, runCommand } from "./kopia.ts";
import { hasVeleroPolicy, policyArguments } from "./repository_policy.ts";
import { clientArguments, connectArguments } from "./connect_arguments.ts";
import type { RepositoryParameters } from "./repository_parameters.ts";

/** What a connection is made of. */
export interface ConnectionOrder {
  /** UID of the BackupRepository. */
  readonly uid: string;
  /** For messages. */
  readonly title: string;
  readonly parameters: RepositoryParameters;
  readonly password: string;
  /** Environment variables with the store's keys. */
  readonly keys: Readonly<Record<string, string>>;
  /** Environment variables that are no secret. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly cacheLimitMB: number;
  readonly limitMs: number;
}

/** A configuration file of kopia that has opened its repository once. Disposing it gives it back. */
export interface Connection extends AsyncDisposable {
  readonly configFile: string;
  /** What each command over it needs beside what lets it into the store. */
  readonly environment: Readonly<Record<string, string>>;
  /** It does not serve any more: the next `take` connects anew. */
  retire(): void;
}

export interface Connections extends AsyncDisposable {
  take(order: ConnectionOrder, signal: AbortSignal): Promise<Connection>;
}

interface Entry {
  readonly uid: string;
  readonly fingerprint: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The configuration file where kopia puts keys into it: on the disk only while it is used. */
  readonly secretConfig: string | undefined;
  users: number;
  retired: boolean;
}

const log = logger("repository");

/**
 * Keeps one connection for each repository, password and place. A connection is never changed: a
 * `connect` that fails deletes the configuration file and the cache that others may be using, so
 * each has a folder of its own, removed when it is out of date and unused.
 */
export function createConnections(settings: KopiaSettings): Connections {
  const root = `${settings.folder}/repositories`;
  const entries = new Set<Entry>();
  const turns = keyedTurns();
  let made = 0;
  let cleaned: Promise<void> | undefined;

  const drop = async (entry: Entry) => {
    if (entry.users > 0 || !entry.retired || !entries.delete(entry)) return;
    await removeFolder(entry.folder);
  };
  const replace = async (uid: string, entry: Entry) => {
    const old = [...entries].filter((each) => each.uid === uid);
    entries.add(entry);
    for (const each of old) each.retired = true;
    for (const each of old) await drop(each);
  };
  const connectNew = async (order: ConnectionOrder, signal: AbortSignal): Promise<Entry> => {
    await (cleaned ??= removeFolder(root)); // what an earlier process has left
    const fingerprint = fingerprintOf(order);
    const folder = `${root}/${order.uid}-${++made}`; // its name is seen in command lines
    await connectOrRemove(settings, { order, folder }, signal);
    const { uid, parameters } = order;
    const secretConfig = parameters.store === "azure" ? takeConfig(folder) : undefined;
    const environment = certificatesOf(order, folder);
    return { uid, fingerprint, folder, environment, secretConfig, users: 0, retired: false };
  };
  return {
    async take(order, signal) {
      using _turn = await turns.take(order.uid, signal);
      let entry = await usable(entries, order);
      if (entry === undefined) {
        entry = await connectNew(order, signal);
        await replace(order.uid, entry);
      }
      return lend(entry, drop);
    },
    async [Symbol.asyncDispose]() {
      entries.clear();
      await removeFolder(root);
    },
  };
}

function lend(entry: Entry, drop: (entry: Entry) => Promise<void>): Connection {
  const configFile = configFileOf(entry.folder);
  if (entry.users === 0 && entry.secretConfig !== undefined) {
    Deno.writeTextFileSync(configFile, entry.secretConfig, { mode: 0o600 });
  }
  entry.users++; // now, for a use that could not begin never ends
  let held = true;
  return {
    configFile,
    environment: entry.environment,
    retire: () => entry.retired = true,
    async [Symbol.asyncDispose]() {
      if (!held) return;
      held = false;
      if (--entry.users === 0 && entry.secretConfig !== undefined) takeConfig(entry.folder);
      await drop(entry);
    },
  };
}

async function usable(entries: Set<Entry>, order: ConnectionOrder): Promise<Entry | undefined> {
  const fingerprint = fingerprintOf(order);
  for (const entry of entries) {
    if (entry.retired || entry.fingerprint !== fingerprint) continue;
    // Something that tidies temporary folders may have removed it.
    const there = entry.secretConfig === undefined ? configFileOf(entry.folder) : entry.folder;
    if (await Deno.stat(there).catch(() => undefined)) return entry;
    entry.retired = true;
  }
}

/** kopia reads the keys from the environment at each start; only Azure's are put into the file. */
function fingerprintOf(order: ConnectionOrder): string {
  const { uid, parameters, password, cacheLimitMB, keys, environment } = order;
  const more = parameters.store === "azure" ? [keys, environment] : [];
  const text = JSON.stringify([uid, parameters, password, cacheLimitMB, ...more]);
  return createHash("sha256").update(text).digest("hex");
}

/** The text of the configuration file, which is then gone. Nothing comes between: it is not awaited. */
function takeConfig(folder: string): string | undefined {
  try {
    const text = Deno.readTextFileSync(configFileOf(folder));
    Deno.removeSync(configFileOf(folder));
    return text;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined; // tidied away by something
    throw error;
  }
}

/** For S3 kopia has the certificates in its configuration; elsewhere Go reads them at each start. */
function certificatesOf(
  { parameters }: ConnectionOrder,
  folder: string,
): Readonly<Record<string, string>> {
  const own = (parameters.store === "azure" || parameters.store === "gcs") &&
    parameters.caCerts !== undefined;
  return own ? { SSL_CERT_FILE: `${folder}/ca.pem` } : {};
}

function configFileOf(folder: string): string {
  return `${folder}/repository.config`;
}

interface NewConnection {
  readonly order: ConnectionOrder;
  readonly folder: string;
}

async function connectOrRemove(
  settings: KopiaSettings,
  what: NewConnection,
  signal: AbortSignal,
): Promise<void> {
  try {
    await connect(settings, what, signal);
  } catch (error) {
    await removeFolder(what.folder);
    throw error;
  }
}

async function connect(
  settings: KopiaSettings,
  { order, folder }: NewConnection,
  signal: AbortSignal,
): Promise<void> {
  const { parameters, password, keys, limitMs, title } = order;
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const caFile = `${folder}/ca.pem`;
  if (parameters.store !== "filesystem" && parameters.caCerts !== undefined) {
    await Deno.writeTextFile(caFile, parameters.caCerts, { mode: 0o600 });
  }
  const context = {
    configFile: configFileOf(folder),
    secrets: { KOPIA_PASSWORD: password, ...keys },
    environment: { ...order.environment, ...certificatesOf(order, folder) },
  };
  const run = (args: readonly string[], doing: string) => {
    const task: KopiaTask = { args, doing, limitMs };
    return runCommand(settings, { context, task }, signal);
  };
  const where = [
    ...connectArguments(parameters, { caFile }),
    ...clientArguments(order.cacheLimitMB, folder),
  ];
  try {
    await run(["repository", "connect", ...where], `connect to ${title}`);
  } catch (error) {
    throw await withBucketChecked(error, order, signal);
  }
  const owner = snapshotNames.owner;
  const policy = await run(["policy", "show", owner, "--json"], `read the policy of ${title}`);
  if (!hasVeleroPolicy(policy)) {
    await run(policyArguments(owner), `write the policy of ${title}`);
    log.info("The repository's policy is set to Velero's values", { repository: title });
  }
}

/** To kopia a missing bucket and an empty one look alike. */
async function withBucketChecked(
  error: unknown,
  { parameters, title }: ConnectionOrder,
  signal: AbortSignal,
): Promise<unknown> {
  const suspect = error instanceof MovementError && error.reason === "RepositoryNotInitialized" &&
    parameters.store === "s3";
  if (!suspect || await hasBucket(parameters, signal)) return error;
  return new MovementError(
    "BucketMissing",
    `Cannot connect to ${title}: the store at "${parameters.endpoint}" has no bucket ` +
      `"${parameters.bucket}"; make it, or correct its name in the BackupStorageLocation`,
    { cause: error },
  );
}

async function removeFolder(folder: string): Promise<void> {
  try {
    await Deno.remove(folder, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    log.warn("A folder of an old repository connection cannot be removed", { folder, error });
  }
}
