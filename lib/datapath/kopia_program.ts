import { deadline } from "../base/abort.ts";
import { messageOf, MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import type { Programs } from "./child_process.ts";
import { findProgram, findSetpriv, type ProgramPlaces } from "./program.ts";

export interface KopiaPlaces extends ProgramPlaces {
  /** Such as "/usr/bin/kopia"; absent: the first one on the search path. */
  readonly kopia?: string;
}

/** Throws `MovementError` KopiaMissing or KopiaTooOld. */
export type FindKopia = (signal: AbortSignal) => Promise<Programs>;

/** Of one format with all of Velero 1.15 to 1.18; the options that we use are there since 0.21. */
const oldestKopia = "0.22.3";

const log = logger("kopia");
const versionLimitMs = 30_000;

/** The path alone, which costs next to nothing. Throws `MovementError` KopiaMissing. */
export async function kopiaProgram({ kopia, searchPath }: KopiaPlaces): Promise<string> {
  const packageName = `kopia ${oldestKopia} or newer`;
  return await findProgram("kopia", kopia, { searchPath, reason: "KopiaMissing", packageName });
}

/** Finds the programs anew each time, and asks a kopia for its version once per file. */
export function kopiaFinder(places: KopiaPlaces): FindKopia {
  let checked = "";
  return async (signal) => {
    const kopia = await kopiaProgram(places);
    const setpriv = await findSetpriv(places, "KopiaMissing");
    const { mtime, size, ino } = await Deno.stat(kopia);
    const file = `${kopia} ${mtime?.getTime()} ${size} ${ino}`;
    if (file !== checked) {
      checkVersion(kopia, await askVersion(kopia, signal));
      checked = file;
    }
    return { program: kopia, setpriv };
  };
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
