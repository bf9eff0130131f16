/** The restore of what the measurement of backups has written. */
import type { Agent } from "../support/agent.ts";
import { runProcess } from "../support/process.ts";
import { alternate } from "./alternate.ts";
import { bareRestore, seenMoving } from "./bare_kopia.ts";
import { measuresOf, type Run, runLimitMs, runOfAgent, runOfBare } from "./big_runs.ts";
import type { Measure } from "./measure.ts";
import type { Site, Stage } from "./stage.ts";
import { warmUpName } from "./warm_up.ts";

export interface BigRestore {
  readonly site: Site;
  /** Of the volumes in the repository. */
  readonly namespace: string;
  readonly snapshotID: string;
  readonly title: string;
}

/** Through a PodVolumeRestore into an empty volume, and by bare kopia with the same flags. */
export async function measureRestore(stage: Stage, what: BigRestore): Promise<Measure[]> {
  const { namespace, snapshotID } = what;
  await using agent = await what.site.startAgent();
  const bare = await warmUpRestore(stage, agent, what);
  const pairs = await alternate<Run>(stage.small ? 2 : 4, {
    ours: (round) => oursOf(stage, agent, { ...what, name: `again-${namespace}-${round}` }),
    async peers(round) {
      const target = `${stage.folder}/bare-restored-${namespace}-${round}`;
      await Deno.mkdir(target);
      await runProcess("sync", []);
      const run = await bare(snapshotID, target);
      await Deno.remove(target, { recursive: true });
      return runOfBare(run);
    },
  });
  return measuresOf(pairs, `big: restore of ${what.title}`);
}

async function oursOf(
  stage: Stage,
  agent: Agent,
  { site, namespace, snapshotID, name }: BigRestore & { readonly name: string },
): Promise<Run> {
  const volume = await site.addWaiting(namespace, name);
  await runProcess("sync", []);
  const run = await runOfAgent(stage, agent, async () => {
    const sent = await site.restore(name, volume, snapshotID);
    return (await site.restorePhases.seen(name, "Completed", runLimitMs) - sent) / 1_000;
  });
  await Deno.remove(volume.path, { recursive: true });
  return run;
}

/** Restores the small snapshot of the first warm-up, and repeats how kopia was called for it. */
async function warmUpRestore(
  { kopia, folder }: Stage,
  agent: Agent,
  { site, namespace }: BigRestore,
) {
  const { snapshotID } = await site.phases.ended(warmUpName(namespace));
  const name = `again-${namespace}`;
  const volume = await site.addWaiting(namespace, name);
  const [seen] = await Promise.all([
    seenMoving(agent.pid, kopia),
    site.restore(name, volume, snapshotID),
  ]);
  await site.restorePhases.seen(name, "Completed");
  return await bareRestore(seen, `${folder}/bare-restore-${namespace}`);
}
