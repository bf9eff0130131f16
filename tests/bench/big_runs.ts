/** What a backup or a restore of much data is measured by. */
import { sleep } from "../../lib/base/abort.ts";
import type { Agent } from "../support/agent.ts";
import type { BareRun } from "./bare_kopia.ts";
import { type Measure, median, ratioOf } from "./measure.ts";
import { childrensCpuSeconds, cpuSeconds, residentMiB, watchMemory } from "./processes.ts";
import type { Stage } from "./stage.ts";

export const runLimitMs = 30 * 60_000;

export interface Run extends BareRun {
  /** Of the agent itself; its kopia left out. */
  readonly ownCpuSeconds: number;
  /** How much the agent's own memory grew; 0 for bare kopia. */
  readonly grownMiB: number;
}

export function runOfBare(run: BareRun): Run {
  return { ...run, ownCpuSeconds: 0, grownMiB: 0 };
}

/** Measures the agent during `work`, which answers how many seconds counted. */
export async function runOfAgent(
  { signal }: Stage,
  { pid }: Agent,
  work: () => Promise<number>,
): Promise<Run> {
  using memory = watchMemory(pid);
  const memoryBefore = residentMiB(pid);
  const cpuBefore = cpuSeconds(pid);
  const kopiasBefore = childrensCpuSeconds(pid);
  const seconds = await work();
  const cpu = cpuSeconds(pid) - cpuBefore;
  const ownCpuSeconds = cpu - (childrensCpuSeconds(pid) - kopiasBefore);
  await sleep(500, signal); // what it allocates for the end counts as well
  return { seconds, cpuSeconds: cpu, ownCpuSeconds, grownMiB: memory.highestMiB - memoryBefore };
}

export interface RunPair {
  readonly ours: Run;
  readonly peers: Run;
}

export function measuresOf(pairs: readonly RunPair[], title: string): Measure[] {
  const pick = (what: "seconds" | "cpuSeconds") =>
    pairs.map(({ ours, peers }) => ({ ours: ours[what], peers: peers[what] }));
  return [
    ratioOf(pick("seconds"), { name: `${title}, time`, unit: "s", limit: 1.05 }),
    ratioOf(pick("cpuSeconds"), { name: `${title}, CPU`, unit: "s", limit: 1.05 }),
    {
      is: "fact",
      name: `${title}, CPU of the agent itself`,
      unit: "s",
      value: median(pairs.map(({ ours }) => ours.ownCpuSeconds)),
    },
    {
      is: "value",
      name: `${title}, growth of the agent's memory`,
      unit: "MiB",
      value: Math.max(...pairs.map(({ ours }) => ours.grownMiB)),
      limit: 15,
    },
  ];
}
