import { type RunningProcess, startProcess } from "./process.ts";
import type { Stage } from "./stage.ts";
import { tool } from "./tools.ts";

/** Where the stock agent serves metrics besides; it cannot be moved. */
const fixedPort = 8080;

/** Why Velero's own agent cannot be run here; undefined when it can. Tells it on standard error. */
export function stockAgentRefused(): string | undefined {
  const why = Deno.uid() !== 0
    ? "it needs root"
    : isTaken()
    ? `port ${fixedPort} is taken`
    : undefined;
  if (why !== undefined) console.error(`SKIPPED: tests with Velero's own node agent: ${why}`);
  return why;
}

function isTaken(): boolean {
  try {
    Deno.listen({ port: fixedPort }).close();
    return false;
  } catch {
    return true;
  }
}

/**
 * Starts the node agent of Velero 1.15.2 on node-1. It knows the node's pods only as `/host_pods`, so
 * the stage's folder is the root folder that it sees: its store is `/store` there.
 */
export async function startStockAgent(
  { folder, hostPods, controlPlane }: Stage,
): Promise<RunningProcess> {
  await Deno.copyFile(await tool("velero-v1.15.2"), `${folder}/velero`);
  await Deno.copyFile(controlPlane.kubeconfig, `${folder}/kubeconfig`);
  await Deno.mkdir(`${folder}/tmp`, { recursive: true });
  await Deno.symlink(hostPods.slice(folder.length + 1), `${folder}/host_pods`);
  const agent = startProcess("chroot", [
    ...[folder, "/velero", "node-agent", "server", "--kubeconfig", "/kubeconfig"],
    ...["--metrics-address", "127.0.0.1:0"],
  ], { env: { NODE_NAME: "node-1", VELERO_NAMESPACE: "velero", HOME: "/" } });
  await agent.line(/Starting workers.*podvolumerestore/i, 60_000);
  return agent;
}
