import type { Agent } from "../support/agent.ts";
import { type BareKopia, bareKopia, type KopiaCall, seenMoving } from "./bare_kopia.ts";
import { randomFile } from "../support/kopia.ts";
import type { Site, Stage } from "./stage.ts";

/**
 * One backup that connects the agent to the repository of a namespace, and a bare kopia that is
 * connected in the same way. The volume is big enough for the agent's kopia to be seen.
 */
export async function warmUp(
  stage: Stage,
  { site, agent, namespace }: {
    readonly site: Site;
    readonly agent: Agent;
    readonly namespace: string;
  },
): Promise<BareKopia> {
  const name = warmUpName(namespace);
  const volume = await site.addVolume(namespace, "warm-up");
  await randomFile(`${volume.path}/file`, 32);
  const [seen]: [KopiaCall, number] = await Promise.all([
    seenMoving(agent.pid, stage.kopia),
    site.backUp(name, volume),
  ]);
  await site.phases.seen(name, "Completed");
  return await bareKopia(seen, `${stage.folder}/bare-${namespace}`);
}

/** Of the backup that `warmUp` makes in a namespace. */
export function warmUpName(namespace: string): string {
  return `warm-up-${namespace}`;
}
