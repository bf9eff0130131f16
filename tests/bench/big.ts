import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { runProcess } from "../support/process.ts";
import { alternate } from "./alternate.ts";
import type { BareKopia } from "./bare_kopia.ts";
import { measureRestore } from "./big_restore.ts";
import { measuresOf, type Run, runLimitMs, runOfAgent, runOfBare } from "./big_runs.ts";
import type { Measure } from "./measure.ts";
import { openSite, type Site, type Stage } from "./stage.ts";
import { warmUp } from "./warm_up.ts";

interface Load {
  readonly name: string;
  readonly title: string;
  readonly fill: (folder: string) => Promise<void>;
}

/** A volume of many files and one of a big file, there and back: time, CPU, memory; bare kopia. */
export async function measureBig(stage: Stage): Promise<Measure[]> {
  const { files, megabytes } = stage.small
    ? { files: 5_000, megabytes: 256 }
    : { files: 100_000, megabytes: 4_096 };
  const loads: Load[] = [
    { name: "files", title: `${files} files of 4 KiB`, fill: (folder) => fillMany(folder, files) },
    {
      name: "file",
      title: `one file of ${megabytes} MiB`,
      fill: (folder) => randomFile(`${folder}/file`, megabytes),
    },
  ];
  const measures: Measure[] = [];
  for (const load of loads) measures.push(...await measureLoad(stage, load));
  return measures;
}

async function measureLoad(stage: Stage, { name, title, fill }: Load): Promise<Measure[]> {
  await using site = await openSite(stage, `big-${name}`);
  const data = `${stage.folder}/data-${name}`;
  await Deno.mkdir(data);
  await fill(data);
  await runProcess("sync", []);
  const rounds = stage.small ? 2 : 4; // even: each side goes first as often
  const oursIn = (round: number) => `ours-${name}-${round}`;
  const last = rounds - 1;
  const pairs = await alternate<Run>(rounds, {
    ours: (round) =>
      oursOf(stage, {
        ...{ site, data, namespace: oursIn(round) },
        after: round === last ? "keep" : "remove",
      }),
    peers: (round) =>
      peersOf(stage, { site, data, namespace: `peers-${name}-${round}`, after: "remove" }),
  });
  await Deno.remove(data, { recursive: true });
  const namespace = oursIn(last);
  const { snapshotID } = await site.phases.ended(bigName(namespace));
  const restores = await measureRestore(stage, { site, namespace, snapshotID, title });
  await Deno.remove(site.repositoryPath(namespace), { recursive: true });
  return [...measuresOf(pairs, `big: ${title}`), ...restores];
}

interface Place {
  readonly site: Site;
  readonly data: string;
  /** For a repository of its own. */
  readonly namespace: string;
  /** What becomes of the repository. */
  readonly after: "keep" | "remove";
}

function bigName(namespace: string): string {
  return `big-${namespace}`;
}

async function oursOf(stage: Stage, { data, ...place }: Place): Promise<Run> {
  await using prepared = await prepare(stage, place);
  const { site, namespace } = place;
  const name = bigName(namespace);
  const volume = await site.addVolume(namespace, "big");
  await Deno.remove(volume.path);
  await Deno.rename(data, volume.path);
  await runProcess("sync", []);
  const run = await runOfAgent(stage, prepared.agent, async () => {
    const sent = await site.backUp(name, volume);
    return (await site.phases.seen(name, "Completed", runLimitMs) - sent) / 1_000;
  });
  await Deno.rename(volume.path, data);
  return run;
}

async function peersOf(stage: Stage, { data, ...place }: Place): Promise<Run> {
  await using prepared = await prepare(stage, place);
  await prepared.agent.stop();
  await runProcess("sync", []);
  return runOfBare(await prepared.bare.snapshot(data, `bare/${place.namespace}`));
}

/** A new repository, an agent that is connected to it, and a bare kopia that is. */
async function prepare(
  stage: Stage,
  { site, namespace, after }: Omit<Place, "data">,
): Promise<AsyncDisposable & { readonly agent: Agent; readonly bare: BareKopia }> {
  const repository = await site.addRepository(namespace);
  const agent = await site.startAgent();
  const bare = await warmUp(stage, { site, agent, namespace });
  return {
    agent,
    bare,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      if (after === "remove") await Deno.remove(repository, { recursive: true });
    },
  };
}

const filesInAFolder = 1_000;

async function fillMany(folder: string, count: number) {
  const block = new Uint8Array(4_096);
  for (let at = 0; at < count; at++) {
    const inside = `${folder}/${Math.floor(at / filesInAFolder)}`;
    if (at % filesInAFolder === 0) await Deno.mkdir(inside);
    crypto.getRandomValues(block);
    Deno.writeFileSync(`${inside}/${at}`, block);
  }
}
