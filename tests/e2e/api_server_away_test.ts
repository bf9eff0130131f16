import assert from "node:assert/strict";
import { isAlive, until } from "../support/children.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog } from "../support/messages.ts";
import { startProxy } from "../support/proxy.ts";
import { startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "while the API server is away", fn: away });

async function away(t: Deno.TestContext) {
  await using stage = await startStage();
  const step = stepsOf(t);
  const { controlPlane } = stage;
  const large = await stage.pod();
  await randomFile(`${large.volume}/random`, 60);
  await using agent = await stage.agent({ flags: ["--progress-interval", "100ms"] });

  await step("and back again a backup goes on and its result is written", async () => {
    const name = await stage.backup(large);
    const frozen = await agent.freeze();
    await controlPlane.killApiServer();
    await controlPlane.startApiServer();
    frozen.resume();
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
  });

  await step(
    "at the end of a backup, its result is written later, also by an agent that ends",
    async () => {
      await using ending = await stage.agent({ node: "node-2", flags: ["--grace", "20s"] });
      const pod = await stage.pod({ spec: { nodeName: "node-2", containers } });
      await randomFile(`${pod.volume}/random`, 20);
      const freezing = Promise.all([agent.freeze(), ending.freeze()]);
      const names = [
        await stage.backup(large),
        await stage.backup(pod, { spec: { node: "node-2" } }),
      ];
      const frozen = await freezing;
      await controlPlane.killApiServer();
      ending.kill("SIGTERM");
      for (const { resume, pid } of frozen) {
        resume();
        await until("kopia has ended", () => !isAlive(pid));
      }
      await agent.line(/The write failed and is repeated/);
      await ending.line(/The write failed and is repeated/);
      await controlPlane.startApiServer();
      for (const name of names) {
        const { status } = await stage.ended(name);
        assert.equal(status?.phase, "Completed", status?.message);
        assert((await stage.snapshots()).some(({ id }) => id === status.snapshotID));
        assert.equal((await stage.endEventsOf(name)).length, 1);
      }
      assert.equal((await ending.ended()).code, 0);
      assert.equal((await agent.stop()).code, 0);
      for (const { log } of [agent, ending]) assertWholeLog(log());
    },
  );

  await step("for the agent alone, an object made meanwhile is done afterwards", async () => {
    const server = new URL(controlPlane.server);
    await using proxy = startProxy({ hostname: server.hostname, port: Number(server.port) });
    const text = await Deno.readTextFile(stage.agentKubeconfig);
    const kubeconfig = `${stage.folder}/through-proxy`;
    await Deno.writeTextFile(kubeconfig, text.replace(server.port, `${proxy.port}`));
    await using apart = await stage.agent({ kubeconfig });
    assert.equal((await stage.ended(await stage.backup(large))).status?.phase, "Completed");
    proxy.cut();
    assert.equal((await stage.ended(await stage.backup(large))).status?.phase, "Completed");
    const name = await stage.backup(large);
    await stage.log.until(name, ({ status }) => status?.phase === "InProgress");
    proxy.cut();
    assert.equal((await stage.ended(name)).status?.phase, "Completed");
    assert.equal((await apart.stop()).code, 0);
    assertWholeLog(apart.log());
  });
}

const containers = [{ name: "web", image: "example.invalid/web:1" }];
