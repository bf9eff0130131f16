import { configMaps } from "../../lib/api/core.ts";
import { sleep } from "../../lib/base/abort.ts";
import { type Agent, assertIdle } from "../support/agent.ts";
import type { Measure } from "./measure.ts";
import { residentMiB } from "./processes.ts";
import { disturb, type Disturbances } from "./soak_disturb.ts";
import { type Mover, openMovers } from "./soak_movers.ts";
import type { Ended } from "./phases.ts";
import { openSite, type Site, type Stage } from "./stage.ts";

/** Objects that are made and have not ended; more than the slots, so that some always wait. */
const together = 16;
const concurrency = 4;

/**
 * Much work of small movements, backups and restores, while the API server is killed and started
 * again and kopias are killed: everything ends, and nothing is lost or grows.
 */
export async function measureSoak(stage: Stage): Promise<Measure[]> {
  const [count, first] = stage.small ? [100, 40] : [2_000, 100];
  await using site = await openSite(stage, "soak");
  await using agent = await startAgent(stage, site);
  const movers = await openMovers(stage, { site, places: together });
  const ends: Ended[] = await moveAll(movers, { from: 0, to: first });
  const early = await settledMiB(stage, agent);
  await using disturbances = disturb(stage, { agent, every: stage.small ? 20 : 250 });
  ends.push(...await moveAll(movers, { from: first, to: count, began: disturbances.began }));
  await disturbances.end();
  const late = await settledMiB(stage, agent);
  const kept = await keptBy(agent);
  const oneMoreMs = await oneMore(site, movers[0]);
  const number = { is: "value", unit: "", limit: 0 } as const;
  return [
    { ...number, name: `soak: of ${count} movements not ended`, value: count - ends.length },
    { ...number, name: "soak: failed without a killed kopia", value: oddFailures(ends) },
    { ...number, name: "soak: slots used and objects waiting at the end", value: kept.slots },
    { ...number, name: "soak: enqueued minus dequeued", value: kept.enqueued },
    {
      is: "value",
      name: `soak: growth of resident memory since the first ${first}`,
      unit: "MiB",
      value: late - early,
      limit: 15,
    },
    {
      is: "value",
      name: "soak: one more, to InProgress",
      unit: "ms",
      value: oneMoreMs,
      limit: 100,
    },
    ...facts(disturbances, ends),
  ];
}

async function startAgent({ client, signal }: Stage, { namespace, startAgent }: Site) {
  const name = "soak-config";
  const data = { config: JSON.stringify({ loadConcurrency: { globalConfig: concurrency } }) };
  await client.create(configMaps, { metadata: { name, namespace }, data }, signal);
  return await startAgent({ flags: ["--node-agent-configmap", name] });
}

interface Part {
  readonly from: number;
  readonly to: number;
  /** Told of each object that is made. */
  readonly began?: (at: number) => void;
}

/** Each mover has one object at a time; they take the numbers in turn. */
async function moveAll(movers: readonly Mover[], { from, to, began }: Part): Promise<Ended[]> {
  const ends: Ended[] = [];
  let next = from;
  await Promise.all(movers.map(async (mover) => {
    while (next < to) {
      const at = next++;
      began?.(at);
      ends.push(await mover.move(at));
    }
  }));
  return ends;
}

function oddFailures(ends: readonly Ended[]): number {
  const odd = ends.filter(({ phase, message }) =>
    phase !== "Completed" && !message.includes("KopiaKilled")
  );
  for (const { phase, message } of odd) console.error(`bench: soak: ${phase}: ${message}`);
  return odd.length;
}

async function keptBy(
  agent: Agent,
): Promise<{ readonly slots: number; readonly enqueued: number }> {
  await assertIdle(agent).catch(() => {}); // what it still has is counted
  const scrape = await agent.metrics();
  const sum = (pattern: RegExp) =>
    [...scrape.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
  return {
    slots: sum(/^longshore_slots\{.*\} (\S+)$/gm) + sum(/^longshore_queue_length (\S+)$/gm),
    enqueued: sum(/^podVolume_pod_volume_backup_enqueue_count\{.*\} (\S+)$/gm) -
      sum(/^podVolume_pod_volume_backup_dequeue_count\{.*\} (\S+)$/gm),
  };
}

async function oneMore(site: Site, mover: Mover | undefined): Promise<number> {
  if (mover === undefined) throw new Error("nothing moves");
  const sent = await site.backUp("one-more", mover.from);
  const taken = await site.phases.seen("one-more", "InProgress");
  await site.phases.seen("one-more", "Completed");
  return taken - sent;
}

/** The runtime gives back what it does not need only after a while at rest. */
async function settledMiB(stage: Stage, agent: Agent): Promise<number> {
  await sleep(stage.small ? 3_000 : 60_000, stage.signal);
  return residentMiB(agent.pid);
}

function facts({ apiServers, kopias }: Disturbances, ends: readonly Ended[]): Measure[] {
  const failed = ends.filter(({ phase }) => phase !== "Completed").length;
  const fact = (name: string, value: number) =>
    ({ is: "fact", name: `soak: ${name}`, unit: "", value }) as const;
  return [
    fact("API servers killed", apiServers),
    fact("kopias killed", kopias),
    fact("movements Failed", failed),
  ];
}
