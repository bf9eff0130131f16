/** A server whose output goes to a file; it dies with the thread that started it. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly status: Promise<Deno.CommandStatus>;
  hasEnded(): boolean;
  /** Sends the signal and awaits the end. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** The last lines it wrote. */
  logTail(): string;
}

export interface ServerOptions {
  readonly logFile: string;
  readonly cwd: string;
  /** Added to the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts a server. The system writes its output to `logFile`, not this program: a pump running
 * through several tests would count as a leak of each.
 */
export function startServer(
  program: string,
  args: readonly string[],
  { logFile, cwd, env = {} }: ServerOptions,
): ServerProcess {
  const script = 'log=$1; shift; exec setpriv --pdeathsig KILL -- "$@" >>"$log" 2>&1';
  const child = new Deno.Command("sh", {
    args: ["-c", script, "sh", logFile, program, ...args],
    cwd,
    env,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let over = false;
  const status = child.status.finally(() => over = true);
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (!over) child.kill(signal);
    await status;
  };
  return {
    pid: child.pid,
    status,
    hasEnded: () => over,
    end,
    logTail: () => Deno.readTextFileSync(logFile).split("\n").slice(-15).join("\n"),
    // Nothing of a test server is kept, so there is nothing to end gracefully.
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}
