import type { Agent } from "../support/agent.ts";
import type { Measure } from "./measure.ts";
import { openSite, type Stage } from "./stage.ts";

const namespace = "app-series";
const few = 5;

/** The series of an agent with the default flags, after few backups and after many. */
export async function measureSeries(stage: Stage): Promise<Measure[]> {
  await using site = await openSite(stage, "series");
  await site.addRepository(namespace);
  await using agent = await site.startAgent();
  const volume = await site.addVolume(namespace, "tiny");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  const backUp = async (from: number, to: number) => {
    const names = Array.from({ length: to - from }, (_, at) => `tiny-${from + at}`);
    for (const name of names) await site.backUp(name, volume);
    await Promise.all(names.map((name) => site.phases.seen(name, "Completed", 30 * 60_000)));
  };
  const many = stage.small ? 25 : 500;
  await backUp(0, few);
  const before = await seriesOf(agent);
  await backUp(few, many);
  const name = `series: after ${many} backups, more than after ${few}`;
  const value = (await seriesOf(agent)) - before;
  return [
    { is: "value", name, unit: "", value, limit: 0 },
    { is: "fact", name: `series: after ${few} backups`, unit: "", value: before },
  ];
}

/** How many samples a scrape has. */
async function seriesOf(agent: Agent): Promise<number> {
  const lines = (await agent.metrics()).split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#")).length;
}
