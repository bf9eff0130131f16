import { sleep } from "../../lib/base/abort.ts";
import type { Agent } from "../support/agent.ts";
import { isAlive, moversOf, until } from "../support/children.ts";
import { isWrite } from "./audit.ts";
import type { Measure } from "./measure.ts";
import { openSite, type Site, type Stage } from "./stage.ts";
import { warmUp } from "./warm_up.ts";

const namespace = "app-writes";
const secondsPerProgress = 10;

/** How often an agent writes to the API server, events included. */
export async function measureWrites(stage: Stage): Promise<Measure[]> {
  await using site = await openSite(stage, "writes");
  await site.addRepository(namespace);
  await using agent = await site.startAgent();
  await warmUp(stage, { site, agent, namespace });
  return [await measureTiny(stage, site), await measureLong(stage, { site, agent })];
}

async function measureTiny(stage: Stage, site: Site): Promise<Measure> {
  const volume = await site.addVolume(namespace, "tiny");
  await Deno.writeTextFile(`${volume.path}/file`, "a file\n");
  const count = 10;
  const writes = await writesDuring(stage, async () => {
    for (let at = 0; at < count; at++) {
      await site.backUp(`tiny-${at}`, volume);
      await site.phases.seen(`tiny-${at}`, "Completed");
    }
  });
  const name = "writes: for a tiny backup";
  return { is: "value", name, unit: "", value: writes / count, limit: 3 };
}

async function measureLong(
  stage: Stage,
  { site, agent }: { readonly site: Site; readonly agent: Agent },
): Promise<Measure> {
  const volume = await site.addVolume(namespace, "long");
  await Deno.create(`${volume.path}/holes`).then((file) => file.close());
  await Deno.truncate(`${volume.path}/holes`, (stage.small ? 1 : 4) * 1_024 ** 3);
  const wanted = stage.small ? 12 : 45;
  let seconds = NaN;
  const writes = await writesDuring(stage, async () => {
    const sent = await site.backUp("long", volume);
    await slowDown(stage, { agent, seconds: wanted });
    seconds = (await site.phases.seen("long", "Completed", 300_000) - sent) / 1_000;
  });
  const limit = 3 + Math.floor(seconds / secondsPerProgress);
  const name = `writes: for a backup of ${seconds.toFixed(0)} s`;
  return { is: "value", name, unit: "", value: writes, limit };
}

/** Lets the agent's kopia run for a tenth of the time: long without load. */
async function slowDown(
  { signal }: Stage,
  { agent, seconds }: { readonly agent: Agent; readonly seconds: number },
) {
  const mover = await until("kopia moves data", () => moversOf(agent.pid)[0]);
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end && isAlive(mover.pid)) {
    Deno.kill(mover.pid, "SIGSTOP");
    await sleep(900, signal);
    Deno.kill(mover.pid, "SIGCONT");
    await sleep(100, signal);
  }
}

/** The API server notes a request when it has answered, and the last one may come after the result. */
async function writesDuring({ audit, signal }: Stage, work: () => Promise<void>): Promise<number> {
  const since = Date.now();
  await work();
  await sleep(2_000, signal);
  return (await audit.since(since)).filter(isWrite).length;
}
