import assert from "node:assert/strict";
import { until } from "../support/children.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog } from "../support/messages.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "agents on one cluster", fn: severalAgents });

async function severalAgents(t: Deno.TestContext) {
  await using stage = await startStage();
  const step = stepsOf(t);
  const pod = await stage.pod();
  await randomFile(`${pod.volume}/random`, 1);

  for (const [name, run] of Object.entries(steps)) await step(name, () => run({ stage, pod }));
}

interface Ground {
  readonly stage: Stage;
  readonly pod: StagePod;
}

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "two on one node with one home move each of 20 volumes once"({ stage, pod }) {
    using home = tempFolder("home");
    for (let at = 0; at < 100; at++) { // of agents that are gone, for both to remove
      await Deno.mkdir(`${home.path}/udmrepo/longshore-${90_000_000 + at}/tmp`, {
        recursive: true,
      });
    }
    const [one, other] = await Promise.all([
      stage.agent({ home: home.path }),
      stage.agent({ home: home.path }),
    ]);
    await using _one = one;
    await using _other = other;
    await until("both have their folder and no other is left", () => {
      const kept = [...Deno.readDirSync(`${home.path}/udmrepo`)].map(({ name }) => name);
      return kept.length === 2 &&
        [one, other].every(({ pid }) => kept.includes(`longshore-${pid}`));
    }, 5_000);
    const names = await Promise.all(Array.from({ length: 20 }, () => stage.backup(pod)));
    for (const name of names) {
      assert.equal((await stage.ended(name)).status?.phase, "Completed");
      assert.equal(stage.log.versions(name).length, 3, name); // made, claimed, ended
    }
    const ids = names.map((name) => stage.log.versions(name).at(-1)?.object.status?.snapshotID);
    const stored = (await stage.snapshots()).map(({ id }) => id);
    assert.deepEqual(stored.toSorted(), ids.toSorted());
    for (const agent of [one, other]) {
      assert.equal((await agent.stop()).code, 0);
      assertWholeLog(agent.log());
    }
    const shares = [one, other].map((agent) =>
      agent.log().filter(({ msg }) => msg === "PodVolumeBackup is Completed").length
    );
    assert.equal((shares[0] ?? 0) + (shares[1] ?? 0), 20);
    assert(shares.every((share) => share > 0), `one of them did nothing: ${shares}`);
  },

  async "one serves those that wait in their order, never two at once (case C1)"({ stage, pod }) {
    const order: string[] = [];
    for (const name of ["z", "m", "a"]) {
      order.push(await stage.backup(pod, { name }));
      await new Promise((resolve) => setTimeout(resolve, 1_000)); // the server counts in seconds
    }
    await stage.backup(pod, { name: "0" }); // heads the list, so it has the slot when the others come
    await using agent = await stage.agent();
    for (const name of order) await stage.ended(name);
    const ends = await Promise.all(order.map(async (name) => ({
      name,
      version: Number((await stage.ended(name)).metadata.resourceVersion),
    })));
    const done = ends.toSorted((a, b) => a.version - b.version).map(({ name }) => name);
    assert.deepEqual(done, order);
    const changes = ["0", ...order].flatMap((name) =>
      stage.log.versions(name).map(({ object: { metadata, status } }) => ({
        version: Number(metadata.resourceVersion),
        phase: status?.phase ?? "New",
      }))
    );
    const phases = changes.filter(({ phase }) => phase !== "New")
      .toSorted((a, b) => a.version - b.version).map(({ phase }) => phase);
    assert.deepEqual(phases, order.concat("0").flatMap(() => ["InProgress", "Completed"]));
    await agent.stop();
  },

  async "one that is told of an ended object again does not move it again"({ stage, pod }) {
    await using agent = await stage.agent();
    const count = (await stage.snapshots()).length;
    const name = await stage.backup(pod);
    const ended = await stage.ended(name);
    await stage.patch(name, { metadata: { labels: { touched: "yes" } } });
    await stage.patch(name, { metadata: { labels: { touched: "again" } } });
    await stage.ended(await stage.backup(pod)); // by now it has heard of both
    assert.equal((await stage.snapshots()).length, count + 2);
    const last = stage.log.versions(name).at(-1)?.object;
    assert.deepEqual(last?.status, ended.status);
    await agent.stop();
    const starts = agent.log().filter(({ msg, key }) =>
      msg === "PodVolumeBackup is InProgress" && key === `velero/${name}`
    );
    assert.equal(starts.length, 1);
  },
};
