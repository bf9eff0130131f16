import assert from "node:assert/strict";
import { until } from "../support/children.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import { startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "an agent that is told to stop", fn: shutdown });

/** Leaves a partial snapshot when it is told to end, and never gets it removed. */
const stallingKopia = (program: string) =>
  `#!/bin/sh
case "$*" in
*"snapshot create"*)
  trap 'echo "{\\"id\\":\\"${"0".repeat(32)}\\",\\"incomplete\\":\\"canceled\\"}"; exit 0' TERM
  while true; do sleep 0.02; done ;;
*"snapshot delete"*) exec sleep 60 ;;
esac
exec ${program} "$@"
`;

async function shutdown(t: Deno.TestContext) {
  await using stage = await startStage();
  const step = stepsOf(t);
  const large = await stage.pod();
  await randomFile(`${large.volume}/random`, 80);

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await step(`by ${signal} while it is idle ends with 0 at once`, async () => {
      await using agent = await stage.agent();
      const askedAtMs = performance.now();
      assert.equal((await agent.stop(signal)).code, 0);
      assert(performance.now() - askedAtMs < 2_000);
      assert.match(agent.output(), new RegExp(`received ${signal}`));
      assertWholeLog(agent.log());
    });
  }

  await step("lets the running backup end, takes no other, and ends with 0", async () => {
    await using agent = await stage.agent();
    const running = await stage.backup(large);
    const frozen = await agent.freeze();
    const waiting = await stage.backup(large);
    agent.kill("SIGTERM");
    await agent.line(/Waiting for the movements under way to end/);
    frozen.resume();
    assert.equal((await agent.ended()).code, 0);
    assert.equal((await stage.ended(running)).status?.phase, "Completed");
    assert.deepEqual(stage.log.phases(waiting), [""]);
    assert.equal((await stage.endEventsOf(running)).length, 1);
    await stage.remove(waiting);
  });

  await step("fails what does not end within the grace time, and ends with 0", async () => {
    const count = (await stage.snapshots()).length;
    await using agent = await stage.agent({ flags: ["--grace", "200ms"] });
    const running = await stage.backup(large);
    const frozen = await agent.freeze();
    agent.kill("SIGTERM");
    await frozen.resumeWhenToldToEnd();
    assert.equal((await agent.ended()).code, 0);
    assert.equal(reasonOf(await stage.ended(running)), "NodeShutdown");
    assert.equal(frozen.isAlive(), false);
    assert.equal((await stage.snapshots()).length, count);
    assertWholeLog(agent.log());
  });

  await step("kills a kopia that does not listen, and still says how it ended", async () => {
    await using agent = await stage.agent({ flags: ["--grace", "200ms"] });
    const running = await stage.backup(large);
    const frozen = await agent.freeze(); // and never resumed
    const askedAtMs = performance.now();
    assert.equal((await agent.stop()).code, 0);
    assert(performance.now() - askedAtMs < 10_000); // the pod is killed then
    assert.equal(frozen.isAlive(), false);
    assert.equal(reasonOf(await stage.ended(running)), "NodeShutdown");
  });

  await step("says how it ended also while the store keeps what is to be removed", async () => {
    const kopia = `${stage.folder}/stalling-kopia`;
    await Deno.writeTextFile(kopia, stallingKopia(stage.kopiaProgram), { mode: 0o755 });
    await using agent = await stage.agent({ kopia, flags: ["--grace", "200ms"] });
    const running = await stage.backup(large);
    await until("kopia moves data", () => agent.movers().length > 0);
    const askedAtMs = performance.now();
    agent.kill("SIGTERM");
    assert.equal(reasonOf(await stage.ended(running, 5_000)), "NodeShutdown");
    assert.equal((await agent.ended()).code, 0);
    assert(performance.now() - askedAtMs < 10_000); // the pod is killed then
  });

  await step("twice ends with 1 at once, and kopia with it", async () => {
    await using agent = await stage.agent();
    await stage.backup(large);
    const frozen = await agent.freeze();
    agent.kill("SIGTERM");
    await agent.line(/Waiting for the movements under way to end/);
    const askedAtMs = performance.now();
    assert.equal((await agent.stop()).code, 1);
    assert(performance.now() - askedAtMs < 1_000);
    assert.equal(frozen.isAlive(), false);
  });
}
