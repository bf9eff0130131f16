import { fileURLToPath } from "node:url";
import type { Pod } from "../../lib/api/core.ts";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import { deadline, sleep } from "../../lib/base/abort.ts";
import type { KubeObject } from "../../lib/kube/object.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import {
  backupRepository,
  backupStorageLocation,
  password,
  pod,
  podVolumeBackup,
  repositoryPasswordSecret,
} from "../support/objects.ts";
import { freePorts } from "../support/ports.ts";
import { runProcess } from "../support/process.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { tool } from "../support/tools.ts";
import type { Narrator } from "./narrator.ts";

export const binary = fileURLToPath(new URL("../../dist/longshore", import.meta.url));

export const namespace = "velero";
/** Fast nodes move five volumes at once, all others two. */
export const configMap = "node-agent-config";
const nodeAgentConfig = {
  loadConcurrency: {
    globalConfig: 2,
    perNodeConfig: [
      { nodeSelector: { matchLabels: { "example.invalid/disk": "slow" } }, number: 1 },
      { nodeSelector: { matchLabels: { "example.invalid/disk": "fast" } }, number: 5 },
    ],
  },
};
const never = new AbortController().signal;

export interface Scene {
  /** Everything of the demo lies below it. */
  readonly folder: string;
  readonly stack: AsyncDisposableStack;
  readonly tell: Narrator;
}

export async function startCluster({ folder, stack, tell }: Scene): Promise<ControlPlane> {
  const controlPlane = stack.use(await startControlPlane({ folder: `${folder}/control-plane` }));
  await installCrds(controlPlane);
  for (const name of [namespace, "app"]) {
    await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  const labels = { "example.invalid/disk": "fast" };
  await controlPlane.call("POST", "/api/v1/nodes", { metadata: { name: "node-1", labels } });
  await controlPlane.call("POST", `/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: configMap },
    data: { "node-agent-config.json": JSON.stringify(nodeAgentConfig, undefined, 2) },
  });
  tell.detail(`kube-apiserver at ${controlPlane.server}; the definitions of manifests/crds are in`);
  return controlPlane;
}

export interface DemoPod {
  readonly name: string;
  readonly uid: string;
  /** The folder of its volume. */
  readonly volume: string;
}

/** There is no kubelet: the pod's status is written by hand, its volume lies where a kubelet has it. */
export async function makePod(
  { folder, tell }: Scene,
  controlPlane: ControlPlane,
  object: Pod = pod(),
): Promise<DemoPod> {
  const path = "/api/v1/namespaces/app/pods";
  const { status } = object;
  const { metadata } = await controlPlane.call<Pod>("POST", path, object);
  const { name, uid = "" } = metadata;
  await controlPlane.call("PATCH", `${path}/${name}/status`, { status });
  const volume = `${folder}/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
  await Deno.mkdir(volume, { recursive: true });
  tell.detail(`pod app/${name}, volume "data": ${volume}`);
  return { name, uid, volume };
}

export interface Kopia {
  readonly program: string;
  readonly configFile: string;
  run(...args: string[]): Promise<string>;
}

/** What a Velero server does before its first backup of a namespace. */
export async function makeRepository(
  { folder, tell }: Scene,
  controlPlane: ControlPlane,
): Promise<Kopia> {
  const program = await tool("kopia");
  const configFile = `${folder}/kopia.config`;
  const run = async (...args: string[]) => {
    const all = [...args, `--config-file=${configFile}`, "--no-auto-maintenance"];
    const { code, stdout, stderr } = await runProcess(program, all, {
      env: { HOME: folder, KOPIA_PASSWORD: password, KOPIA_CHECK_FOR_UPDATES: "false" },
    });
    if (code !== 0) throw new Error(`kopia ${args.join(" ")} failed: ${stderr}`);
    return stdout;
  };
  const store = `${folder}/store`;
  const repository = `${store}/kopia/app`;
  await Deno.mkdir(repository, { recursive: true });
  const owner = ["--override-username=default", "--override-hostname=default"];
  await run("repository", "create", "filesystem", `--path=${repository}`, ...owner);
  const version = (await runProcess(program, ["--version"])).stdout.split(" ")[0];
  tell.detail(`kopia ${version}, repository in ${repository}`);
  const objects: KubeObject[] = [
    backupStorageLocation({ spec: { config: { fspath: store } } }),
    backupRepository(),
  ];
  for (const object of objects) {
    const plural = `${object.kind?.toLowerCase()}s`.replace(/ys$/, "ies");
    await controlPlane.call("POST", `/apis/velero.io/v1/namespaces/${namespace}/${plural}`, object);
    tell.detail(`${object.kind} ${namespace}/${object.metadata.name}`);
  }
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const { metadata } = await controlPlane.call<KubeObject>(
    "POST",
    secrets,
    repositoryPasswordSecret(),
  );
  tell.detail(`Secret ${namespace}/${metadata.name}`);
  return { program, configFile, run };
}

export interface DemoAgent extends ServerProcess {
  readonly metricsAddress: string;
}

export async function startAgent(
  { folder, stack, tell }: Scene,
  controlPlane: ControlPlane,
  kopia: Kopia,
): Promise<DemoAgent> {
  await makeAgentPod(folder, controlPlane);
  const [port] = freePorts(1);
  const metricsAddress = `127.0.0.1:${port}`;
  const args = [
    "server",
    `--kubeconfig=${controlPlane.kubeconfig}`,
    `--namespace=${namespace}`,
    "--node-name=node-1",
    `--host-pods=${folder}/pods`,
    `--kopia=${kopia.program}`,
    `--node-agent-configmap=${configMap}`,
    `--metrics-address=${metricsAddress}`,
    "--progress-interval=200ms",
  ];
  tell.detail(`dist/longshore ${args.join(" ")}`);
  const logFile = `${folder}/agent.log`;
  const agent = startServer(binary, args, { logFile, cwd: folder, env: { HOME: folder } });
  stack.use(agent);
  using limit = deadline(never, 20_000, "The start of the agent");
  while (!await answers(`http://${metricsAddress}/metrics`)) {
    if (agent.hasEnded()) throw new Error(`The agent ended at once:\n${agent.logTail()}`);
    await sleep(50, limit.signal);
  }
  tell.detail(`its log: ${logFile}`);
  return { ...agent, metricsAddress };
}

/** As the agent's DaemonSet makes it: by it, mark-stale knows that the node has a living agent. */
async function makeAgentPod(folder: string, controlPlane: ControlPlane): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const name = "node-agent-1";
  const object = pod({ name, namespace, labels: { name: "node-agent" } });
  const { metadata } = await controlPlane.call<Pod>("POST", path, object);
  const startedAt = new Date().toISOString().replace(/\.\d+/, "");
  const state = { running: { startedAt } };
  const container = { name: "web", image: "", imageID: "", ready: true, restartCount: 0, state };
  const status = { phase: "Running", containerStatuses: [container] };
  await controlPlane.call("PATCH", `${path}/${name}/status`, { status });
  await Deno.mkdir(`${folder}/pods/${metadata.uid}`, { recursive: true });
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** A new PodVolumeBackup of the demo's volume, as a Velero server would make it. */
export function backupOf(podUid: string, name = "demo-1"): PodVolumeBackup {
  const pod = { kind: "Pod", namespace: "app", name: "web", uid: podUid };
  return podVolumeBackup({ name, spec: { pod } });
}
