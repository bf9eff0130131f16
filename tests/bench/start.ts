import { customResourceDefinitions } from "../../lib/api/custom_resource_definition.ts";
import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { sleep } from "../../lib/base/abort.ts";
import { type Agent, agentProgram } from "../support/agent.ts";
import { runProcess } from "../support/process.ts";
import { loadCluster } from "./cluster.ts";
import { type Measure, median } from "./measure.ts";
import { residentMiB } from "./processes.ts";
import { openSite, type Site, type Stage, type Volume } from "./stage.ts";

/** How fast an agent takes on a backup that waits for it, and what it costs when idle. */
export async function measureStart(stage: Stage): Promise<Measure[]> {
  const [manyBackups, manyPods] = stage.small ? [1_000, 500] : [10_000, 5_000];
  return [
    ...await measureIdle(stage),
    ...await measureFirstWork(stage, { name: "few", backups: 10, pods: 10, limit: 0.35 }),
    ...await measureFirstWork(stage, {
      name: "many",
      backups: manyBackups,
      pods: manyPods,
      limit: 1,
    }),
  ];
}

/**
 * Lets the system forget the pages of the binary. Where they were just written, as after a build, it
 * counts more of them as resident than on a node that has read them from its disk: up to 10 MiB.
 */
async function forgetPages(): Promise<void> {
  const [program] = agentProgram();
  await runProcess("sync", [program]);
  await runProcess("dd", [`if=${program}`, "iflag=nocache", "count=0"]);
}

async function measureIdle(stage: Stage): Promise<Measure[]> {
  await forgetPages();
  await using site = await openSite(stage, "idle");
  await using agent = await site.startAgent();
  await sleep(stage.small ? 3_000 : 10_000, stage.signal);
  const since = Date.now();
  const resident = residentMiB(agent.pid);
  const seconds = stage.small ? 5 : 30;
  await sleep(seconds * 1_000, stage.signal);
  const requests = (await stage.audit.since(since)).filter(({ verb }) => verb !== "watch");
  return [
    {
      is: "value",
      name: "idle: resident memory on an empty cluster",
      unit: "MiB",
      value: resident,
      limit: 75,
    },
    {
      is: "value",
      name: `idle: requests in ${seconds} s, watches left out`,
      unit: "",
      value: requests.length,
      limit: 0,
    },
  ];
}

interface Situation {
  readonly name: string;
  /** With the one that waits. */
  readonly backups: number;
  readonly pods: number;
  /** Seconds. */
  readonly limit: number;
}

async function measureFirstWork(stage: Stage, situation: Situation): Promise<Measure[]> {
  const among = `${situation.backups} backups, ${situation.pods} pods`;
  const ours = await firstWorkAmong(stage, situation);
  await setNodeSelectable(stage, false);
  const stock = await firstWorkAmong(stage, { ...situation, name: `${situation.name}-stock` });
  await setNodeSelectable(stage, true);
  const time = { unit: "s", limit: situation.limit } as const;
  const memory = { is: "value", unit: "MiB", limit: 110 } as const;
  return [
    { is: "value", ...time, name: `start: to InProgress, ${among}`, value: ours.median },
    { is: "fact", unit: "s", name: "start: the slowest of these", value: ours.slowest },
    { ...memory, name: `start: resident memory then, ${among}`, value: ours.residentMiB },
    { is: "fact", unit: "s", name: "start: the same with a stock CRD", value: stock.median },
    { is: "fact", unit: "s", name: "start: the slowest of these", value: stock.slowest },
    { ...memory, name: "start: resident memory then, stock CRD", value: stock.residentMiB },
  ];
}

async function firstWorkAmong(
  stage: Stage,
  { name, backups, pods }: Situation,
): Promise<FirstWork> {
  await using site = await openSite(stage, `start-${name}`);
  await site.addRepository(`app-${name}`);
  const rounds = stage.small ? 3 : 7;
  await loadCluster(stage, { site, backups: backups - rounds, pods: pods - 1 });
  const volume = await site.addVolume(`app-${name}`, "waiting");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  return await firstWork(stage, { site, volume, rounds });
}

interface FirstWork {
  readonly median: number;
  readonly slowest: number;
  readonly residentMiB: number;
}

/** Starts the agent with one backup waiting, the last in the order of the list. */
async function firstWork(
  stage: Stage,
  { site, volume, rounds }: {
    readonly site: Site;
    readonly volume: Volume;
    readonly rounds: number;
  },
): Promise<FirstWork> {
  const seconds: number[] = [];
  let resident = NaN;
  for (let round = 0; round < rounds; round++) {
    const waiting = `waiting-${round}`;
    await site.backUp(waiting, volume);
    const started = performance.now();
    await using agent: Agent = await site.startAgent();
    seconds.push((await site.phases.seen(waiting, "InProgress") - started) / 1_000);
    await site.phases.seen(waiting, "Completed");
    if (round === rounds - 1) resident = await settledMiB(stage, agent);
    await agent.stop();
  }
  return { median: median(seconds), slowest: Math.max(...seconds), residentMiB: resident };
}

/** Stock CRDs do not let the API server select by node; ours do. */
async function setNodeSelectable({ client, signal }: Stage, selectable: boolean): Promise<void> {
  const name = `${podVolumeBackups.plural}.${podVolumeBackups.group}`;
  const definition = await client.get(customResourceDefinitions, { name }, signal);
  const selectableFields = selectable ? [{ jsonPath: ".spec.node" }] : undefined;
  const versions = definition.spec.versions
    .map(({ selectableFields: _, ...version }) => ({
      ...version,
      ...(selectableFields && { selectableFields }),
    }));
  await client.patch(customResourceDefinitions, { name, body: { spec: { versions } } }, signal);
  await sleep(5_000, signal); // the API server makes a new cache for the kind
}

async function settledMiB(stage: Stage, agent: Agent): Promise<number> {
  await sleep(stage.small ? 2_000 : 10_000, stage.signal);
  return residentMiB(agent.pid);
}
