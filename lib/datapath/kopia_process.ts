import { messageOf, MovementError } from "../base/error.ts";
import { countMemoryKills } from "./memory_cgroup.ts";
import { humanText } from "./kopia_progress.ts";
import { linesOf, lineTail, textOf } from "./text_lines.ts";
import type { KopiaPrograms } from "./kopia_program.ts";

export interface KopiaCommand {
  readonly programs: KopiaPrograms;
  /** Nothing secret: every user of the node can read a command line. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** How long kopia may take to end when asked, before it is killed; the default is 10 s. */
  readonly graceMs?: number;
}

export interface KopiaExit {
  /** As a shell has it: 128 + n for a signal. */
  readonly code: number;
  readonly signal?: string;
  /** The kernel ended a process of our cgroup for want of memory meanwhile. */
  readonly outOfMemory: boolean;
  /** Undefined when there was more than 16 MiB of it. */
  readonly stdout: string | undefined;
  /** The last lines of standard error, without progress. */
  readonly lines: readonly string[];
}

/** A running kopia. Disposing it ends the process group and awaits its end. */
export interface KopiaRun extends AsyncDisposable {
  readonly pid: number;
  /** Standard error as it comes; may be read once. Kopia stands still while it is not read. */
  lines(): AsyncGenerator<string>;
  /** The end; comes only after `lines` has been read to its end. */
  exit(): Promise<KopiaExit>;
  /** Asks kopia to end early; kills it when it takes too long. */
  stop(): void;
}

const keptChars = 64 * 1024;
const longestStdout = 16 * 1024 * 1024;

/**
 * Starts kopia in a process group of its own. It dies with the agent, also with a killed one, and
 * ends early when the signal is aborted.
 */
export async function startKopia(command: KopiaCommand, signal: AbortSignal): Promise<KopiaRun> {
  const killsBefore = await countMemoryKills();
  signal.throwIfAborted();
  const child = spawn(command);
  const tail = lineTail(keptChars);
  const stdout = textOf(child.stdout, longestStdout);
  const stopper = stopperOf(child, command.graceMs ?? 10_000);
  signal.addEventListener("abort", stopper.stop, { once: true });
  const status = child.status.finally(() => {
    stopper.ended();
    signal.removeEventListener("abort", stopper.stop);
  });
  let reading = false;
  return {
    pid: child.pid,
    stop: stopper.stop,
    async *lines() {
      reading = true;
      for await (const line of linesOf(child.stderr)) {
        const text = humanText(line);
        if (text !== "") tail.add(text);
        yield line;
      }
    },
    async exit() {
      const [{ code, signal }, text] = await Promise.all([status, stdout]);
      const outOfMemory = signal === "SIGKILL" && await countMemoryKills() > killsBefore;
      const by = signal === null ? {} : { signal };
      return { code, ...by, outOfMemory, stdout: text, lines: tail.lines() };
    },
    async [Symbol.asyncDispose]() {
      stopper.stop();
      if (!reading) await child.stderr.cancel();
      await Promise.all([status, stdout]);
    },
  };
}

function spawn({ programs, args, environment }: KopiaCommand): Deno.ChildProcess {
  const command = new Deno.Command(programs.setpriv, {
    args: ["--pdeathsig", "KILL", "--", programs.kopia, ...args],
    clearEnv: true,
    env: { ...environment },
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  try {
    return command.spawn();
  } catch (cause) {
    throw new MovementError(
      "KopiaFailed",
      `Cannot start "${programs.kopia}": ${messageOf(cause)}; check the limits of the agent's ` +
        "container on processes and memory, and the tags of the object",
      { cause },
    );
  }
}

/** SIGTERM first, and after the grace SIGKILL for the whole group. */
function stopperOf(child: Deno.ChildProcess, graceMs: number) {
  let ended = false;
  let killer: ReturnType<typeof setTimeout> | undefined;
  const send = (id: number, signal: Deno.Signal) => {
    try {
      if (!ended) Deno.kill(id, signal);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  return {
    stop() {
      if (ended || killer !== undefined) return;
      send(child.pid, "SIGTERM");
      killer = setTimeout(() => send(-child.pid, "SIGKILL"), graceMs);
    },
    ended() {
      ended = true;
      clearTimeout(killer);
    },
  };
}
