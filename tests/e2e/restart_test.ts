import assert from "node:assert/strict";
import { sleep } from "../../lib/base/abort.ts";
import { kopiasUnder, randomFile } from "../support/kopia.ts";
import { isAlive, until } from "../support/children.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import { seededRandom } from "../support/random.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { type TempFolder, tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "an agent that is killed", fn: killed });

async function killed(t: Deno.TestContext) {
  await using stage = await startStage();
  using home = tempFolder("home");
  const step = stepsOf(t);
  const large = await stage.pod();
  await randomFile(`${large.volume}/random`, 80);

  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, home, large }));
  }
}

interface Ground {
  readonly stage: Stage;
  readonly home: TempFolder;
  /** Its volume takes kopia a moment. */
  readonly large: StagePod;
}

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "takes kopia with it; the next one fails its backup and does the others"(
    { stage, home, large },
  ) {
    const agent = await stage.agent({ home: home.path });
    const running = await stage.backup(large);
    const frozen = await agent.freeze();
    const waiting = await stage.backup(large);
    agent.kill("SIGKILL");
    const killedAtMs = performance.now();
    await until("kopia is gone", () => !isAlive(frozen.pid), 1_000);
    assert(performance.now() - killedAtMs < 1_000);
    await agent.ended();
    assert.equal(kept(home.path).length, 1);
    await using next = await stage.agent({ home: home.path });
    assert.equal(reasonOf(await stage.ended(running)), "AgentRestarted");
    assert.equal((await stage.ended(waiting)).status?.phase, "Completed");
    assert.deepEqual(kept(home.path), [`longshore-${next.pid}`]);
    assert.equal((await next.stop()).code, 0);
    assert.deepEqual(kept(home.path), []);
    assertWholeLog(next.log());
  },

  async "at any moment loses no object and leaves no process"({ stage, home, large }) {
    const random = seededRandom(20_261_201);
    const small = await stage.pod();
    await randomFile(`${small.volume}/random`, 5);
    const names: string[] = [];
    for (let round = 0; round < 10; round++) {
      for (const pod of [large, small]) names.push(await tagged(stage, pod));
      await killAfter(stage, { home: home.path, ms: random(900) });
    }
    await using agent = await stage.agent({ home: home.path });
    for (const name of names) await stage.ended(name);
    await agent.stop();
    assert.deepEqual(kopiasUnder(home.path), []);
    await assertCounts(stage, names);
  },
};

/** The folders that agents keep for kopia. */
function kept(home: string): string[] {
  return [...Deno.readDirSync(`${home}/udmrepo`)].map(({ name }) => name);
}

let made = 0;

async function tagged(stage: Stage, pod: StagePod): Promise<string> {
  const name = `tagged-${++made}`;
  return await stage.backup(pod, { name, spec: { tags: { object: name } } });
}

async function killAfter(
  stage: Stage,
  { home, ms }: { readonly home: string; readonly ms: number },
) {
  await using agent = await stage.agent({ home });
  await sleep(ms, new AbortController().signal);
  agent.kill("SIGKILL");
  await agent.ended();
  await until("no kopia is left", () => kopiasUnder(home).length === 0, 1_000);
}

/** What is Completed has one snapshot, the one it names; the rest says why. */
async function assertCounts(stage: Stage, names: readonly string[]) {
  const snapshots = await stage.snapshots();
  const ends = { Completed: 0, AgentRestarted: 0 };
  for (const name of names) {
    const object = await stage.ended(name);
    const own = snapshots.filter(({ tags }) => tags?.["tag:object"] === name);
    if (object.status?.phase === "Completed") {
      ends.Completed++;
      assert.deepEqual(own.map(({ id }) => id), [object.status.snapshotID], name);
    } else {
      assert.equal(reasonOf(object), "AgentRestarted");
      ends.AgentRestarted++;
      assert(own.length <= 1, name); // saved, but the agent died before it could say so
    }
  }
  assert(ends.Completed > 0 && ends.AgentRestarted > 0, JSON.stringify(ends));
}
