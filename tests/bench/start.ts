import { sleep } from "../../lib/base/abort.ts";
import type { Agent } from "../support/agent.ts";
import { loadCluster } from "./cluster.ts";
import { type Measure, median } from "./measure.ts";
import { residentMiB } from "./processes.ts";
import { openSite, type Stage } from "./stage.ts";

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

async function measureIdle(stage: Stage): Promise<Measure[]> {
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

async function measureFirstWork(
  stage: Stage,
  { name, backups, pods, limit }: Situation,
): Promise<Measure[]> {
  await using site = await openSite(stage, `start-${name}`);
  await site.addRepository(`app-${name}`);
  const rounds = stage.small ? 3 : 7;
  await loadCluster(stage, { site, backups: backups - rounds, pods: pods - 1 });
  const volume = await site.addVolume(`app-${name}`, "waiting");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  const seconds: number[] = [];
  let resident = NaN;
  for (let round = 0; round < rounds; round++) {
    // The list is in the order of names, and the one that waits is its last.
    const waiting = `waiting-${round}`;
    await site.backUp(waiting, volume);
    const started = performance.now();
    await using agent: Agent = await site.startAgent();
    seconds.push((await site.phases.seen(waiting, "InProgress") - started) / 1_000);
    await site.phases.seen(waiting, "Completed");
    if (round === rounds - 1) resident = await settledMiB(stage, agent);
    await agent.stop();
  }
  const among = `${backups} backups, ${pods} pods`;
  return [
    {
      is: "value",
      name: `start: to InProgress, ${among}`,
      unit: "s",
      value: median(seconds),
      limit,
    },
    { is: "fact", name: `start: the slowest of ${rounds}`, unit: "s", value: Math.max(...seconds) },
    {
      is: "value",
      name: `start: resident memory then, ${among}`,
      unit: "MiB",
      value: resident,
      limit: 110,
    },
  ];
}

async function settledMiB(stage: Stage, agent: Agent): Promise<number> {
  await sleep(stage.small ? 2_000 : 10_000, stage.signal);
  return residentMiB(agent.pid);
}
