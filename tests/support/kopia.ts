import { connectArguments } from "../../lib/datapath/connect_arguments.ts";
import { type Connections, createConnections } from "../../lib/datapath/connections.ts";
import type { DataPath, DataPathEvent } from "../../lib/datapath/data_path.ts";
import type { KopiaSettings } from "../../lib/datapath/kopia.ts";
import { kopiaFinder } from "../../lib/datapath/kopia_program.ts";
import type { RepositoryParameters } from "../../lib/datapath/repository_parameters.ts";
import { openSession, type RepositorySession } from "../../lib/datapath/repository_session.ts";
import { runProcess } from "./process.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

/** A signal that is never aborted. */
export const never = new AbortController().signal;

/** The search path of the tests. */
export const searchPath = Deno.env.get("PATH") ?? "";

export const password = "a-repository-password";

export interface KopiaOptions {
  /** Environment variables with the store's keys. */
  readonly keys?: Readonly<Record<string, string>>;
  /** A program to run in place of setpriv, or of kopia. */
  readonly programs?: { readonly kopia?: string; readonly setpriv?: string };
  readonly graceMs?: number;
  readonly limitMs?: number;
  /** The place for kopia's own files; the default is a temporary folder. */
  readonly folder?: string;
}

export interface SessionChanges {
  readonly password?: string;
  readonly parameters?: RepositoryParameters;
  readonly keys?: Readonly<Record<string, string>>;
}

/** Kopia as Longshore runs it, with a repository made by the plain kopia. */
export interface KopiaBench extends AsyncDisposable {
  readonly folder: string;
  readonly settings: KopiaSettings;
  readonly connections: Connections;
  readonly parameters: RepositoryParameters;
  session(changes?: SessionChanges): Promise<RepositorySession>;
  /** Runs the plain kopia against the repository; gives its output and throws when it fails. */
  kopia(...args: string[]): Promise<string>;
}

/** A repository in a folder, and all that is needed to use it. */
export async function folderBench(options: KopiaOptions = {}): Promise<KopiaBench> {
  const store = tempFolder("store");
  const parameters = { store: "filesystem", path: `${store.path}/pre/kopia/ns` } as const;
  await Deno.mkdir(parameters.path, { recursive: true });
  const bench = await kopiaBench(parameters, options);
  return {
    ...bench,
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

/** Makes the repository at `parameters` and gives what is needed to use it. */
export async function kopiaBench(
  parameters: RepositoryParameters,
  options: KopiaOptions = {},
): Promise<KopiaBench> {
  const temp = tempFolder("kopia");
  const folder = options.folder ?? `${temp.path}/agent`;
  const program = await tool("kopia");
  const settings: KopiaSettings = {
    find: kopiaFinder({ kopia: program, searchPath, ...options.programs }),
    folder,
    environment: { PATH: searchPath },
    graceMs: options.graceMs ?? 10_000,
  };
  const plain = async (...args: string[]) => {
    const { code, stdout, stderr } = await runProcess(program, [
      ...args,
      `--config-file=${temp.path}/plain.config`,
      ...["--no-auto-maintenance", "--no-persist-credentials", "--disable-file-logging"],
      "--disable-content-log",
    ], {
      clearEnv: true,
      env: { HOME: temp.path, KOPIA_PASSWORD: password, ...options.keys },
    });
    if (code !== 0) throw new Error(`kopia ${args.join(" ")} failed: ${stderr}`);
    return stdout;
  };
  await plain("repository", "create", ...storeArguments(parameters), ...ownerArguments);
  const connections = createConnections(settings);
  return {
    folder,
    settings,
    connections,
    parameters,
    kopia: plain,
    async session(changes = {}) {
      const keys = changes.keys ?? options.keys ?? {};
      const order = {
        uid: "11111111-2222-3333-4444-555555555555",
        title: 'repository "ns-default-kopia"',
        parameters: changes.parameters ?? parameters,
        password: changes.password ?? password,
        keys,
        cacheLimitMB: 100,
        limitMs: options.limitMs ?? 60_000,
      };
      const connection = await connections.take(order, never);
      const secrets = { KOPIA_PASSWORD: order.password, ...keys };
      const { limitMs } = order;
      return openSession(settings, { name: "ns-default-kopia", connection, secrets, limitMs });
    },
    async [Symbol.asyncDispose]() {
      await connections[Symbol.asyncDispose]();
      temp[Symbol.dispose]();
    },
  };
}

const ownerArguments = ["--override-username=default", "--override-hostname=default"];

function storeArguments(parameters: RepositoryParameters): string[] {
  if (parameters.store === "filesystem") return ["filesystem", `--path=${parameters.path}`];
  if (parameters.store !== "s3") return [...connectArguments(parameters, { caFile: "" })];
  const { bucket, prefix, endpoint, plainHttp } = parameters;
  return [
    ...["s3", `--bucket=${bucket}`, `--prefix=${prefix}`, `--endpoint=${endpoint}`],
    ...[plainHttp ? "--disable-tls" : "--disable-tls-verification"],
  ];
}

/** All events of a data path, which is then disposed. */
export async function eventsOf(path: DataPath, signal = never): Promise<DataPathEvent[]> {
  await using moving = path;
  return await Array.fromAsync(moving.events(signal));
}

/** A file of random bytes: kopia cannot deduplicate it. */
export async function randomFile(path: string, megabytes: number) {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  const writer = file.writable.getWriter();
  const block = new Uint8Array(1_048_576);
  for (let done = 0; done < megabytes; done++) {
    for (let at = 0; at < block.length; at += 65_536) {
      crypto.getRandomValues(block.subarray(at, at + 65_536));
    }
    await writer.write(block);
  }
}

/** The manifests of a source, incomplete ones too, as the plain kopia sees them. */
export async function snapshotsOf(bench: KopiaBench, sourcePath: string): Promise<Snapshot[]> {
  const source = `default@default:${sourcePath}`;
  return JSON.parse(await bench.kopia("snapshot", "list", source, "--incomplete", "--json"));
}

export interface Snapshot {
  readonly id: string;
  readonly description: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly pins?: readonly string[];
  readonly incomplete?: string;
  readonly retentionReason?: readonly string[];
}

/** Command lines of the kopias that work with a configuration in this folder. */
export function kopiasUnder(folder: string): string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      if (line.includes(`--config-file=${folder}/`)) found.push(line.replaceAll("\0", " ").trim());
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}
