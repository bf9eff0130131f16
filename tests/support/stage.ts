import { sleep } from "../../lib/base/abort.ts";
import type { BackupStorageLocation } from "../../lib/api/backup_storage_location.ts";
import type { Pod } from "../../lib/api/core.ts";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import { type Agent, type AgentOptions, startAgent } from "./agent.ts";
import { type ControlPlane, startControlPlane } from "./control_plane.ts";
import { type CrdOptions, installCrds } from "./install_crds.ts";
import type { Snapshot } from "./kopia.ts";
import type { CoreEvent } from "../../lib/kube/events.ts";
import { logObjects, type ObjectLog } from "./object_log.ts";
import * as objects from "./objects.ts";
import { runProcess } from "./process.ts";
import { grant } from "./rights.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

export interface StageOptions {
  readonly apiServerArgs?: readonly string[];
  readonly folder?: string;
  readonly crds?: CrdOptions;
}

export interface StagePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The folder of its volume `data` on the node. */
  readonly volume: string;
}

/**
 * A cluster with all that a backup needs: namespaces `velero` and `app`, the location `default` in a
 * folder, its ready repository made by the stock kopia, and node folders for the volumes of pods.
 */
export interface Stage extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** File: the agent's service account, with the rights of manifests/rbac.yaml and no other. */
  readonly agentKubeconfig: string;
  readonly folder: string;
  readonly hostPods: string;
  /** The folder that location `default` names. */
  readonly store: string;
  readonly kopiaProgram: string;
  readonly log: ObjectLog;
  agent(options?: Partial<AgentOptions>): Promise<Agent>;
  /** A Running pod of node-1 in namespace `app`, with an empty volume `data`. */
  pod(change?: objects.Change<Pod>): Promise<StagePod>;
  /** Creates a PodVolumeBackup of the pod's volume and answers its name. */
  backup(pod: StagePod, change?: objects.Change<PodVolumeBackup>): Promise<string>;
  /** The object in its final phase. */
  ended(name: string, limitMs?: number): Promise<PodVolumeBackup>;
  /** The events about an object's end, once there are any; they follow its result. */
  endEventsOf(name: string): Promise<readonly CoreEvent[]>;
  patch(name: string, body: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  /** A further location with a ready repository for namespace `app`. */
  location(name: string, spec?: Partial<BackupStorageLocation["spec"]>): Promise<void>;
  /** Makes a repository in a folder, for a location whose `fspath` is two folders up. */
  repository(path: string): Promise<void>;
  /** The stock kopia, connected to the repository; throws when it fails. */
  kopia(...args: string[]): Promise<string>;
  /** All snapshots, incomplete ones too. */
  snapshots(): Promise<(Snapshot & { readonly source: { readonly path: string } })[]>;
}

export const velero = "/apis/velero.io/v1/namespaces/velero";
const backups = `${velero}/podvolumebackups`;

const isFinal = ({ status }: PodVolumeBackup) =>
  ["Completed", "Failed", "Canceled"].includes(status?.phase ?? "");

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const folder = options.folder ?? stack.use(tempFolder("stage")).path;
  const controlPlane = stack.use(
    await startControlPlane(options.apiServerArgs ? { apiServerArgs: options.apiServerArgs } : {}),
  );
  const { call } = controlPlane;
  await installCrds(controlPlane, options.crds);
  for (const name of ["velero", "app"]) {
    await call("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  const agentKubeconfig = await grant(controlPlane, "rbac.yaml");
  await call("POST", "/api/v1/namespaces/velero/secrets", objects.repositoryPasswordSecret());
  const log = stack.use(logObjects(controlPlane, "velero"));
  const hostPods = `${folder}/pods`;
  await Deno.mkdir(hostPods, { recursive: true });
  const store = `${folder}/store`;
  const kopiaProgram = await tool("kopia");
  const kopia = plainKopia(kopiaProgram, folder, `${folder}/stock.config`);
  const location: Stage["location"] = async (name, spec = {}) => {
    const place = objects.backupStorageLocation({ name, spec });
    await call("POST", `${velero}/backupstoragelocations`, place);
    const repository = objects.backupRepository({ spec: { backupStorageLocation: name } });
    await call("POST", `${velero}/backuprepositories`, repository);
  };
  await makeRepository(kopia, `${store}/kopia/app`);
  await location("default", { config: { fspath: store } });
  let made = 0;
  const owned = stack.move();
  return {
    ...{ controlPlane, agentKubeconfig, folder, hostPods, store },
    ...{ kopiaProgram, log, location, kopia },
    agent: (changes = {}) =>
      startAgent({
        kubeconfig: agentKubeconfig,
        hostPods,
        kopia: kopiaProgram,
        ...changes,
      }),
    pod: (change = {}) => addPod(controlPlane, hostPods, { name: `pod-${++made}`, ...change }),
    async backup(pod, change = {}) {
      const { spec, ...rest } = change;
      const { namespace, name, uid } = pod;
      const object = objects.podVolumeBackup({
        name: `backup-${++made}`,
        ...rest,
        spec: { pod: { kind: "Pod", namespace, name, uid }, ...spec },
      });
      await call("POST", backups, object);
      return object.metadata.name;
    },
    ended: (name, limitMs) => log.until(name, isFinal, limitMs),
    endEventsOf: (name) => endEventsOf(controlPlane, name),
    patch: async (name, body) => void await call("PATCH", `${backups}/${name}`, body),
    remove: async (name) => void await call("DELETE", `${backups}/${name}`),
    repository: (path) =>
      makeRepository(plainKopia(kopiaProgram, folder, `${folder}/other.config`), path),
    snapshots: async () =>
      JSON.parse(await kopia("snapshot", "list", "--all", "--incomplete", "--json")),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function makeRepository(kopia: Stage["kopia"], path: string) {
  await Deno.mkdir(path, { recursive: true });
  const owner = ["--override-username=default", "--override-hostname=default"];
  await kopia("repository", "create", "filesystem", "--path", path, ...owner);
}

function plainKopia(program: string, folder: string, configFile: string): Stage["kopia"] {
  return async (...args) => {
    const { code, stdout, stderr } = await runProcess(program, [
      ...args,
      `--config-file=${configFile}`,
      ...["--no-auto-maintenance", "--disable-file-logging", "--disable-content-log"],
    ], {
      clearEnv: true,
      env: {
        HOME: folder,
        KOPIA_PASSWORD: objects.password,
        KOPIA_CHECK_FOR_UPDATES: "false",
      },
    });
    if (code !== 0) throw new Error(`kopia ${args.join(" ")} failed: ${stderr}`);
    return stdout;
  };
}

async function addPod(
  { call }: ControlPlane,
  hostPods: string,
  change: objects.Change<Pod>,
): Promise<StagePod> {
  const object = objects.pod(change);
  const { namespace = "app", name } = object.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { metadata } = await call<Pod>("POST", path, object);
  await call("PATCH", `${path}/${name}/status`, { status: object.status });
  const uid = metadata.uid ?? "";
  const volume = `${hostPods}/${uid}/volumes/kubernetes.io~empty-dir/data`;
  await Deno.mkdir(volume, { recursive: true });
  return { namespace, name, uid, volume };
}

async function endEventsOf({ call }: ControlPlane, name: string): Promise<readonly CoreEvent[]> {
  const path = `/api/v1/namespaces/velero/events?fieldSelector=involvedObject.name=${name}`;
  for (let tries = 0;; tries++) {
    const { items } = await call<{ items: CoreEvent[] }>("GET", path);
    const ends = items.filter(({ reason }) => reason !== "InProgress"); // told of longer movements
    if (ends.length > 0 || tries === 100) return ends;
    await sleep(20, new AbortController().signal);
  }
}
