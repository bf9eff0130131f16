/** What an operator does with the same binary from a shell. */
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { podVolumeBackup } from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { binary, configMap, type DemoAgent, namespace, type Scene } from "./scene.ts";

const path = `/apis/velero.io/v1/namespaces/${namespace}/podvolumebackups`;
export const markStaleArgs = ["mark-stale", "--all-nodes"];

export function explainArgs({ metricsAddress }: DemoAgent): string[] {
  return [
    ...["concurrency", "--explain", "--node=node-1"],
    ...[`--configmap=${configMap}`, `--metrics-address=${metricsAddress}`],
  ];
}

/** A backup that an agent had in hand when its node went away for good. */
export function leftBehind(name = "demo-left"): PodVolumeBackup {
  const startTimestamp = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, "");
  const status = { phase: "InProgress", startTimestamp } as const;
  return podVolumeBackup({ name, spec: { node: "node-2" }, status });
}

export async function markStale(scene: Scene, cluster: ControlPlane): Promise<void> {
  const { tell } = scene;
  const { metadata } = await cluster.call<PodVolumeBackup>("POST", path, leftBehind());
  tell.detail(
    `PodVolumeBackup ${namespace}/${metadata.name} is InProgress on node-2, but there is`,
  );
  tell.detail("no such node: Velero would wait for it for hours. First see what would be done:");
  await command(scene, cluster, { args: [...markStaleArgs, "--dry-run"], code: 4 });
  tell.detail("(exit code 4: something is stale) Then let it be done:");
  await command(scene, cluster, { args: markStaleArgs, code: 0 });
  const { status } = await cluster.call<PodVolumeBackup>("GET", `${path}/${metadata.name}`);
  if (status?.phase !== "Failed") throw new Error(`It is ${status?.phase}, not Failed`);
  tell.detail(`${status.phase}: ${status.message}`);
}

export async function explainConcurrency(
  scene: Scene,
  cluster: ControlPlane,
  agent: DemoAgent,
): Promise<void> {
  const explained = await command(scene, cluster, { args: explainArgs(agent), code: 0 });
  if (!/\b5\b/.test(explained)) throw new Error("The rule of fast nodes does not count");
}

interface Call {
  readonly args: readonly string[];
  /** The exit code that it must have. */
  readonly code: number;
}

/** Tells a command and what it prints. */
async function command(
  { folder, tell }: Scene,
  cluster: ControlPlane,
  { args, code }: Call,
): Promise<string> {
  tell.detail(`$ longshore ${args.join(" ")}`);
  const env = { HOME: folder, KUBECONFIG: cluster.kubeconfig };
  const ended = await runProcess(binary, args, { env });
  tell.detail(ended.stdout);
  if (ended.code === code) return ended.stdout;
  throw new Error(`It ended with exit code ${ended.code}, not ${code}: ${ended.stderr}`);
}
