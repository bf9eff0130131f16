/** What makes the tiny movements of the soak. */
import { sleep } from "../../lib/base/abort.ts";
import { ApiError } from "../../lib/kube/api_error.ts";
import type { Ended } from "./phases.ts";
import type { Site, Stage, Volume } from "./stage.ts";

/** A pair of pods: one is backed up, into the other is restored. */
export interface Mover {
  readonly from: Volume;
  /** A backup, or a restore of the last one that was completed; answers how it ended. */
  move(at: number): Promise<Ended>;
}

const repositories = 4;
const limitMs = 10 * 60_000;

export async function openMovers(
  stage: Stage,
  { site, places }: { readonly site: Site; readonly places: number },
): Promise<Mover[]> {
  const namespaces = Array.from({ length: repositories }, (_, at) => `app-soak-${at}`);
  for (const namespace of namespaces) await site.addRepository(namespace);
  return await Promise.all(Array.from({ length: places }, async (_, at) => {
    const namespace = namespaces[at % repositories] ?? "";
    const from = await site.addVolume(namespace, `from-${at}`);
    await Deno.writeTextFile(`${from.path}/file`, `the file of ${at}\n`);
    const to = await site.addWaiting(namespace, `to-${at}`);
    return mover(stage, { site, from, to });
  }));
}

interface Places {
  readonly site: Site;
  readonly from: Volume;
  readonly to: Volume;
}

function mover(stage: Stage, { site, from, to }: Places): Mover {
  let snapshot = "";
  let restoreNext = false;
  return {
    from,
    async move(at) {
      if (restoreNext) {
        restoreNext = false;
        const name = `restore-${at}`;
        await made(() => site.restore(name, to, snapshot), stage);
        return await site.restorePhases.ended(name, limitMs);
      }
      const name = `backup-${at}`;
      await made(() => site.backUp(name, from), stage);
      const end = await site.phases.ended(name, limitMs);
      if (end.phase === "Completed") snapshot = end.snapshotID;
      restoreNext = snapshot !== "";
      return end;
    },
  };
}

/** The API server is away now and then, also between doing it and saying so. */
async function made(create: () => Promise<unknown>, { signal }: Stage): Promise<void> {
  for (;;) {
    try {
      return void await create();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.reason === "AlreadyExists") return;
      if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    }
    await sleep(250, signal);
  }
}
