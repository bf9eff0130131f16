import { sleep } from "../../lib/base/abort.ts";
import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { runProcess } from "../support/process.ts";
import { alternate } from "./alternate.ts";
import type { BareKopia, BareRun } from "./bare_kopia.ts";
import { type Measure, median, ratioOf } from "./measure.ts";
import { childrensCpuSeconds, cpuSeconds, residentMiB, watchMemory } from "./processes.ts";
import { openSite, type Site, type Stage } from "./stage.ts";
import { warmUp } from "./warm_up.ts";

const runLimitMs = 30 * 60_000;

interface Load {
  readonly name: string;
  readonly title: string;
  readonly fill: (folder: string) => Promise<void>;
}

interface Run extends BareRun {
  /** Of the agent itself; its kopia left out. */
  readonly ownCpuSeconds: number;
  /** How much the agent's own memory grew; 0 for bare kopia. */
  readonly grownMiB: number;
}

/** A volume of many files and one of a big file: time, CPU and memory beside bare kopia. */
export async function measureBig(stage: Stage): Promise<Measure[]> {
  const { files, megabytes } = stage.small
    ? { files: 5_000, megabytes: 256 }
    : { files: 100_000, megabytes: 4_096 };
  const loads: Load[] = [
    { name: "files", title: `${files} files of 4 KiB`, fill: (folder) => fillMany(folder, files) },
    {
      name: "file",
      title: `one file of ${megabytes} MiB`,
      fill: (folder) => randomFile(`${folder}/file`, megabytes),
    },
  ];
  const measures: Measure[] = [];
  for (const load of loads) measures.push(...await measureLoad(stage, load));
  return measures;
}

async function measureLoad(stage: Stage, { name, title, fill }: Load): Promise<Measure[]> {
  await using site = await openSite(stage, `big-${name}`);
  const data = `${stage.folder}/data-${name}`;
  await Deno.mkdir(data);
  await fill(data);
  await runProcess("sync", []);
  const pairs = await alternate<Run>(stage.small ? 2 : 4, { // even: each side goes first as often
    ours: (round) => oursOf(stage, { site, data, namespace: `ours-${name}-${round}` }),
    peers: (round) => peersOf(stage, { site, data, namespace: `peers-${name}-${round}` }),
  });
  await Deno.remove(data, { recursive: true });
  const pick = (what: "seconds" | "cpuSeconds") =>
    pairs.map(({ ours, peers }) => ({ ours: ours[what], peers: peers[what] }));
  return [
    ratioOf(pick("seconds"), { name: `big: ${title}, time`, unit: "s", limit: 1.05 }),
    ratioOf(pick("cpuSeconds"), { name: `big: ${title}, CPU`, unit: "s", limit: 1.05 }),
    {
      is: "fact",
      name: `big: ${title}, CPU of the agent itself`,
      unit: "s",
      value: median(pairs.map(({ ours }) => ours.ownCpuSeconds)),
    },
    {
      is: "value",
      name: `big: ${title}, growth of the agent's memory`,
      unit: "MiB",
      value: Math.max(...pairs.map(({ ours }) => ours.grownMiB)),
      limit: 15,
    },
  ];
}

interface Place {
  readonly site: Site;
  readonly data: string;
  /** For a repository of its own. */
  readonly namespace: string;
}

async function oursOf(stage: Stage, { site, data, namespace }: Place): Promise<Run> {
  await using prepared = await prepare(stage, { site, namespace });
  const { agent } = prepared;
  const name = `big-${namespace}`;
  const volume = await site.addVolume(namespace, "big");
  await Deno.remove(volume.path);
  await Deno.rename(data, volume.path);
  await runProcess("sync", []);
  using memory = watchMemory(agent.pid);
  const memoryBefore = residentMiB(agent.pid);
  const cpuBefore = cpuSeconds(agent.pid);
  const kopiasBefore = childrensCpuSeconds(agent.pid);
  const sent = await site.backUp(name, volume);
  const seconds = (await site.phases.seen(name, "Completed", runLimitMs) - sent) / 1_000;
  const cpu = cpuSeconds(agent.pid) - cpuBefore;
  const ownCpuSeconds = cpu - (childrensCpuSeconds(agent.pid) - kopiasBefore);
  await sleep(500, stage.signal); // what it allocates for the end counts as well
  const grownMiB = memory.highestMiB - memoryBefore;
  await Deno.rename(volume.path, data);
  return { seconds, cpuSeconds: cpu, ownCpuSeconds, grownMiB };
}

async function peersOf(stage: Stage, { site, data, namespace }: Place): Promise<Run> {
  await using prepared = await prepare(stage, { site, namespace });
  await prepared.agent.stop();
  await runProcess("sync", []);
  const run = await prepared.bare.snapshot(data, `bare/${namespace}`);
  return { ...run, ownCpuSeconds: 0, grownMiB: 0 };
}

/** A new repository, an agent that is connected to it, and a bare kopia that is. */
async function prepare(
  stage: Stage,
  { site, namespace }: Omit<Place, "data">,
): Promise<AsyncDisposable & { readonly agent: Agent; readonly bare: BareKopia }> {
  const repository = await site.addRepository(namespace);
  const agent = await site.startAgent();
  const bare = await warmUp(stage, { site, agent, namespace });
  return {
    agent,
    bare,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await Deno.remove(repository, { recursive: true });
    },
  };
}

const filesInAFolder = 1_000;

async function fillMany(folder: string, count: number) {
  const block = new Uint8Array(4_096);
  for (let at = 0; at < count; at++) {
    const inside = `${folder}/${Math.floor(at / filesInAFolder)}`;
    if (at % filesInAFolder === 0) await Deno.mkdir(inside);
    crypto.getRandomValues(block);
    Deno.writeFileSync(`${inside}/${at}`, block);
  }
}
