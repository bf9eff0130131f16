/** The peer: stock kopia, run as the agent runs it, without the agent. */
import { moversOf, until } from "../support/children.ts";
import { childrensCpuSeconds } from "./processes.ts";

/** A command that the agent has run. */
export interface KopiaCall {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Waits until the agent's kopia makes or restores a snapshot, and notes how it was called. */
export async function seenMoving(agent: number, program: string): Promise<KopiaCall> {
  return await until("the agent's kopia moves data", () => {
    // Before it becomes kopia the process is setpriv, with the same arguments behind its own.
    const mover = moversOf(agent).find(({ args }) => args[0] === program);
    if (mover === undefined) return undefined;
    return { program, args: mover.args.slice(1), env: environmentOf(mover.pid) };
  });
}

export interface BareRun {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface BareKopia {
  /** `snapshot create` of a folder under a source path of its own. */
  snapshot(volumePath: string, sourcePath: string): Promise<BareRun>;
}

/**
 * Repeats a backup that the agent has run: its flags, its environment and a copy of its connection,
 * so that the two differ in nothing but the agent.
 */
export async function bareKopia(seen: KopiaCall, folder: string): Promise<BareKopia> {
  const run = await bareRunner(seen, folder);
  const [owner] = valueOf(seen, "--override-source").split(":");
  return {
    snapshot: (volumePath, sourcePath) =>
      run((args) =>
        args.with(2, volumePath).map((arg) =>
          arg.startsWith("--override-source=") ? `--override-source=${owner}:${sourcePath}` : arg
        )
      ),
  };
}

/** The same for a restore, into another folder. */
export async function bareRestore(
  seen: KopiaCall,
  folder: string,
): Promise<(snapshotID: string, target: string) => Promise<BareRun>> {
  const run = await bareRunner(seen, folder);
  return (snapshotID, target) => run((args) => args.with(2, snapshotID).with(3, target));
}

type Run = (change: (args: readonly string[]) => readonly string[]) => Promise<BareRun>;

async function bareRunner(seen: KopiaCall, folder: string): Promise<Run> {
  await Deno.mkdir(`${folder}/tmp`, { recursive: true });
  const config = await copyConnection(valueOf(seen, "--config-file"), `${folder}/connection`);
  const own = seen.args.map((arg) =>
    arg.startsWith("--config-file=") ? `--config-file=${config}` : arg
  );
  const env = { ...seen.env, HOME: folder, TMPDIR: `${folder}/tmp` };
  return async (change) => {
    const cpuBefore = childrensCpuSeconds(Deno.pid);
    const started = performance.now();
    const args = [...change(own)];
    const command = new Deno.Command(seen.program, { args, env, clearEnv: true, stdin: "null" });
    const { code, stderr } = await command.output();
    const seconds = (performance.now() - started) / 1_000;
    if (code !== 0) throw new Error(`bare kopia failed: ${new TextDecoder().decode(stderr)}`);
    return { seconds, cpuSeconds: childrensCpuSeconds(Deno.pid) - cpuBefore };
  };
}

function valueOf({ args }: KopiaCall, flag: string): string {
  const found = args.find((arg) => arg.startsWith(`${flag}=`));
  if (found === undefined) throw new Error(`the agent's kopia was not given ${flag}`);
  return found.slice(flag.length + 1);
}

/** The whole folder of a connection, cache included. */
async function copyConnection(file: string, to: string): Promise<string> {
  const at = file.lastIndexOf("/");
  const from = file.slice(0, at);
  const { success } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  if (!success) throw new Error(`cannot copy "${from}"`);
  const copy = `${to}/${file.slice(at + 1)}`;
  const text = await Deno.readTextFile(copy);
  await Deno.writeTextFile(copy, text.replaceAll(from, to));
  return copy;
}

function environmentOf(pid: number): Record<string, string> {
  const pairs = Deno.readTextFileSync(`/proc/${pid}/environ`).split("\0").slice(0, -1);
  return Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
}
