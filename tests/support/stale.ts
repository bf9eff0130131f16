/** What tests of `longshore mark-stale` need beside a stage: nodes, agents, owners, and its report. */
import assert from "node:assert/strict";
import type { PodVolumeRestore } from "../../lib/api/pod_volume_restore.ts";
import type { StaleReport, StaleRow } from "../../cmd/mark_stale_report.ts";
import { agentProgram } from "./agent.ts";
import * as objects from "./objects.ts";
import { type ProcessResult, runProcess } from "./process.ts";
import { type Restores, restoresOn } from "./restores.ts";
import { grant } from "./rights.ts";
import { type Stage, startStage, velero } from "./stage.ts";
import { stepsOf } from "./steps.ts";

export interface StaleGround {
  readonly stage: Stage;
  readonly restores: Restores;
}

export type StaleSteps = Readonly<Record<string, (ground: StaleGround) => Promise<void>>>;

/** An agent of node n2 was started at `agentStart`; n1 and `silent` have none. */
export const agentStart = "2026-01-01T00:00:00Z";
export const before = "2025-12-31T00:00:00Z";
export const after = "2026-01-02T00:00:00Z";

/** Runs the steps in order, on one cluster. */
export async function runStaleSteps(t: Deno.TestContext, steps: StaleSteps): Promise<void> {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  const step = stepsOf(t);
  for (const name of ["n1", "n2", "silent"]) await addNode(stage, name);
  await addAgent(stage, { node: "n2", startedAt: agentStart });
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, restores }));
  }
}

/** No pod of this name is ever looked at: a backup is judged by its node. */
export const pod = { namespace: "app", name: "web", uid: objects.podUid, volume: "" };

export function backupOn(
  stage: Stage,
  node: string,
  status?: NonNullable<PodVolumeRestore["status"]>,
): Promise<string> {
  return stage.backup(pod, { spec: { node }, ownerReferences: [], ...(status && { status }) });
}

export async function addNode({ controlPlane: { call } }: Stage, name: string) {
  await call("POST", "/api/v1/nodes", { metadata: { name } });
}

export async function patchNode(
  { controlPlane: { call } }: Stage,
  name: string,
  conditions: readonly unknown[],
) {
  await call("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions } });
}

export async function addAgent(
  stage: Stage,
  { node, startedAt }: { readonly node: string; readonly startedAt: string },
) {
  await stage.pod({
    ...{ namespace: "velero", name: `node-agent-${node}`, labels: { name: "node-agent" } },
    spec: { nodeName: node },
    status: {
      phase: "Running",
      containerStatuses: [{
        ...objects.containerRunning("web"),
        state: { running: { startedAt } },
      }],
    },
  });
}

export async function addOwner({ controlPlane: { call } }: Stage, name: string, phase: string) {
  const made = await call<{ metadata: { uid: string } }>("POST", `${velero}/backups`, {
    apiVersion: "velero.io/v1",
    kind: "Backup",
    metadata: { name, namespace: "velero" },
    spec: {},
    status: { phase },
  });
  const { uid } = made.metadata;
  return { apiVersion: "velero.io/v1", kind: "Backup", name, uid, controller: true };
}

export async function run(stage: Stage, ...flags: string[]): Promise<ProcessResult> {
  const [program, ...args] = agentProgram();
  const kubeconfig = await kubeconfigOf(stage);
  return await runProcess(program, [...args, "mark-stale", "--kubeconfig", kubeconfig, ...flags], {
    env: { NODE_NAME: "" },
  });
}

const kubeconfigs = new WeakMap<Stage, Promise<string>>();

/** With the rights of manifests/mark-stale-rbac.yaml and no other. */
function kubeconfigOf(stage: Stage): Promise<string> {
  const made = kubeconfigs.get(stage) ?? grant(stage.controlPlane, "mark-stale-rbac.yaml");
  kubeconfigs.set(stage, made);
  return made;
}

export async function report(stage: Stage, code: number, ...flags: string[]): Promise<StaleReport> {
  const result = await run(stage, ...flags, "-o", "json");
  assert.equal(result.code, code, `${result.stdout}\n${result.stderr}`);
  return JSON.parse(result.stdout);
}

export function decisions({ objects }: StaleReport): Readonly<Record<string, string>> {
  return Object.fromEntries(
    objects.map(({ name, decision, reason }) => [name, `${decision} ${reason}`]),
  );
}

export function rowOf({ objects }: StaleReport, name: string): StaleRow {
  const row = objects.find((object) => object.name === name);
  assert(row !== undefined);
  return row;
}
