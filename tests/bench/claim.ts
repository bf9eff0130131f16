import { type Measure, median } from "./measure.ts";
import { openSite, type Stage } from "./stage.ts";
import { warmUp } from "./warm_up.ts";

/** From sending the create to seeing InProgress, with a free slot. */
export async function measureClaim(stage: Stage): Promise<Measure[]> {
  await using site = await openSite(stage, "claim");
  const namespace = "app-claim";
  await site.addRepository(namespace);
  await using agent = await site.startAgent();
  await warmUp(stage, { site, agent, namespace });
  const volume = await site.addVolume(namespace, "claimed");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  const waits: number[] = [];
  for (let at = 0; at < (stage.small ? 5 : 25); at++) {
    const name = `claimed-${at}`;
    const sent = await site.backUp(name, volume);
    waits.push(await site.phases.seen(name, "InProgress") - sent);
    await site.phases.seen(name, "Completed");
  }
  return [
    {
      is: "value",
      name: "claim: create to InProgress, median",
      unit: "ms",
      value: median(waits),
      limit: 20,
    },
    { is: "fact", name: "claim: the slowest", unit: "ms", value: Math.max(...waits) },
  ];
}
