import assert from "node:assert/strict";
import { type Agent, assertIdle } from "../support/agent.ts";
import { isAlive, until } from "../support/children.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a backup that is canceled or deleted", fn: canceled });

async function canceled(t: Deno.TestContext) {
  await using stage = await startStage();
  await using agent = await stage.agent();
  const step = stepsOf(t);
  const large = await largePod(stage);

  for (const [name, run] of Object.entries({ ...(isCancelKnown && cancel), ...deletion })) {
    await step(name, () => run({ stage, agent, large }));
  }
}

interface Ground {
  readonly stage: Stage;
  readonly agent: Agent;
  /** Its volume takes kopia a moment. */
  readonly large: StagePod;
}

type Steps = Readonly<Record<string, (ground: Ground) => Promise<void>>>;

const cancel: Steps = {
  async "before it began never runs"({ stage, agent, large }) {
    const count = (await stage.snapshots()).length;
    const running = await stage.backup(large);
    const frozen = await agent.freeze();
    const waiting = await stage.backup(large);
    await stage.patch(waiting, { spec: { cancel: true } });
    const end = await stage.ended(waiting);
    assert.equal(end.status?.phase, "Canceled");
    assert.equal(reasonOf(end), "Canceled");
    assert.deepEqual(stage.log.phases(waiting), ["", "Canceled"]);
    frozen.resume();
    assert.equal((await stage.ended(running)).status?.phase, "Completed");
    assert.equal((await stage.snapshots()).length, count + 1);
  },

  async "in the middle ends at once, without a trace, and the next one runs"(
    { stage, agent, large },
  ) {
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    assertNoSecretShown(agent);
    const next = await stage.backup(large);
    await stage.patch(name, { spec: { cancel: true } });
    await stage.log.until(name, ({ status }) => status?.phase === "Canceling");
    await frozen.resumeWhenToldToEnd();
    assert.equal(reasonOf(await stage.ended(name)), "Canceled");
    assert.equal((await stage.ended(next)).status?.phase, "Completed");
    assert.equal(frozen.isAlive(), false);
    assert.deepEqual(stage.log.phases(name), ["", "InProgress", "Canceling", "Canceled"]);
    assert.equal(endsWritten(stage, name), 1);
    assert.equal((await stage.snapshots()).length, count + 1);
  },

  async "when it does not listen is killed"({ stage, agent, large }) {
    const name = await stage.backup(large);
    const frozen = await agent.freeze(); // and never resumed
    await stage.patch(name, { spec: { cancel: true } });
    assert.equal((await stage.ended(name)).status?.phase, "Canceled");
    assert.equal(frozen.isAlive(), false);
  },
};

const deletion: Steps = {
  async "by deletion ends at once, without a trace, and the next one runs"(
    { stage, agent, large },
  ) {
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    const next = await stage.backup(large);
    await stage.remove(name);
    await frozen.resumeWhenToldToEnd();
    assert.equal((await stage.ended(next)).status?.phase, "Completed");
    assert.equal(frozen.isAlive(), false);
    assert.equal((await stage.snapshots()).length, count + 1);
    assert.equal(stage.log.versions(name).at(-1)?.type, "DELETED");
  },

  async "by deletion while its snapshot is saved leaves no snapshot"({ stage, agent, large }) {
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    agent.kill("SIGSTOP"); // so that it hears of both at once
    frozen.resume();
    await until("kopia has ended", () => !frozen.isAlive());
    await stage.remove(name);
    agent.kill("SIGCONT");
    assert.equal((await stage.ended(await stage.backup(large))).status?.phase, "Completed");
    assert.equal((await stage.snapshots()).length, count + 1);
  },

  async "and is made anew under its name in the middle runs as the new one"(
    { stage, agent, large },
  ) {
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    await stage.remove(name);
    await stage.backup(large, { name });
    await frozen.resumeWhenToldToEnd();
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    const left = await stage.snapshots();
    assert.equal(left.length, count + 1);
    assert(left.some(({ id }) => id === status.snapshotID));
  },

  async "by somebody who writes another end keeps that end"({ stage, agent, large }) {
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    await stage.patch(name, { status: { phase: "Failed", message: "ended by an operator" } });
    await frozen.resumeWhenToldToEnd();
    await until("kopia is gone", () => !isAlive(frozen.pid));
    assert.equal((await stage.ended(await stage.backup(large))).status?.phase, "Completed");
    assert.equal((await stage.ended(name)).status?.message, "ended by an operator");
    assert.equal(endsWritten(stage, name), 1);
    assert.equal((await stage.snapshots()).length, count + 1);
  },

  async "leaves a whole log, no slot taken and no process behind"({ agent }) {
    await assertIdle(agent);
    assert.deepEqual(agent.movers(), []);
    assert.equal((await agent.stop()).code, 0);
    assertWholeLog(agent.log());
    assert(!agent.output().includes(objects.password));
  },
};

if (!isCancelKnown) Deno.test({ ignore, name: "a cancel is not heard of", fn: notHeard });

/** Velero 1.15 and 1.16 have neither the field nor the phases. */
async function notHeard() {
  await using stage = await startStage();
  await using agent = await stage.agent();
  const large = await largePod(stage);
  const name = await stage.backup(large);
  const frozen = await agent.freeze();
  await stage.patch(name, { spec: { cancel: true }, metadata: { labels: { touched: "yes" } } });
  await stage.log.until(name, ({ metadata }) => metadata.labels?.["touched"] === "yes");
  frozen.resume();
  assert.equal((await stage.ended(name)).status?.phase, "Completed");
  assert.deepEqual(stage.log.phases(name), ["", "InProgress", "Completed"]);
}

async function largePod(stage: Stage): Promise<StagePod> {
  const pod = await stage.pod();
  await randomFile(`${pod.volume}/random`, 80);
  return pod;
}

function endsWritten(stage: Stage, name: string): number {
  return stage.log.versions(name).filter(({ object }) =>
    ["Completed", "Failed", "Canceled"].includes(object.status?.phase ?? "")
  ).length;
}

/** Every user of a node can read the command lines of its processes. */
function assertNoSecretShown(agent: Agent) {
  const [mover] = agent.movers();
  assert(mover !== undefined);
  assert(!mover.args.join(" ").includes(objects.password), mover.args.join(" "));
}
