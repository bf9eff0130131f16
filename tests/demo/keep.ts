/** What KEEP=1 says: commands to try, with the programs that this machine has. */
import type { KubeObject } from "../../lib/kube/object.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { password } from "../support/objects.ts";
import { restoreOf } from "./movements.ts";
import { explainArgs, leftBehind, markStaleArgs } from "./operator.ts";
import { backupOf, binary, type DemoAgent, type DemoPod, type Kopia } from "./scene.ts";
import { namespace, type Scene } from "./scene.ts";

export interface Running {
  readonly cluster: ControlPlane;
  readonly kopia: Kopia;
  readonly agent: DemoAgent;
  /** What was backed up, and what it was restored to. */
  readonly pod: DemoPod;
  readonly again: DemoPod;
  readonly snapshot: string;
}

export async function explainTrying(scene: Scene, running: Running): Promise<void> {
  const { folder } = scene;
  const { cluster, kopia, agent, pod, again, snapshot } = running;
  const file = async (name: string, { metadata, ...rest }: KubeObject) => {
    const path = `${folder}/${name}.json`;
    const { name: first, ...kept } = metadata;
    const object = { ...rest, metadata: { ...kept, generateName: `${first}-` } }; // to try it twice
    await Deno.writeTextFile(path, JSON.stringify(object, undefined, 2));
    return path;
  };
  const { create, list } = await clientOf(cluster);
  const backup = await file("another-backup", backupOf(pod.uid, "demo-2"));
  const restore = await file("another-restore", restoreOf(again, snapshot, "demo-again-2"));
  const left = await file("another-left", leftBehind("demo-left-2"));
  console.log(`
Left running. Try:

  export KUBECONFIG=${cluster.kubeconfig}

Back up again, and see how it went:
  ${create("podvolumebackups", backup)}
  ${list("podvolumebackups")}
  KOPIA_PASSWORD='${password}' ${kopia.program} --config-file=${kopia.configFile} snapshot list --all

Restore again, into ${again.volume}:
  ${create("podvolumerestores", restore)}
  ${list("podvolumerestores")}

Leave a backup that nobody will finish, and end it:
  ${create("podvolumebackups", left)}
  ${binary} ${markStaleArgs.join(" ")} --dry-run
  ${binary} ${markStaleArgs.join(" ")}

Ask how many volumes are moved at once, and what else the node is asked about:
  ${binary} ${explainArgs(agent).join(" ")}
  ${binary} validate-host-path --node=node-1 --path=${folder}/pods
  curl --silent http://${agent.metricsAddress}/metrics | grep ^longshore

The agent's log is ${folder}/agent.log.
Stop everything and remove its files:

  kill ${Deno.pid}
`);
}

interface KubeCommands {
  create(plural: string, file: string): string;
  list(plural: string): string;
}

async function clientOf(cluster: ControlPlane): Promise<KubeCommands> {
  if (await hasProgram("kubectl")) {
    return {
      create: (_, file) => `kubectl create -f ${file}`,
      list: (plural) => `kubectl get ${plural} -n ${namespace}`,
    };
  }
  const url = `${cluster.server}/apis/velero.io/v1/namespaces/${namespace}`;
  const curl = `curl --silent --cacert ${cluster.caFile} --cert ${cluster.adminCert} ` +
    `--key ${cluster.adminKey}`;
  const json = "--header 'Content-Type: application/json'";
  return {
    create: (plural, file) => `${curl} ${json} --data @${file} ${url}/${plural}`,
    list: (plural) => `${curl} ${url}/${plural}`,
  };
}

async function hasProgram(name: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", `command -v ${name}`],
    stdout: "null",
  }).output();
  return success;
}
