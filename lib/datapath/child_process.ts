import { messageOf, MovementError } from "../base/error.ts";
import { countMemoryKills } from "./memory_cgroup.ts";
import { linesOf, type LineTail, lineTail, textOf } from "./text_lines.ts";

/** Absolute paths: what is to run, and util-linux' setpriv. */
export interface Programs {
  readonly program: string;
  readonly setpriv: string;
}

export interface ChildCommand {
  readonly programs: Programs;
  /** Nothing secret: every user of the node can read a command line. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The folder that it works in; the default is our own. */
  readonly folder?: string;
  /** Where it tells its progress: that is what `lines` gives. */
  readonly progress: "stderr" | "stdout";
  /** The part of a line of progress that belongs to what is kept for an error; "" for none. */
  readonly humanText: (line: string) => string;
  /** How long it may take to end when asked, before it is killed; the default is 10 s. */
  readonly graceMs?: number;
}

export interface ChildExit {
  /** As a shell has it: 128 + n for a signal. */
  readonly code: number;
  readonly signal?: string;
  /** The kernel ended a process of our cgroup for want of memory meanwhile. */
  readonly outOfMemory: boolean;
  /** Undefined when there was more than 16 MiB of it; "" where it was given as `lines`. */
  readonly stdout: string | undefined;
  /** The last lines of standard error, and of progress what is text for people. */
  readonly lines: readonly string[];
}

/** A running program. Disposing it ends the process group and awaits its end. */
export interface ChildRun extends AsyncDisposable {
  readonly pid: number;
  /** The stream with the progress as it comes; may be read once. It stands still while unread. */
  lines(): AsyncGenerator<string>;
  /** The end; comes only after `lines` has been read to its end. */
  exit(): Promise<ChildExit>;
  /** Asks it to end early; kills it when it takes too long. */
  stop(): void;
}

const keptChars = 64 * 1024;
const longestStdout = 16 * 1024 * 1024;

/**
 * Starts a program in a process group of its own. It dies with the agent, also with a killed one, and
 * ends early when the signal is aborted.
 */
export async function startChild(command: ChildCommand, signal: AbortSignal): Promise<ChildRun> {
  const killsBefore = await countMemoryKills();
  signal.throwIfAborted();
  const child = spawn(command);
  const tail = lineTail(keptChars);
  const onStdout = command.progress === "stdout";
  const stdout = onStdout ? Promise.resolve("") : textOf(child.stdout, longestStdout);
  const progress = onStdout ? child.stdout : child.stderr;
  const errors = onStdout ? keepLines(child.stderr, tail) : Promise.resolve();
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
      for await (const line of linesOf(progress)) {
        const text = command.humanText(line);
        if (text !== "") tail.add(text);
        yield line;
      }
    },
    async exit() {
      const [{ code, signal }, text] = await Promise.all([status, stdout, errors]);
      const outOfMemory = signal === "SIGKILL" && await countMemoryKills() > killsBefore;
      const by = signal === null ? {} : { signal };
      return { code, ...by, outOfMemory, stdout: text, lines: tail.lines() };
    },
    async [Symbol.asyncDispose]() {
      stopper.stop();
      if (!reading) await progress.cancel();
      await Promise.all([status, stdout, errors]);
    },
  };
}

async function keepLines(stream: ReadableStream<Uint8Array>, tail: LineTail): Promise<void> {
  for await (const line of linesOf(stream)) tail.add(line);
}

function spawn({ programs, args, environment, folder }: ChildCommand): Deno.ChildProcess {
  const command = new Deno.Command(programs.setpriv, {
    args: ["--pdeathsig", "KILL", "--", programs.program, ...args],
    ...(folder !== undefined && { cwd: folder }),
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
    if (folder !== undefined && cause instanceof Deno.errors.NotFound) {
      throw new MovementError(
        "HostPathMissing",
        `Cannot work in "${folder}": the volume's folder is not there any more`,
        { cause },
      );
    }
    throw new MovementError(
      "UploaderNotStarted",
      `Cannot start "${programs.program}": ${messageOf(cause)}; check the limits of the agent's ` +
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
