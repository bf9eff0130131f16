import { sleep } from "../../lib/base/abort.ts";
import {
  type Child,
  isAlive,
  isListening,
  isStopped,
  isToldToEnd,
  moversOf,
  until,
} from "./children.ts";
import { kopiasUnder } from "./kopia.ts";
import { freePorts } from "./ports.ts";
import { type ProcessResult, startProcess } from "./process.ts";
import { tempFolder } from "./temp.ts";

export interface AgentOptions {
  readonly kubeconfig: string;
  readonly hostPods: string;
  /** The kopia program. */
  readonly kopia: string;
  /** The restic program; the default is one that does not exist. */
  readonly restic?: string;
  readonly node?: string;
  /** More flags; one that is given twice counts as it was given last. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What runs the agent, such as `setpriv` with its arguments. */
  readonly wrapper?: readonly string[];
  /** Its HOME; the default is a temporary folder. */
  readonly home?: string;
}

/** One line of the agent's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A running agent. Disposing it kills it. */
export interface Agent extends AsyncDisposable {
  readonly pid: number;
  readonly home: string;
  /** Of its metrics, `http://127.0.0.1:<port>`. */
  readonly address: string;
  /** All that it has written so far. */
  output(): string;
  /** The log so far; throws when a line is not a JSON object. */
  log(): LogLine[];
  /** The first line that matches, already written or still to come. */
  line(pattern: RegExp, limitMs?: number): Promise<string>;
  /** What it answers at a path of its metrics address. */
  page(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** A scrape. */
  metrics(): Promise<string>;
  /** The kopias that move data for it now. */
  movers(): Child[];
  /** Waits for a kopia that moves data and stops it in its tracks. */
  freeze(): Promise<Frozen>;
  kill(signal: Deno.Signal): void;
  /** Sends the signal and awaits the end. */
  stop(signal?: Deno.Signal): Promise<ProcessResult>;
  ended(): Promise<ProcessResult>;
}

/** A kopia that stands still (SIGSTOP) in the middle of its work. */
export interface Frozen extends Child {
  resume(): void;
  /** Waits until the agent has sent it SIGTERM, then lets it go on. */
  resumeWhenToldToEnd(): Promise<void>;
  isAlive(): boolean;
}

/** How the agent is started: the built binary, or what LONGSHORE_BIN names (`main.ts` also works). */
export function agentProgram(): readonly [string, ...string[]] {
  const built = new URL("../../dist/longshore", import.meta.url).pathname;
  const program = Deno.env.get("LONGSHORE_BIN") ?? built;
  if (!program.endsWith(".ts")) return [program];
  const config = new URL("../../deno.json", import.meta.url).pathname;
  return [Deno.execPath(), "run", "--allow-all", `--config=${config}`, program];
}

/** Starts the agent and awaits that it serves; JSON log lines, debug level, a free metrics port. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { kubeconfig, hostPods, kopia, node = "node-1", flags = [], env = {} } = options;
  const { restic = "/nonexistent/restic" } = options;
  await using stack = new AsyncDisposableStack();
  const home = options.home ?? stack.use(tempFolder("agent")).path;
  const [port] = freePorts(1) as [number];
  // Its kopias die with it, a moment later; until then they write to its home.
  stack.defer(async () => void await until("no kopia is left", () => !kopiasUnder(home).length));
  const [program = "", ...args] = [...options.wrapper ?? [], ...agentProgram(), "server"];
  const child = stack.use(startProcess(program, [
    ...args,
    ...["--kubeconfig", kubeconfig, "--node-name", node, "--host-pods", hostPods],
    ...["--metrics-address", `127.0.0.1:${port}`, "--kopia", kopia],
    ...["--restic", restic],
    ...["--log-level", "debug", "--log-format", "json", ...flags],
  ], { env: { HOME: home, ...env } }));
  await child.line(/Metrics are served/, 30_000);
  const owned = stack.move();
  const output = () => child.stdout() + child.stderr();
  const movers = () => {
    if (!isAlive(child.pid)) throw new Error(`the agent has ended:\n${output().slice(-2_000)}`);
    return moversOf(child.pid);
  };
  const address = `http://127.0.0.1:${port}`;
  const page: Agent["page"] = async (path) => {
    const headers = { connection: "close" };
    const answer = await fetch(`${address}${path}`, { headers });
    return { status: answer.status, text: await answer.text() };
  };
  return {
    pid: child.pid,
    home,
    address,
    output,
    log: () => child.stdout().split("\n").slice(0, -1).map((line) => JSON.parse(line)),
    line: child.line,
    page,
    metrics: async () => (await page("/metrics")).text,
    movers,
    freeze: () => freeze(movers),
    kill: child.kill,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return await child.ended();
    },
    ended: child.ended,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function freeze(movers: () => Child[]): Promise<Frozen> {
  const mover = await until(
    "kopia moves data",
    () => movers().find(({ pid }) => isListening(pid)),
    60_000,
  );
  Deno.kill(mover.pid, "SIGSTOP");
  await until("kopia stands still", () => isStopped(mover.pid));
  const resume = () => Deno.kill(mover.pid, "SIGCONT");
  return {
    ...mover,
    resume,
    async resumeWhenToldToEnd() {
      await until("kopia is told to end", () => isToldToEnd(mover.pid));
      resume();
    },
    isAlive: () => isAlive(mover.pid),
  };
}

/** Fails unless the agent soon has all its slots free, and nobody waits for one. */
export async function assertIdle(agent: Agent): Promise<void> {
  for (let tries = 0;; tries++) { // the slot is given back a little after the result is written
    const scrape = await agent.metrics();
    const slots = [...scrape.matchAll(/^longshore_slots\{.*\} (\d+)$/gm)].map(([, used]) => used);
    if (slots.join() === "0,0") return;
    if (tries === 200) throw new Error(`the agent still has slots in use:\n${scrape}`);
    await sleep(25, new AbortController().signal);
  }
}
