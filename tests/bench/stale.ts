import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { inParallel } from "../../lib/movement/in_parallel.ts";
import { podVolumeBackup } from "../support/objects.ts";
import { type Measure, median } from "./measure.ts";
import { cpuSeconds } from "./processes.ts";
import { openSite, type Site, type Stage } from "./stage.ts";

interface Round {
  /** Seconds from the start of the process until the last left object is Failed. */
  readonly ended: number;
  /** The same to InProgress of a new one. */
  readonly taken: number;
  /** Of the API server and etcd in this time, and of the agent. */
  readonly serversCpu: number;
  readonly agentCpu: number;
  /** For as many patches of the same kind, with no agent and no watch of one. */
  readonly bare: number;
}

/** How fast a start ends what a former agent left, and that new work does not wait for it. */
export async function measureStale(stage: Stage): Promise<Measure[]> {
  const count = stage.small ? 100 : 1_000;
  const rounds: Round[] = [];
  for (let round = 0; round < (stage.small ? 2 : 5); round++) {
    rounds.push(await measureRound(stage, { round, count }));
  }
  const of = (what: keyof Round) => rounds.map((round) => round[what]);
  const value = { is: "value", unit: "s" } as const;
  const fact = (name: string, value: number) =>
    ({ is: "fact", name: `stale: ${name}`, unit: "s", value }) as const;
  const name = `stale: ${count} left objects are Failed, from the start of the process`;
  return [
    { ...value, name, value: median(of("ended")), limit: 3 },
    fact("the slowest of these", Math.max(...of("ended"))),
    fact("as many patches alone, by a client that does nothing else", median(of("bare"))),
    fact("CPU of the API server and etcd meanwhile", median(of("serversCpu"))),
    fact("CPU of the agent meanwhile", median(of("agentCpu"))),
    {
      ...{ ...value, name: "stale: to InProgress of a new one meanwhile" },
      ...{ value: median(of("taken")), limit: 0.5 },
    },
    fact("the slowest of these", Math.max(...of("taken"))),
  ];
}

async function measureRound(
  stage: Stage,
  { round, count }: { readonly round: number; readonly count: number },
): Promise<Round> {
  await using site = await openSite(stage, `stale-${round}`); // what former rounds ended is not seen
  const namespace = `app-stale-${round}`;
  await site.addRepository(namespace);
  const volume = await site.addVolume(namespace, "waiting");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  const names = await leave(stage, site, count);
  const waiting = "waiting";
  await site.backUp(waiting, volume);
  const { pids } = stage.controlPlane;
  const serversCpu = () => cpuSeconds(pids.apiServer) + cpuSeconds(pids.etcd);
  const cpuBefore = serversCpu();
  const started = performance.now();
  await using agent = await site.startAgent();
  const taken = (await site.phases.seen(waiting, "InProgress") - started) / 1_000;
  const moments = await Promise.all(names.map((name) => site.phases.seen(name, "Failed")));
  const ended = (Math.max(...moments) - started) / 1_000;
  const cpu = { serversCpu: serversCpu() - cpuBefore, agentCpu: cpuSeconds(agent.pid) };
  await site.phases.seen(waiting, "Completed");
  await agent.stop();
  return { ended, taken, ...cpu, bare: await bareSeconds(stage, { round, count }) };
}

/** Objects as an agent leaves them that was killed; their names. */
async function leave(
  { client, signal }: Stage,
  { namespace, node }: Pick<Site, "namespace" | "node">,
  count: number,
): Promise<string[]> {
  const names = Array.from({ length: count }, (_, at) => `left-${at}`);
  const status = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:00Z" } as const;
  await inParallel(names, 32, async (name) => {
    const object = podVolumeBackup({ name, namespace, spec: { node }, status });
    await client.create(podVolumeBackups, object, signal);
  });
  return names;
}

/** What the API server needs for the patches alone. */
async function bareSeconds(
  stage: Stage,
  { round, count }: { readonly round: number; readonly count: number },
): Promise<number> {
  const { client, controlPlane, signal } = stage;
  const namespace = `bare-stale-${round}`;
  await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const names = await leave(stage, { namespace, node: "node-of-nobody" }, count);
  const message = "[AgentRestarted] The agent was restarted; its data is not complete";
  const status = { phase: "Failed", message, completionTimestamp: "2026-01-01T00:00:00Z" };
  const started = performance.now();
  await inParallel(names, 16, async (name) => {
    await client.patch(podVolumeBackups, { namespace, name, body: { status } }, signal);
  });
  return (performance.now() - started) / 1_000;
}
