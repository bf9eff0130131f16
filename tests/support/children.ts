import { deadline, sleep } from "../../lib/base/abort.ts";

/** A child process of a program under test. */
export interface Child {
  readonly pid: number;
  /** Its arguments, the program first. */
  readonly args: readonly string[];
}

/** The children of a process at this moment, zombies left out. */
function childrenOf(pid: number): Child[] {
  const found: Child[] = [];
  for (const thread of namesIn(`/proc/${pid}/task`)) {
    const children = read(`/proc/${pid}/task/${thread}/children`);
    for (const child of children.split(" ").filter((text) => text !== "")) {
      const args = read(`/proc/${child}/cmdline`).split("\0").slice(0, -1);
      if (args.length > 0) found.push({ pid: Number(child), args });
    }
  }
  return found;
}

/**
 * The kopias and restics that move data for an agent; short commands such as `repository connect` are
 * not, nor is the setpriv that becomes one of them in a moment.
 */
export function moversOf(pid: number): Child[] {
  return childrenOf(pid).filter(({ args: [program = "", ...args] }) => {
    if (program.endsWith("setpriv")) return false;
    if (program.endsWith("/restic")) return ["backup", "restore"].includes(args[0] ?? "");
    return args.includes("snapshot") && ["create", "restore"].some((word) => args.includes(word));
  });
}

export function isAlive(pid: number): boolean {
  return !["", "Z"].includes(stateOf(pid));
}

/** Whether all threads stand still after SIGSTOP; till then, a later signal may overtake it. */
export function isStopped(pid: number): boolean {
  const threads = namesIn(`/proc/${pid}/task`).map((thread) => stateOf(`${pid}/task/${thread}`));
  return threads.length > 0 && threads.every((state) => state === "T");
}

function stateOf(process: number | string): string {
  return read(`/proc/${process}/stat`).split(") ").at(-1)?.[0] ?? "";
}

const sigterm = 14n; // the place of its bit

/** Whether a stopped process was sent SIGTERM, which it will meet when it goes on. */
export function isToldToEnd(pid: number): boolean {
  return hasSignal(pid, "ShdPnd", sigterm);
}

/** Whether a process has got as far as to handle SIGTERM; earlier, SIGTERM kills it while it stands. */
export function isListening(pid: number): boolean {
  return hasSignal(pid, "SigCgt", sigterm);
}

function hasSignal(pid: number, mask: "ShdPnd" | "SigCgt", bit: bigint): boolean {
  const line = new RegExp(`^${mask}:\\s*([0-9a-f]+)$`, "m");
  const [, digits = "0"] = read(`/proc/${pid}/status`).match(line) ?? [];
  return ((BigInt(`0x${digits}`) >> bit) & 1n) === 1n;
}

/** Looks every few milliseconds, for what the system tells nobody about. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 20_000,
): Promise<T> {
  using limit = deadline(new AbortController().signal, limitMs, `Waiting until ${what}`);
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(4, limit.signal);
  }
}

function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch {
    return "";
  }
}
