/** Whoever reaches the metrics address can open connections until the agent has no file handle left. */
import assert from "node:assert/strict";
import type { Agent } from "../support/agent.ts";
import { until } from "../support/children.ts";
import { startStage } from "../support/stage.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");
const handles = 256;

Deno.test({
  ignore,
  name: "an agent that can take no more connections lives, and takes them again",
  async fn() {
    await using stage = await startStage();
    await using agent = await stage.agent({ wrapper: ["prlimit", `--nofile=${handles}`, "--"] });
    await until("it is ready", () => answers(agent, "/readyz"));
    const { hostname, port } = new URL(agent.address);
    using open = new DisposableStack();
    await until("no connection is taken any more", async () => {
      const client = await Deno.connect({ hostname, port: Number(port) }).catch(() => undefined);
      if (client !== undefined) open.use(client);
      return client === undefined;
    });
    open.dispose();
    await until("it answers again", () => answers(agent, "/healthz"));
    await agent.line(/listener failed and is opened again/, 1_000);
    assert.equal(
      (await stage.ended(await stage.backup(await stage.pod()))).status?.phase,
      "Completed",
    );
    assert.equal((await agent.stop()).code, 0);
  },
});

async function answers(agent: Agent, path: string): Promise<boolean> {
  return await agent.page(path).then(({ status }) => status === 200, () => false);
}
