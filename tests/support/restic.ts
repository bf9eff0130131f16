import { resticFinder, type ResticSettings } from "../../lib/datapath/restic.ts";
import { openResticSession, type ResticSession } from "../../lib/datapath/restic_session.ts";
import { password, searchPath } from "./kopia.ts";
import * as objects from "./objects.ts";
import { runProcess } from "./process.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

export interface ResticOptions {
  /** Where the repository is, in restic's words; the default is a folder. */
  readonly identifier?: string;
  /** Environment variables with the store's keys. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Another program than the restic of tests/tools. */
  readonly program?: string;
  /** A file with certificates for the store. */
  readonly caFile?: string;
  /** Of the sessions' commands. */
  readonly limitMs?: number;
  readonly graceMs?: number;
}

/** Restic as Longshore runs it, with a repository made by the plain restic. */
export interface ResticBench extends AsyncDisposable {
  readonly settings: ResticSettings;
  readonly identifier: string;
  session(changes?: { readonly password?: string; readonly identifier?: string }): ResticSession;
  /** Runs the plain restic against the repository; gives its output and throws when it fails. */
  restic(...args: string[]): Promise<string>;
}

export async function resticBench(options: ResticOptions = {}): Promise<ResticBench> {
  const temp = tempFolder("restic");
  const { identifier = `${temp.path}/repository`, keys = {}, caFile, limitMs = 60_000 } = options;
  const program = options.program ?? await tool("restic");
  const settings: ResticSettings = {
    find: resticFinder({ restic: program, searchPath }),
    folder: `${temp.path}/agent`,
    environment: { PATH: searchPath },
    graceMs: options.graceMs ?? 10_000,
  };
  const trust = caFile === undefined ? [] : [`--cacert=${caFile}`];
  const restic = async (...args: string[]) => {
    const { code, stdout, stderr } = await runProcess(program, [...args, ...trust], {
      clearEnv: true,
      env: {
        HOME: temp.path,
        RESTIC_PASSWORD: password,
        RESTIC_REPOSITORY: identifier,
        ...keys,
      },
    });
    if (code !== 0) throw new Error(`restic ${args.join(" ")} failed: ${stderr}`);
    return stdout;
  };
  await restic("init");
  return {
    settings,
    identifier,
    restic,
    session: (changes = {}) =>
      openResticSession(settings, {
        name: "ns-default-restic",
        identifier: changes.identifier ?? identifier,
        location: objects.backupStorageLocation(),
        secrets: { RESTIC_PASSWORD: changes.password ?? password, ...keys },
        environment: {},
        ...(caFile !== undefined && { caFile }),
        limitMs,
        held: { [Symbol.asyncDispose]: () => Promise.resolve() },
      }),
    [Symbol.asyncDispose]() {
      temp[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}
