import { deadline, orAbort } from "../../lib/base/abort.ts";

export interface ProcessOptions {
  readonly cwd?: string;
  /** Added to the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** Start with an empty environment instead. */
  readonly clearEnv?: boolean;
  /** Written to its standard input, which is then closed. */
  readonly stdin?: string;
}

/** A process whose output is collected. Disposing it kills it and awaits its end. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  readonly status: Promise<Deno.CommandStatus>;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
  /** The first line of either stream that matches, already written or still to come. */
  line(pattern: RegExp, limitMs?: number): Promise<string>;
  kill(signal: Deno.Signal): void;
  /** Its end, with all output. */
  ended(): Promise<ProcessResult>;
}

export interface ProcessResult {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a program that dies with the tests (Linux: at the latest with the thread that started it). */
export function startProcess(
  program: string,
  args: readonly string[],
  { cwd, env, clearEnv, stdin }: ProcessOptions = {},
): RunningProcess {
  const child = new Deno.Command("setpriv", {
    args: ["--pdeathsig", "KILL", "--", program, ...args],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...(clearEnv ? { PATH: Deno.env.get("PATH") ?? "" } : {}), ...env },
    clearEnv: clearEnv ?? false,
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const fed = stdin === undefined ? Promise.resolve() : feed(child.stdin, stdin);
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const ended = async () => {
    const { code, signal } = await child.status;
    await Promise.all([fed, out.closed, err.closed]);
    return { code, signal, stdout: out.text(), stderr: err.text() };
  };
  return {
    pid: child.pid,
    status: child.status,
    stdout: out.text,
    stderr: err.text,
    async line(pattern, limitMs = 20_000) {
      using limit = deadline(new AbortController().signal, limitMs, `A line like ${pattern}`);
      const found = Promise.any([out.line(pattern), err.line(pattern)]);
      return await orAbort(found, limit.signal).catch((cause) => {
        const written = `${out.text()}${err.text()}`.slice(-4_000);
        throw new Error(`"${program}" wrote no line like ${pattern}:\n${written}`, { cause });
      });
    },
    kill: (signal) => child.kill(signal),
    ended,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended already.
      }
      await ended();
    },
  };
}

/** Runs a program to its end; any exit code is a result. */
export async function runProcess(
  program: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessResult> {
  await using child = startProcess(program, args, options);
  return await child.ended();
}

async function feed(stream: WritableStream<Uint8Array>, text: string) {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // The program ended without reading it all.
  }
}

interface Waiter {
  readonly pattern: RegExp;
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

/** Reads a stream to its end; the text so far can be asked for, and a line awaited. */
function collect(stream: ReadableStream<Uint8Array>) {
  const waiters = new Set<Waiter>();
  let text = "";
  let open = true;
  const serve = () => {
    const lines = text.split(/[\r\n]+/);
    if (open) lines.pop(); // not ended yet
    for (const waiter of waiters) {
      const line = lines.find((line) => waiter.pattern.test(line));
      if (line === undefined && open) continue;
      waiters.delete(waiter);
      if (line !== undefined) waiter.resolve(line);
      else waiter.reject(new Error("the output has ended"));
    }
  };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      serve();
    }
    open = false;
    serve();
  };
  return {
    text: () => text,
    closed: read(),
    line: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        waiters.add({ pattern, resolve, reject });
        serve();
      }),
  };
}
