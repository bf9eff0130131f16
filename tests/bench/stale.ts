import { podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { inParallel } from "../../lib/movement/in_parallel.ts";
import { podVolumeBackup } from "../support/objects.ts";
import { type Measure, median } from "./measure.ts";
import { openSite, type Site, type Stage } from "./stage.ts";

/** How fast a start ends what a former agent left, and that new work does not wait for it. */
export async function measureStale(stage: Stage): Promise<Measure[]> {
  const count = stage.small ? 100 : 1_000;
  const rounds = stage.small ? 2 : 5;
  const ended: number[] = [];
  const taken: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await using site = await openSite(stage, `stale-${round}`); // what former rounds ended is not seen
    const namespace = `app-stale-${round}`;
    await site.addRepository(namespace);
    const volume = await site.addVolume(namespace, "waiting");
    await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
    const names = await leave(stage, site, count);
    const waiting = "waiting";
    await site.backUp(waiting, volume);
    const started = performance.now();
    await using agent = await site.startAgent();
    taken.push((await site.phases.seen(waiting, "InProgress") - started) / 1_000);
    const moments = await Promise.all(names.map((name) => site.phases.seen(name, "Failed")));
    ended.push((Math.max(...moments) - started) / 1_000);
    await site.phases.seen(waiting, "Completed");
    await agent.stop();
  }
  return [
    {
      is: "value",
      name: `stale: ${count} left objects are Failed, from the start of the process`,
      unit: "s",
      value: median(ended),
      limit: 3,
    },
    { is: "fact", name: `stale: the slowest of ${rounds}`, unit: "s", value: Math.max(...ended) },
    {
      is: "value",
      name: "stale: to InProgress of a new one meanwhile",
      unit: "s",
      value: median(taken),
      limit: 0.5,
    },
    { is: "fact", name: `stale: its slowest of ${rounds}`, unit: "s", value: Math.max(...taken) },
  ];
}

/** Objects as an agent leaves them that was killed; their names. */
async function leave(
  { client, signal }: Stage,
  { namespace, node }: Site,
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
