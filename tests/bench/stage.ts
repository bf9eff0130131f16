/** The servers that all measurements share, and the places they are made in. */
import { namespaces, type Pod, pods, secrets } from "../../lib/api/core.ts";
import { backupRepositories } from "../../lib/api/backup_repository.ts";
import { backupStorageLocations } from "../../lib/api/backup_storage_location.ts";
import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import { type Agent, startAgent } from "../support/agent.ts";
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
import { runProcess } from "../support/process.ts";
import { tempFolder } from "../support/temp.ts";
import { tool } from "../support/tools.ts";
import { agentUser, type Audit, prepareAudit } from "./audit.ts";
import { followPhases, type Phases } from "./phases.ts";

export interface Stage extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** Beside the agent, over connections that are kept. */
  readonly client: KubeClient;
  readonly audit: Audit;
  /** For volumes, repositories and the agents' own files. */
  readonly folder: string;
  readonly kopia: string;
  /** Fewer and smaller: to try the measurements themselves. */
  readonly small: boolean;
  readonly signal: AbortSignal;
}

export async function openStage(
  { small, signal }: { readonly small: boolean; readonly signal: AbortSignal },
): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(tempFolder("bench")).path;
  const audit = await prepareAudit(folder);
  const controlPlane = stack.use(await startControlPlane({ apiServerArgs: audit.apiServerArgs }));
  await installCrds(controlPlane);
  const connection = await connect({ kubeconfig: controlPlane.kubeconfig });
  const client = stack.use(createClient(connection, { userAgent: "longshore-bench" }));
  const owned = stack.move();
  return {
    ...{ controlPlane, client, audit, folder, small, signal },
    kopia: await tool("kopia"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A pod with one volume on the site's node. */
export interface Volume {
  readonly pod: Pod;
  /** The folder with its files. */
  readonly path: string;
}

/** A Velero namespace and a node of their own: what is in one site no agent of another one sees. */
export interface Site extends AsyncDisposable {
  readonly namespace: string;
  readonly node: string;
  readonly phases: Phases;
  /** A repository for the volumes of a new namespace with this name; answers its folder. */
  addRepository(volumeNamespace: string): Promise<string>;
  addVolume(volumeNamespace: string, name: string): Promise<Volume>;
  /** Creates the PodVolumeBackup; answers when it was sent, on `performance.now()`. */
  backUp(name: string, volume: Volume): Promise<number>;
  /** As a user has it: log level info. */
  startAgent(): Promise<Agent>;
}

export async function openSite(stage: Stage, name: string): Promise<Site> {
  const { client, controlPlane, folder, kopia, signal } = stage;
  const addNamespace = (name: string) => client.create(namespaces, { metadata: { name } }, signal);
  const namespace = `velero-${name}`;
  const node = `node-${name}`;
  const place = `${folder}/${name}`;
  await addNamespace(namespace);
  const metadata = { namespace };
  await client.create(secrets, {
    ...repositoryPasswordSecret(),
    metadata: {
      ...repositoryPasswordSecret().metadata,
      ...metadata,
    },
  }, signal);
  const location = backupStorageLocation({
    ...metadata,
    spec: { config: { fspath: `${place}/store` } },
  });
  await client.create(backupStorageLocations, location, signal);
  const phases = await followPhases(client, namespace, signal);
  return {
    ...{ namespace, node, phases },
    async addRepository(volumeNamespace) {
      await addNamespace(volumeNamespace);
      const path = `${place}/store/kopia/${volumeNamespace}`;
      await makeRepository(kopia, { path, home: place });
      const repository = backupRepository({ ...metadata, spec: { volumeNamespace } });
      await client.create(backupRepositories, repository, signal);
      return path;
    },
    async addVolume(volumeNamespace, name) {
      const change = { namespace: volumeNamespace, name, spec: { nodeName: node } };
      const made = await client.create(pods, pod(change), signal);
      const uid = made.metadata.uid ?? "";
      const running = { namespace: volumeNamespace, name, body: { status: { phase: "Running" } } };
      await client.patch(pods, { ...running, subresource: "status" }, signal);
      const path = `${place}/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
      await Deno.mkdir(path, { recursive: true });
      return { pod: made, path };
    },
    async backUp(name, volume) {
      const { name: podName, namespace: podNamespace = "", uid = "" } = volume.pod.metadata;
      const of = { kind: "Pod", namespace: podNamespace, name: podName, uid };
      const backup = podVolumeBackup({ name, namespace, spec: { node, pod: of } });
      const sent = performance.now();
      await client.create(podVolumeBackups, backup, signal);
      return sent;
    },
    async startAgent() {
      const kubeconfig = await controlPlane.userKubeconfig(agentUser, ["system:masters"]);
      const home = `${place}/home`;
      const hostPods = `${place}/pods`;
      await Deno.mkdir(home, { recursive: true });
      await Deno.mkdir(hostPods, { recursive: true });
      const flags = ["--namespace", namespace, "--log-level", "info"];
      return await startAgent({ kubeconfig, hostPods, kopia, node, home, flags });
    },
    [Symbol.asyncDispose]: () => phases[Symbol.asyncDispose](),
  };
}

async function makeRepository(
  kopia: string,
  { path, home }: { readonly path: string; readonly home: string },
) {
  await Deno.mkdir(path, { recursive: true });
  const config = `${path}.config`;
  const { code, stderr } = await runProcess(kopia, [
    ...["repository", "create", "filesystem", `--path=${path}`, `--config-file=${config}`],
    ...["--no-check-for-updates", "--no-persist-credentials", "--disable-file-logging"],
    ...["--override-username=default", "--override-hostname=default"],
    `--cache-directory=${path}.cache`,
  ], { clearEnv: true, env: { HOME: home, KOPIA_PASSWORD: password } });
  if (code !== 0) throw new Error(`kopia cannot make a repository at "${path}": ${stderr}`);
  await Deno.remove(config);
  await Deno.remove(`${path}.cache`, { recursive: true });
}
