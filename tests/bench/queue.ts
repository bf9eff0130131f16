import { alternate } from "./alternate.ts";
import { type Measure, ratioOf } from "./measure.ts";
import { openSite, type Site, type Stage, type Volume } from "./stage.ts";
import { warmUp } from "./warm_up.ts";

const together = 10;
const namespace = "app-queue";

/** Ten tiny backups created at once, against ten runs of kopia one after the other. */
export async function measureQueue(stage: Stage): Promise<Measure[]> {
  await using site = await openSite(stage, "queue");
  await site.addRepository(namespace);
  await using agent = await site.startAgent();
  const bare = await warmUp(stage, { site, agent, namespace });
  const pairs = await alternate(stage.small ? 2 : 5, {
    async ours(round) {
      const volumes = await tinyVolumes(site, `ours-${round}`);
      const sent = performance.now();
      await Promise.all(volumes.map((volume) => site.backUp(volume.pod.metadata.name, volume)));
      const ends = volumes.map(({ pod }) => site.phases.seen(pod.metadata.name, "Completed"));
      return (Math.max(...await Promise.all(ends)) - sent) / 1_000;
    },
    async peers(round) {
      const volumes = await tinyVolumes(site, `peers-${round}`);
      const started = performance.now();
      for (const { path, pod } of volumes) await bare.snapshot(path, `bare/${pod.metadata.name}`);
      return (performance.now() - started) / 1_000;
    },
  });
  const name = `queue: ${together} tiny backups at once / ${together} x bare kopia`;
  return [ratioOf(pairs, { name, unit: "s", limit: 1.4 })];
}

/** Ten pods, each with a volume of one small file that nothing else has. */
async function tinyVolumes(site: Site, round: string): Promise<Volume[]> {
  const names = Array.from({ length: together }, (_, at) => `${round}-${at}`);
  return await Promise.all(names.map(async (name) => {
    const volume = await site.addVolume(namespace, name);
    await Deno.writeTextFile(`${volume.path}/file`, `the file of ${name}\n`);
    return volume;
  }));
}
