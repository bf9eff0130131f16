/** The servers that all measurements share, and the places they are made in. */
import { namespaces, type Pod, pods, secrets } from "../../lib/api/core.ts";
import { backupRepositories } from "../../lib/api/backup_repository.ts";
import { backupStorageLocations } from "../../lib/api/backup_storage_location.ts";
import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../../lib/api/pod_volume_restore.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import type { Resource } from "../../lib/kube/object.ts";
import type { Movable } from "../../lib/movement/kind.ts";
import { type Agent, startAgent } from "../support/agent.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import {
  backupRepository,
  backupStorageLocation,
  password,
  pod,
  podVolumeBackup,
  podVolumeRestore,
  repositoryPasswordSecret,
  waitingForRestore,
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

/**
 * On a cluster they have cores of their own; here they share two with what is measured. With more
 * memory before each garbage collection they take a fifth less of them.
 */
const roomyServers = { GOGC: "400" } as const;

export async function openStage(
  { small, signal }: { readonly small: boolean; readonly signal: AbortSignal },
): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(tempFolder("bench")).path;
  const audit = await prepareAudit(folder);
  const { apiServerArgs } = audit;
  const controlPlane = stack.use(await startControlPlane({ apiServerArgs, env: roomyServers }));
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
  /** Of the backups. */
  readonly phases: Phases;
  readonly restorePhases: Phases;
  /** A repository for the volumes of a new namespace with this name; answers its folder. */
  addRepository(volumeNamespace: string): Promise<string>;
  /** Its folder. */
  repositoryPath(volumeNamespace: string): string;
  addVolume(volumeNamespace: string, name: string): Promise<Volume>;
  /** Of a pod that waits until it is restored. */
  addWaiting(volumeNamespace: string, name: string): Promise<Volume>;
  /** Creates the PodVolumeBackup; answers when it was sent, on `performance.now()`. */
  backUp(name: string, volume: Volume): Promise<number>;
  /** Creates the PodVolumeRestore of a snapshot into the pod's volume; when it was sent. */
  restore(name: string, volume: Volume, snapshotID: string): Promise<number>;
  /** As a user has it: log level info. */
  startAgent(options?: { readonly flags?: readonly string[] }): Promise<Agent>;
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
  const repositoryPath = (volumeNamespace: string) => `${place}/store/kopia/${volumeNamespace}`;
  const phasesOf = <T extends Movable>(resource: Resource<T>) =>
    followPhases(client, { resource, namespace }, signal);
  const phases = await phasesOf(podVolumeBackups);
  const restorePhases = await phasesOf(podVolumeRestores);
  const addVolume = async (object: Pod): Promise<Volume> => {
    const made = await client.create(pods, object, signal);
    const { name, namespace = "", uid = "" } = made.metadata;
    const patch = { name, namespace, body: { status: object.status } };
    await client.patch(pods, { ...patch, subresource: "status" }, signal);
    const path = `${place}/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;
    await Deno.mkdir(path, { recursive: true });
    return { pod: made, path };
  };
  return {
    ...{ namespace, node, phases, restorePhases },
    repositoryPath,
    async addRepository(volumeNamespace) {
      await addNamespace(volumeNamespace);
      const path = repositoryPath(volumeNamespace);
      await makeRepository(kopia, { path, home: place });
      const repository = backupRepository({ ...metadata, spec: { volumeNamespace } });
      await client.create(backupRepositories, repository, signal);
      return path;
    },
    addVolume: (namespace, name) => addVolume(pod({ namespace, name, spec: { nodeName: node } })),
    addWaiting(namespace, name) {
      const waiting = waitingForRestore();
      const spec = { nodeName: node, ...waiting.spec };
      return addVolume(pod({ ...waiting, namespace, name, spec }));
    },
    async backUp(name, volume) {
      const backup = podVolumeBackup({ name, namespace, spec: { node, pod: refer(volume) } });
      const sent = performance.now();
      await client.create(podVolumeBackups, backup, signal);
      return sent;
    },
    async restore(name, volume, snapshotID) {
      const pod = refer(volume);
      const spec = { pod, snapshotID, sourceNamespace: pod.namespace };
      const restore = podVolumeRestore({ name, namespace, spec });
      const sent = performance.now();
      await client.create(podVolumeRestores, restore, signal);
      return sent;
    },
    async startAgent({ flags = [] } = {}) {
      const kubeconfig = await controlPlane.userKubeconfig(agentUser, ["system:masters"]);
      const home = `${place}/home`;
      const hostPods = `${place}/pods`;
      await Deno.mkdir(home, { recursive: true });
      await Deno.mkdir(hostPods, { recursive: true });
      const all = ["--namespace", namespace, "--log-level", "info", ...flags];
      return await startAgent({ kubeconfig, hostPods, kopia, node, home, flags: all });
    },
    async [Symbol.asyncDispose]() {
      await phases[Symbol.asyncDispose]();
      await restorePhases[Symbol.asyncDispose]();
    },
  };
}

function refer({ pod }: Volume) {
  const { name, namespace = "", uid = "" } = pod.metadata;
  return { kind: "Pod", namespace, name, uid };
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
