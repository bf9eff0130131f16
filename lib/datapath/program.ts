import { MovementError } from "../base/error.ts";
import type { Reason } from "../base/reason.ts";

export interface ProgramPlaces {
  /** Where util-linux' setpriv is; absent: the first one on the search path. */
  readonly setpriv?: string;
  /** The value of PATH. */
  readonly searchPath: string;
}

export interface Wanted {
  readonly searchPath: string;
  /** Of the error when it is not there. */
  readonly reason: Reason;
  /** What to install then. */
  readonly packageName: string;
}

/** The absolute path of a program: the one named, else the first one on the search path. */
export async function findProgram(
  name: string,
  path: string | undefined,
  { searchPath, reason, packageName }: Wanted,
): Promise<string> {
  const folders = searchPath.split(":").filter((folder) => folder.startsWith("/"));
  for (const candidate of path === undefined ? folders.map((at) => `${at}/${name}`) : [path]) {
    if (await isProgram(candidate)) return candidate;
  }
  const place = path === undefined
    ? `on the search path "${searchPath}"`
    : `at "${path}" (no executable file is there)`;
  throw new MovementError(
    reason,
    `Cannot find the program "${name}" ${place}; install ${packageName} in the agent's image`,
  );
}

/** The program that lets a child die with us. */
export async function findSetpriv(
  { setpriv, searchPath }: ProgramPlaces,
  reason: Reason,
): Promise<string> {
  return await findProgram("setpriv", setpriv, { searchPath, reason, packageName: "util-linux" });
}

async function isProgram(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && ((mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}
