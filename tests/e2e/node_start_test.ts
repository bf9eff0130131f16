/** The agent starts by the configuration and the host path of its node. */
import assert from "node:assert/strict";
import type { LogLine } from "../support/agent.ts";
import { assertWhole, assertWholeLog } from "../support/messages.ts";
import { globally, type NodeSite, overlapping, startNodeSite } from "../support/node_site.ts";
import { freePorts } from "../support/ports.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

Deno.test({
  ignore,
  name: "the agent starts by its configuration and its host path",
  async fn(t) {
    await using site = await startNodeSite();
    const step = stepsOf(t);
    const uid = await site.pod("web");
    const hostPods = `${site.home}/pods`;
    await Deno.mkdir(`${hostPods}/${uid}`, { recursive: true });
    const server = (...flags: string[]) => [
      ...["server", "--metrics-address", "127.0.0.1:0", "--host-pods", hostPods],
      ...["--log-format", "json", "--log-level", "debug", ...flags],
    ];

    await step("it starts without a host path, with a warning", async () => {
      const lines = await logUntilServed(site, server("--host-pods", `${site.home}/absent`));
      const warnings = lines.filter(({ level }) => level === "warning");
      assert.equal(warnings.length, 1, JSON.stringify(warnings));
      assert.match(warnings[0]?.msg ?? "", /host pods folder does not exist/);
    });

    await step(
      "it does not start with another folder, and names pods, path and what to do",
      async () => {
        await Deno.mkdir(`${site.home}/other/etc`, { recursive: true });
        const { code, stderr } = await site.run(...server("--host-pods", `${site.home}/other`));
        assert.equal(code, 1);
        assertWhole(stderr);
        assert.match(
          stderr,
          new RegExp(
            `not-a-pods-root.*"${site.home}/other".*none of the 1 running pods.*bk/web expects "${uid}".*host-pods`,
          ),
        );
      },
    );

    await step("it takes the number of its node, by the flag's other spelling too", async () => {
      await site.configMap("cfg", { "a.json": overlapping });
      const lines = await logUntilServed(site, server("--node-agent-config", "cfg"));
      const warnings = lines.filter(({ level }) => level === "warning");
      assert.deepEqual(warnings.map(({ flag }) => flag), ["--node-agent-config"]);
      const known = lines.find(({ concurrency }) => concurrency !== undefined);
      assert.deepEqual([known?.["concurrency"], known?.["because"]], [3, "rule 0"]);
    });

    await step(
      "it takes the default for a configuration that cannot be used, unless it is strict",
      async () => {
        await site.configMap("two", { "a.json": globally(2), "b.json": globally(5) });
        const flags = ["--node-agent-configmap", "two"];
        const lines = await logUntilServed(site, server(...flags));
        assert.equal(
          lines.find(({ concurrency }) => concurrency !== undefined)?.["concurrency"],
          1,
        );
        const fault = lines.find(({ finding }) => finding !== undefined);
        assert.equal(fault?.level, "warning");
        assert.match(String(fault?.["finding"]), /"a\.json", "b\.json"/);
        const strict = await site.run(...server(...flags, "--strict-config"));
        assert.equal(strict.code, 1);
        assert.match(
          strict.stderr,
          /Cannot use the configuration in ConfigMap "bk\/two": .*2 keys/,
        );
      },
    );

    await step("it tells where a configuration has a fault, and counts it (case B3)", async () => {
      await site.configMap("cfg", { "a.json": '{\n  "loadConcurrency: {"globalConfig": 2}\n}' });
      const [port] = freePorts(1) as [number];
      const address = `127.0.0.1:${port}`;
      const flags = ["--node-agent-configmap", "cfg", "--metrics-address", address];
      await using agent = site.start(...server(...flags));
      await agent.line(/Metrics are served/);
      assert.match(await scrapeOf(address), /^longshore_config_load_failed 1$/m);
      agent.kill("SIGTERM");
      const lines = logOf((await agent.ended()).stdout);
      const fault = lines.find(({ finding }) => finding !== undefined);
      assert.deepEqual([fault?.level, fault?.["line"]], ["warning", 2], JSON.stringify(fault));
      assert.equal(typeof fault?.["column"], "number");
      assert.equal(lines.find(({ concurrency }) => concurrency !== undefined)?.["concurrency"], 1);
    });

    await step("it tells that the configuration has changed since, once", async () => {
      await site.configMap("cfg", { "a.json": globally(1) });
      const [port] = freePorts(1) as [number];
      const address = `127.0.0.1:${port}`;
      const flags = ["--node-agent-configmap", "cfg", "--metrics-address", address];
      await using agent = site.start(...server(...flags));
      await agent.line(/Metrics are served/);
      const scrape = () => scrapeOf(address);
      const explain = () =>
        site.run("concurrency", "--explain", "--configmap", "cfg", "--metrics-address", address);
      assert.match(await scrape(), /^longshore_config_stale 0$/m);
      const current = await explain();
      assert.equal(current.code, 0, current.stdout);
      assert.match(current.stdout, /the agent runs with resourceVersion \d+\n/);
      const path = "/api/v1/namespaces/bk/configmaps/cfg";
      await site.controlPlane.call("PATCH", path, { metadata: { labels: { touched: "yes" } } });
      await site.controlPlane.call("PATCH", path, { data: { "a.json": globally(4) } });
      await agent.line(/restart the agent to use it/);
      const after = await scrape();
      assert.match(after, /^longshore_config_stale 1$/m);
      assert.match(
        after,
        /^longshore_config_info\{configmap="cfg",key="a.json",resource_version="\d+"\} 1$/m,
      );
      const older = await explain();
      assert.equal(older.code, 4);
      assert.match(
        older.stdout,
        /4 movements at once[^]*runs with resourceVersion \d+, the ConfigMap is at \d+; restart/,
      );
      agent.kill("SIGTERM");
      const { code, stdout } = await agent.ended();
      assert.equal(code, 0);
      const warnings = logOf(stdout).filter(({ level }) => level === "warning");
      assert.equal(warnings.length, 1, JSON.stringify(warnings));
    });
  },
});

async function scrapeOf(address: string): Promise<string> {
  const headers = { connection: "close" };
  return await (await fetch(`http://${address}/metrics`, { headers })).text();
}

/** The agent's whole log, stopped as soon as it serves. */
async function logUntilServed(site: NodeSite, words: readonly string[]): Promise<LogLine[]> {
  await using agent = site.start(...words);
  await agent.line(/Metrics are served/);
  agent.kill("SIGTERM");
  const { code, stdout, stderr } = await agent.ended();
  assert.equal(code, 0, stderr);
  const lines = logOf(stdout);
  assertWholeLog(lines);
  return lines;
}

function logOf(stdout: string): LogLine[] {
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}
