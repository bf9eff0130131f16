import assert from "node:assert/strict";
import { sleep } from "../../lib/base/abort.ts";
import { agentProgram } from "../support/agent.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import { assertWhole, assertWholeLog } from "../support/messages.ts";
import { freePorts } from "../support/ports.ts";
import { type ProcessResult, runProcess, startProcess } from "../support/process.ts";
import { grant } from "../support/rights.ts";
import { stepsOf } from "../support/steps.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");
const [program, ...programArgs] = agentProgram();

interface Setting {
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the program to its end with nothing of the tests' environment. */
async function run(args: readonly string[], { home, env = {} }: Setting): Promise<ProcessResult> {
  return await runProcess(program, [...programArgs, ...args], {
    clearEnv: true,
    env: { HOME: home, ...env },
  });
}

Deno.test("a start with wrong flags or settings says so in one line", async (t) => {
  using folder = tempFolder("start");
  const home = folder.path;
  const step = stepsOf(t);
  const named = { home, env: { NODE_NAME: "node-1" } };
  const cases: readonly [string, readonly string[], number, RegExp][] = [
    ["an unknown flag", ["server", "--node-agent-configmpa", "x"], 2, /--node-agent-configmap/],
    ["a bad duration", ["server", "--grace", "10 minutes"], 2, /--grace.*10 minutes/],
    ["a bad log level", ["server", "--log-level", "loud"], 2, /loud.*warning/],
    ["a bad address", ["server", "--metrics-address", "8085"], 2, /"8085".*:8085/],
    ["an unknown command", ["sevrer"], 2, /sevrer.*server/],
    ["no value", ["server", "--kubeconfig"], 2, /--kubeconfig/],
    ["no kubeconfig", ["server"], 1, /kubeconfig/i],
    ["an absent kubeconfig", ["server", "--kubeconfig", "/absent/file"], 1, /"\/absent\/file"/],
  ];
  for (const [what, args, code, pattern] of cases) {
    await step(what, async () => {
      const result = await run(args, named);
      assert.equal(result.code, code, result.stderr);
      assertOneLine(result.stderr, pattern);
    });
  }
  await step("a broken kubeconfig", async () => {
    await Deno.writeTextFile(`${home}/broken`, "clusters: [");
    const result = await run(["server", "--kubeconfig", `${home}/broken`], named);
    assert.equal(result.code, 1);
    assertOneLine(result.stderr, new RegExp(`"${home}/broken"`));
  });
  await step("no node name", async () => {
    const result = await run(["node-agent", "server", "--kubeconfig", "/absent/file"], { home });
    assert.equal(result.code, 1);
    assertOneLine(result.stderr, /NODE_NAME/);
  });
});

Deno.test({
  ignore,
  name: "a start against a cluster that cannot be used says why in one line",
  async fn(t) {
    await using controlPlane = await startControlPlane();
    using folder = tempFolder("start");
    const home = folder.path;
    const step = stepsOf(t);
    const start = (kubeconfig: string, ...flags: string[]) =>
      run(["server", "--kubeconfig", kubeconfig, ...flags], { home, env: { NODE_NAME: "node-1" } });

    await step("without the CRDs", async () => {
      const result = await start(controlPlane.kubeconfig);
      assert.equal(result.code, 1);
      assertOneLine(result.stderr, /podvolumebackups\.velero\.io/);
    });
    await installCrds(controlPlane);
    await step("without the right to read them", async () => {
      const result = await start(await controlPlane.userKubeconfig("nobody", []));
      assert.equal(result.code, 1);
      assertOneLine(result.stderr, /"nobody" cannot get resource "customresourcedefinitions"/);
    });
    await step("with a metrics port that is taken", async () => {
      using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const address = `127.0.0.1:${(taken.addr as Deno.NetAddr).port}`;
      const startedAtMs = performance.now();
      const result = await start(controlPlane.kubeconfig, "--metrics-address", address);
      assert.equal(result.code, 1);
      assert(performance.now() - startedAtMs < 5_000);
      assertOneLine(result.stderr, new RegExp(`"${address}".*in use`, "i"));
    });
    await step(
      "with all the flags and variables of the original",
      async () => {
        const kubeconfig = await grant(controlPlane, "rbac.yaml", {
          ...{ namespace: "backups", account: "elsewhere" },
        });
        await assertStarts(home, kubeconfig);
      },
    );
    const silent = step(
      "at level warning writes nothing while it idles, and counts from 0",
      async () => assertSilent(await grant(controlPlane, "rbac.yaml")),
    );
    await step("that does not answer is tried ten times", () => assertTried(home, controlPlane));
    await silent;
    await step("that answers at last is used", async () => {
      await controlPlane.killApiServer();
      await using agent = startProcess(program, [
        ...programArgs,
        ...["server", "--kubeconfig", controlPlane.kubeconfig, "--metrics-address", "127.0.0.1:0"],
      ], { env: { HOME: home, NODE_NAME: "node-1" } });
      await agent.line(/The API server does not answer/);
      await controlPlane.startApiServer();
      await agent.line(/Metrics are served/);
      agent.kill("SIGTERM");
      assert.equal((await agent.ended()).code, 0);
    });
  },
});

function assertOneLine(stderr: string, pattern: RegExp) {
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines.length, 1, stderr);
  assert.match(stderr, pattern);
  assertWhole(lines[0] ?? "");
  assert.doesNotMatch(stderr, /\bat .*\.ts:\d+/, "a stack trace is no message");
}

async function assertStarts(home: string, kubeconfig: string) {
  const [port] = freePorts(1) as [number];
  await using agent = startProcess(program, [
    ...programArgs,
    ...["--namespace", "backups", "node-agent", "server", "--features=EnableCSI", "--colorized"],
    ...["--logtostderr=false", "-v", "4", "--log-format=json", "--resource-timeout=1m30s"],
    ...["--data-mover-prepare-timeout=30m", "--node-agent-configmap=node-agent-config"],
    ...["--backup-repository-configmap=b", `--metrics-address=127.0.0.1:${port}`],
  ], {
    clearEnv: true,
    env: { HOME: home, NODE_NAME: "node-9", KUBECONFIG: kubeconfig, VELERO_NAMESPACE: "elsewhere" },
  });
  await agent.line(/Metrics are served/);
  agent.kill("SIGTERM");
  const { code, stdout, stderr } = await agent.ended();
  assert.equal(code, 0, stderr);
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertWholeLog(lines);
  assert.equal(lines[0].node, "node-9");
  assert.equal(lines[0].namespace, "backups");
  assert.deepEqual(
    lines.filter(({ level }) => level === "warning").flatMap(({ flag }) => flag ?? []),
    ["--backup-repository-configmap"],
  );
}

async function assertTried(home: string, { kubeconfig, server }: ControlPlane) {
  const [port] = freePorts(1) as [number];
  const nobody = `https://127.0.0.1:${port}`;
  const text = await Deno.readTextFile(kubeconfig);
  await Deno.writeTextFile(`${home}/nobody`, text.replace(server, nobody));
  const startedAtMs = performance.now();
  const { code, stdout, stderr } = await run(
    ["server", "--kubeconfig", `${home}/nobody`, "--log-format", "json"],
    { home, env: { NODE_NAME: "node-1" } },
  );
  const tookMs = performance.now() - startedAtMs;
  assert.equal(code, 1);
  assert(tookMs > 9_000 && tookMs < 20_000, `${tookMs} ms`);
  assertOneLine(stderr, new RegExp(nobody));
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertWholeLog(lines);
  assert.equal(lines.filter(({ level }) => level === "warning").length, 9);
}

async function assertSilent(kubeconfig: string) {
  const [port] = freePorts(1) as [number];
  using home = tempFolder("home");
  await using agent = startProcess(program, [
    ...programArgs,
    ...["server", "--kubeconfig", kubeconfig, "--log-level", "warning"],
    ...["--node-name", "node-1", "--metrics-address", `127.0.0.1:${port}`],
    ...["--host-pods", home.path, "--kopia", "/bin/true"],
  ], { clearEnv: true, env: { HOME: home.path } });
  const scrape = await scrapeWhenUp(port);
  for (
    const counter of [
      'podVolume_pod_volume_backup_enqueue_count{node="node-1"} 0',
      'podVolume_pod_volume_backup_dequeue_count{node="node-1"} 0',
      'longshore_slots{state="used"} 0',
      "longshore_queue_length 0",
    ]
  ) assert(scrape.split("\n").includes(counter), `no "${counter}" in\n${scrape}`);
  await sleep(10_000, new AbortController().signal);
  agent.kill("SIGTERM");
  const { code, stdout, stderr } = await agent.ended();
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
}

async function scrapeWhenUp(port: number): Promise<string> {
  for (let tries = 0;; tries++) {
    try {
      const url = `http://127.0.0.1:${port}/metrics`;
      return await (await fetch(url, { headers: { connection: "close" } })).text();
    } catch (error) {
      if (tries === 200) throw error;
      await sleep(50, new AbortController().signal);
    }
  }
}
