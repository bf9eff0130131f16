import { deadline } from "../base/abort.ts";
import { messageOf, MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";

export interface ProgramPlaces {
  /** Such as "/usr/bin/kopia"; absent: the first one on the search path. */
  readonly kopia?: string;
  /** The same for util-linux' setpriv. */
  readonly setpriv?: string;
  /** The value of PATH. */
  readonly searchPath: string;
}

/** Absolute paths. */
export interface KopiaPrograms {
  readonly kopia: string;
  readonly setpriv: string;
}

/** Throws `MovementError` KopiaMissing or KopiaTooOld. */
export type FindKopia = (signal: AbortSignal) => Promise<KopiaPrograms>;

/** From here on `snapshot restore --flush-files` exists. */
const oldestKopia = "0.22.3";

const log = logger("kopia");
const versionLimitMs = 30_000;

/** Finds the programs anew each time, and asks a kopia for its version once per file. */
export function kopiaFinder(places: ProgramPlaces): FindKopia {
  let checked = "";
  return async (signal) => {
    const kopia = await find("kopia", places.kopia, places.searchPath);
    const setpriv = await find("setpriv", places.setpriv, places.searchPath);
    const { mtime, size, ino } = await Deno.stat(kopia);
    const file = `${kopia} ${mtime?.getTime()} ${size} ${ino}`;
    if (file !== checked) {
      checkVersion(kopia, await askVersion(kopia, signal));
      checked = file;
    }
    return { kopia, setpriv };
  };
}

async function find(name: string, path: string | undefined, searchPath: string): Promise<string> {
  const folders = searchPath.split(":").filter((folder) => folder.startsWith("/"));
  for (const candidate of path === undefined ? folders.map((at) => `${at}/${name}`) : [path]) {
    if (await isProgram(candidate)) return candidate;
  }
  const place = path === undefined
    ? `on the search path "${searchPath}"`
    : `at "${path}" (no executable file is there)`;
  const packageName = name === "kopia" ? `kopia ${oldestKopia} or newer` : "util-linux";
  throw new MovementError(
    "KopiaMissing",
    `Cannot find the program "${name}" ${place}; install ${packageName} in the agent's image`,
  );
}

async function isProgram(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && ((mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}

async function askVersion(kopia: string, signal: AbortSignal): Promise<string> {
  using limit = deadline(signal, versionLimitMs, `Asking "${kopia}" for its version`);
  try {
    const { code, stdout, stderr } = await new Deno.Command(kopia, {
      args: ["--version"],
      clearEnv: true,
      env: { HOME: "/nonexistent" },
      stdin: "null",
      signal: limit.signal,
    }).output();
    limit.signal.throwIfAborted();
    const text = new TextDecoder().decode(code === 0 ? stdout : stderr).trim();
    if (code === 0) return text;
    throw new Error(`it ended with exit code ${code}${text === "" ? "" : `: ${text}`}`);
  } catch (cause) {
    signal.throwIfAborted();
    throw new MovementError(
      "KopiaMissing",
      `Cannot run "${kopia} --version": ${messageOf(cause)}; ` +
        "check that the file is kopia for this machine",
      { cause },
    );
  }
}

function checkVersion(kopia: string, answer: string) {
  const [version, ...numbers] = answer.match(/^v?(\d+)\.(\d+)\.(\d+)/) ?? [];
  if (version === undefined) {
    log.warn("The kopia program does not tell its version; it is taken as new enough", {
      kopia,
      answer,
      oldest: oldestKopia,
    });
    return;
  }
  if (isOlder(numbers.map(Number), oldestKopia.split(".").map(Number))) {
    throw new MovementError(
      "KopiaTooOld",
      `"${kopia}" is kopia ${version}, but ${oldestKopia} or newer is needed; ` +
        "replace the program in the agent's image",
    );
  }
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const at = than.findIndex((number, index) => number !== version[index]);
  return at >= 0 && (version[at] ?? 0) < (than[at] ?? 0);
}
