/** What /healthz and /readyz say while the API server comes and goes. */
import assert from "node:assert/strict";
import { openHeart } from "../../cmd/heart.ts";
import { connect } from "../../lib/kube/connection.ts";
import type { Agent } from "../support/agent.ts";
import { until } from "../support/children.ts";
import { startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");
const watches = ["configmaps", "podvolumebackups", "podvolumerestores", "pods"];

Deno.test({ ignore, name: "the health of an agent", fn: health });

async function health(t: Deno.TestContext) {
  await using stage = await startStage();
  const step = stepsOf(t);
  const { controlPlane } = stage;
  const config = { metadata: { name: "cfg" }, data: { "a.json": "{}" } };
  await controlPlane.call("POST", "/api/v1/namespaces/velero/configmaps", config);
  await using agent = await stage.agent({ flags: ["--node-agent-configmap", "cfg"] });

  await step("is good once all is listed, and tells of each watch", async () => {
    await untilReady(agent);
    assert.deepEqual(await agent.page("/readyz"), { status: 200, text: "ok" });
    const { text } = await agent.page("/readyz?verbose");
    for (const what of watches) {
      assert.match(text, new RegExp(`^\\[\\+\\]watch-${what} ok: heard \\d+\\.\\d s ago$`, "m"));
    }
    assert.match(text, /^\[\+\]api-server ok: heard .* ago\n(.*\n)*readyz check passed\n$/m);
    assert.deepEqual(await agent.page("/healthz"), { status: 200, text: "ok" });
  });

  await step("is not ready without an API server, but alive, and ready with it again", async () => {
    await controlPlane.killApiServer();
    const lost = await untilLost(
      agent,
      /^\[-\]watch-c.*\n\[-\]watch-.*\n\[-\]watch-.*\n\[-\]watch-p/m,
    );
    for (const what of watches) {
      assert.match(
        lost,
        new RegExp(`^\\[-\\]watch-${what} failed: interrupted: .*; heard .* ago$`, "m"),
      );
    }
    assert.equal((await agent.page("/healthz")).status, 200);
    await controlPlane.startApiServer();
    await untilReady(agent);
  });

  await step("ends with the intake", async () => {
    const pod = await stage.pod();
    const frozen = agent.freeze();
    await stage.backup(pod);
    const { resume } = await frozen;
    agent.kill("SIGTERM");
    assert.match(await untilLost(agent), /^\[-\]intake failed: the agent is stopping$/m);
    assert.equal((await agent.page("/healthz")).status, 200);
    resume();
    assert.equal((await agent.ended()).code, 0);
  });

  await step("has a pulse that notices a server that keeps silent, and its return", async () => {
    const connection = await connect({ kubeconfig: stage.agentKubeconfig });
    const timing = { quietMs: 100, answerMs: 1_000 };
    const needs = { connection, userAgent: "test", namespace: "velero", timing };
    await using heart = openHeart(new Map(), needs);
    const { pulse } = heart;
    const take = async (isSo: () => boolean) => {
      await heart.take();
      return isSo();
    };
    await until("the API server is heard", () => take(() => pulse.lastHeardMs > 0));
    const { apiServer } = controlPlane.pids;
    Deno.kill(apiServer, "SIGSTOP"); // its connections stay open, and say nothing
    try {
      await until("the silence is noticed", () => take(() => pulse.lastError !== undefined));
    } finally {
      Deno.kill(apiServer, "SIGCONT");
    }
    await until("it is heard again", () => take(() => pulse.lastError === undefined));
  });
}

async function untilReady(agent: Agent) {
  let last = "";
  await until("the agent is ready", async () => {
    const { status, text } = await agent.page("/readyz");
    last = text;
    return status === 200;
  }, 60_000).catch((cause) => {
    throw new Error(`it is never ready: ${last}`, { cause });
  });
}

/** Answers what it says once nothing is well that is looked for. */
async function untilLost(agent: Agent, failures = /^\[-\]/m): Promise<string> {
  return await until("the agent is not ready", async () => {
    const { status, text } = await agent.page("/readyz");
    return status === 503 && failures.test(text) && text;
  });
}
