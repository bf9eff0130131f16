/** A cluster whose nodes have labels, and the built binary as an operator or a node uses it there. */
import { agentProgram } from "./agent.ts";
import { type ControlPlane, startControlPlane } from "./control_plane.ts";
import { installCrds } from "./install_crds.ts";
import { type ProcessResult, type RunningProcess, runProcess, startProcess } from "./process.ts";
import { grant } from "./rights.ts";
import { tempFolder } from "./temp.ts";

const [program, ...programArgs] = agentProgram();
const nodeLabels = { n1: { size: "s", zone: "a" }, n2: { size: "l", zone: "a" }, n3: {} };

/** Rules that overlap: 3 for n1, 5 for n2, 2 for n3. */
export const overlapping: string = JSON.stringify({
  loadConcurrency: {
    globalConfig: 2,
    perNodeConfig: [
      { nodeSelector: { matchLabels: { size: "s" } }, number: 3 },
      { nodeSelector: { matchLabels: { zone: "a" } }, number: 5 },
    ],
  },
});

export function globally(number: number): string {
  return JSON.stringify({ loadConcurrency: { globalConfig: number } });
}

export interface NodeSite extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** A folder of its own. */
  readonly home: string;
  /** Runs a command of node n1 in namespace bk to its end. */
  run(...words: readonly string[]): Promise<ProcessResult>;
  start(...words: readonly string[]): RunningProcess;
  /** Makes it anew. */
  configMap(name: string, data: Readonly<Record<string, string>>): Promise<void>;
  /** A Running pod of n1 that is not new; answers its UID. */
  pod(name: string): Promise<string>;
}

export async function startNodeSite(): Promise<NodeSite> {
  await using stack = new AsyncDisposableStack();
  const controlPlane = stack.use(await startControlPlane());
  const home = stack.use(tempFolder("node")).path;
  const { call } = controlPlane;
  await installCrds(controlPlane);
  await call("POST", "/api/v1/namespaces", { metadata: { name: "bk" } });
  for (const [name, labels] of Object.entries(nodeLabels)) {
    await call("POST", "/api/v1/nodes", { metadata: { name, labels } });
  }
  const agentKubeconfig = await grant(controlPlane, "rbac.yaml", { namespace: "bk" });
  const full = (words: readonly string[]) => [
    ...[...programArgs, ...words],
    // The agent has its service account, the other commands are an operator's.
    ...["--kubeconfig", words[0] === "server" ? agentKubeconfig : controlPlane.kubeconfig],
    ...["-n", "bk"],
    ...(words[0] === "server" ? ["--kopia", "/bin/true"] : []), // nothing is moved here
  ];
  const options = { clearEnv: true, env: { HOME: home, NODE_NAME: "n1" } };
  const owned = stack.move();
  return {
    controlPlane,
    home,
    run: (...words) => runProcess(program, full(words), options),
    start: (...words) => startProcess(program, full(words), options),
    async configMap(name, data) {
      const path = "/api/v1/namespaces/bk/configmaps";
      await call("DELETE", `${path}/${name}`).catch(() => {}); // of an earlier step
      await call("POST", path, { metadata: { name }, data });
    },
    pod: (name) => addPod(controlPlane, name),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function addPod({ call }: ControlPlane, name: string): Promise<string> {
  const path = "/api/v1/namespaces/bk/pods";
  const spec = { nodeName: "n1", containers: [{ name: "c", image: "example.invalid/c" }] };
  const { metadata } = await call<{ metadata: { uid: string } }>("POST", path, {
    metadata: { name },
    spec,
  });
  const status = { phase: "Running", startTime: "2026-01-01T00:00:00Z" };
  await call("PATCH", `${path}/${name}/status`, { status });
  return metadata.uid;
}
