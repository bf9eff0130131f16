// Backs up a volume with the built binary on a real kube-apiserver, restores it with stock kopia and
// with the binary, and compares; then plays an operator. Everything runs on loopback and in one
// temporary folder, and ends with the demo.
//
//   make demo            exit code 0 when all was restored as it was
//   KEEP=1 make demo     leaves it up, and says what to try and how to stop it
import type { ControlPlane } from "../support/control_plane.ts";
import type { ServerProcess } from "../support/server_process.ts";
import { tempFolder } from "../support/temp.ts";
import { explainTrying } from "./keep.ts";
import { backUp, makeWaitingPod, restore } from "./movements.ts";
import { megabytes, narrator } from "./narrator.ts";
import { explainConcurrency, markStale } from "./operator.ts";
import { type DemoPod, type Kopia, makePod, makeRepository, type Scene } from "./scene.ts";
import { startAgent, startCluster } from "./scene.ts";
import { compareFolders, fillVolume } from "./volume.ts";

const closing = "demo: passed";
/** The flag of the process that stays behind when KEEP is set. */
const stays = "--stays";

if (Deno.args.includes(stays)) await main({ keep: true });
else if (Deno.env.get("KEEP")) await leaveRunning();
else await main({ keep: false });

async function main({ keep }: { readonly keep: boolean }): Promise<void> {
  const stack = new AsyncDisposableStack();
  let interrupted = false;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(name, async () => {
      if (interrupted) return;
      interrupted = true;
      await stack.disposeAsync();
      Deno.exit(keep ? 0 : 130);
    });
  }
  try {
    const scene = { folder: stack.use(tempFolder("demo")).path, stack, tell: narrator(10) };
    await play(scene, keep);
  } catch (error) {
    // What fails after an interruption fails because of it.
    if (interrupted) return await new Promise<never>(() => {});
    console.log(`\ndemo: failed: ${(error as Error).message}`);
    await stack.disposeAsync();
    Deno.exit(1);
  }
  if (keep) return console.log(closing);
  await stack.disposeAsync();
  console.log(`\n${closing}`);
  Deno.exit(0);
}

async function play(scene: Scene, keep: boolean): Promise<void> {
  const { tell } = scene;
  const cluster = await tell.step("Start etcd and kube-apiserver", () => startCluster(scene));
  const pod = await tell.step("Make a pod with a volume of real files", async () => {
    const made = await makePod(scene, cluster);
    await fillVolume(made.volume);
    return made;
  });
  const kopia = await tell.step(
    "Create a repository with stock kopia, as a Velero server would",
    () => makeRepository(scene, cluster),
  );
  const agent = await tell.step("Start Longshore", () => startAgent(scene, cluster, kopia));
  const snapshot = await tell.step(
    "Back up the volume",
    () => orShowLog(scene, agent, () => backUp(scene, cluster, pod.uid)),
  );
  await tell.step(
    "Restore the snapshot with stock kopia and compare",
    () => restoreWithKopia(scene, kopia, { pod, snapshot }),
  );
  const again = await tell.step(
    "Restore it with Longshore into the volume of a pod that waits for it, and compare",
    () => orShowLog(scene, agent, () => restoreIntoPod(scene, cluster, { pod, snapshot })),
  );
  await tell.step("End what nobody will ever finish", () => markStale(scene, cluster));
  await tell.step(
    "Ask why this node moves five volumes at once",
    () => explainConcurrency(scene, cluster, agent),
  );
  if (keep) return await explainTrying(scene, { cluster, kopia, agent, pod, again, snapshot });
  await tell.step("Stop Longshore", async () => {
    await agent.end("SIGTERM");
    const { code } = await agent.status;
    if (code !== 0) throw new Error(`The agent ended with exit code ${code}:\n${agent.logTail()}`);
    tell.detail("exit code 0");
  });
}

async function orShowLog<T>({ tell }: Scene, agent: ServerProcess, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    tell.detail(`the end of the agent's log:\n${agent.logTail()}`);
    throw error;
  }
}

interface Saved {
  /** What was backed up. */
  readonly pod: DemoPod;
  readonly snapshot: string;
}

async function restoreWithKopia(scene: Scene, kopia: Kopia, { pod, snapshot }: Saved) {
  const restored = `${scene.folder}/restored`;
  await kopia.run("snapshot", "restore", snapshot, restored);
  await compare(scene, pod.volume, restored);
}

async function restoreIntoPod(scene: Scene, cluster: ControlPlane, { pod, snapshot }: Saved) {
  const again = await makeWaitingPod(scene, cluster);
  await restore(scene, cluster, { pod: again, snapshotID: snapshot });
  await compare(scene, pod.volume, again.volume);
  return again;
}

async function compare({ tell }: Scene, volume: string, restored: string) {
  const { entries, bytes, differences } = await compareFolders(volume, restored);
  if (differences.length > 0) {
    throw new Error(`The restored files differ:\n${differences.slice(0, 20).join("\n")}`);
  }
  tell.detail(`${entries} files, folders and links, ${megabytes(bytes)}: content, mode, owner,`);
  tell.detail("modification time of files and target of links are equal");
}

/** Plays in a process of its own, shows what it tells, and ends when that one stays behind alone. */
async function leaveRunning(): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", new URL(import.meta.url).pathname, stays],
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null", // whoever reads our standard error must not wait for the one that stays
  }).spawn();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(name, () => child.kill("SIGTERM"));
  }
  let text = "";
  for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
    Deno.stdout.writeSync(new TextEncoder().encode(piece));
    text = (text + piece).slice(-1_000);
    if (text.endsWith(`\n${closing}\n`)) Deno.exit(0);
  }
  const { code } = await child.status;
  Deno.exit(code === 0 ? 130 : code);
}
