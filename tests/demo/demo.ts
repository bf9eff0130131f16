// Backs up a volume with the built binary on a real kube-apiserver, restores it with stock kopia and
// compares. Everything runs on loopback and in one temporary folder, and ends with the demo.
//
//   make demo            exit code 0 when all was restored as it was
//   KEEP=1 make demo     leaves it up, and says what to try and how to stop it
import { backUp, backupOf, makePod, makeRepository, namespace, startAgent } from "./scene.ts";
import { type Kopia, type Scene, startCluster } from "./scene.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { password } from "../support/objects.ts";
import type { ServerProcess } from "../support/server_process.ts";
import { tempFolder } from "../support/temp.ts";
import { megabytes, narrator } from "./narrator.ts";
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
    const scene = { folder: stack.use(tempFolder("demo")).path, stack, tell: narrator(7) };
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
  const { tell, folder } = scene;
  const cluster = await tell.step("Start etcd and kube-apiserver", () => startCluster(scene));
  const { uid, volume } = await tell.step("Make a pod with a volume of real files", async () => {
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
    () => backUpOrExplain(scene, agent, () => backUp(scene, cluster, uid)),
  );
  await tell.step("Restore the snapshot with stock kopia and compare", async () => {
    const restored = `${folder}/restored`;
    await kopia.run("snapshot", "restore", snapshot, restored);
    const { entries, bytes, differences } = await compareFolders(volume, restored);
    if (differences.length > 0) {
      throw new Error(`The restored files differ:\n${differences.slice(0, 20).join("\n")}`);
    }
    tell.detail(`${entries} files, folders and links, ${megabytes(bytes)}: content, mode, owner,`);
    tell.detail("modification time of files and target of links are equal");
  });
  if (keep) return await explain(scene, { cluster, kopia, podUid: uid });
  await tell.step("Stop Longshore", async () => {
    await agent.end("SIGTERM");
    const { code } = await agent.status;
    if (code !== 0) throw new Error(`The agent ended with exit code ${code}:\n${agent.logTail()}`);
    tell.detail("exit code 0");
  });
}

async function backUpOrExplain<T>({ tell }: Scene, agent: ServerProcess, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    tell.detail(`the end of the agent's log:\n${agent.logTail()}`);
    throw error;
  }
}

interface Running {
  readonly cluster: ControlPlane;
  readonly kopia: Kopia;
  readonly podUid: string;
}

/** What can be tried, with the programs that this machine has. */
async function explain({ folder }: Scene, { cluster, kopia, podUid }: Running): Promise<void> {
  const file = `${folder}/another-backup.json`;
  await Deno.writeTextFile(file, JSON.stringify(backupOf(podUid, "demo-2"), undefined, 2));
  const path = `/apis/velero.io/v1/namespaces/${namespace}/podvolumebackups`;
  const curl = `curl --silent --cacert ${cluster.caFile} --cert ${cluster.adminCert} ` +
    `--key ${cluster.adminKey}`;
  const json = "--header 'Content-Type: application/json'";
  const [create, list] = await hasProgram("kubectl")
    ? [`kubectl create -f ${file}`, `kubectl get podvolumebackups -n ${namespace}`]
    : [
      `${curl} ${json} --data @${file} ${cluster.server}${path}`,
      `${curl} ${cluster.server}${path}`,
    ];
  const snapshots = `KOPIA_PASSWORD='${password}' ${kopia.program} ` +
    `--config-file=${kopia.configFile} snapshot list --all`;
  console.log(`
Left running. Try:

  export KUBECONFIG=${cluster.kubeconfig}
  ${create}
  ${list}
  ${snapshots}

The agent's log is ${folder}/agent.log.
Stop everything and remove its files:

  kill ${Deno.pid}
`);
}

async function hasProgram(name: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", `command -v ${name}`],
    stdout: "null",
  }).output();
  return success;
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
