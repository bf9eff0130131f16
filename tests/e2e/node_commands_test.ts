/** What the built binary tells an operator about a node, and how it ends. */
import assert from "node:assert/strict";
import { agentProgram } from "../support/agent.ts";
import { globally, type NodeSite, overlapping, startNodeSite } from "../support/node_site.ts";
import { type ProcessResult, runProcess } from "../support/process.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

Deno.test({
  ignore,
  name: "the commands about a node tell the truth and end with the code for it",
  async fn(t) {
    await using site = await startNodeSite();
    const step = stepsOf(t);
    const uid = await site.pod("web");

    await step("validate-host-path has a code for each verdict", async () => {
      const validate = (path: string, ...more: string[]) =>
        site.run("validate-host-path", "--path", path, ...more);
      const path = `${site.home}/pods`;
      assert.equal((await validate(path)).code, 10);
      await Deno.writeTextFile(path, "");
      assert.equal((await validate(path)).code, 11);
      await Deno.remove(path);
      await Deno.mkdir(`${path}/etc`, { recursive: true });
      const wrong = await validate(path, "-o", "json");
      assert.equal(wrong.code, 12);
      const report = JSON.parse(wrong.stdout);
      assert.deepEqual(
        report.missing.map(({ namespace, name, uid, mirror }: Record<string, unknown>) => ({
          ...{ namespace, name, uid, mirror },
        })),
        [{ namespace: "bk", name: "web", uid, mirror: false }],
      );
      assert.deepEqual([report.verdict, report.podsChecked, report.entries], [
        "not-a-pods-root",
        1,
        ["etc"],
      ]);
      await Deno.mkdir(`${path}/${crypto.randomUUID()}`);
      const mismatch = await validate(path);
      assert.equal(mismatch.code, 13);
      assert.match(mismatch.stdout, new RegExp(`bk +web +${uid} +no +${path}/${uid}\n`));
      await Deno.mkdir(`${path}/${uid}`);
      const ok = await validate(path);
      assert.equal(ok.code, 0, ok.stdout);
      assert.equal((await validate(path, "--node", "n2")).code, 0);
      const help = (await site.run("validate-host-path", "--help")).stdout;
      for (const code of [10, 11, 12, 13]) assert.match(help, new RegExp(`^ +${code} +\\w`, "m"));
    });

    await step("concurrency tells the number, and every rule", async () => {
      await site.configMap("cfg", { "a.json": overlapping });
      const named = ["--configmap", "cfg"];
      await assertEnds(site, ["concurrency", ...named], { code: 0, out: /^3\n$/ });
      await assertEnds(site, ["concurrency", ...named, "--node", "n2"], { code: 0, out: /^5\n$/ });
      await assertEnds(site, ["concurrency", ...named, "--node", "n3"], { code: 0, out: /^2\n$/ });
      await assertEnds(site, ["concurrency", "--explain", ...named], {
        code: 0,
        out: /ConfigMap bk\/cfg .*key a\.json[^]*node n1: 3 movements[^]*rule 0, size=s/,
      });
      const all = await site.run("concurrency", "--all-nodes", ...named, "-o", "json");
      assert.deepEqual(
        JSON.parse(all.stdout).nodes.map((
          { node, number }: Record<string, unknown>,
        ) => [node, number]),
        [["n1", 3], ["n2", 5], ["n3", 2]],
      );
      await assertEnds(site, ["concurrency", "--all-nodes", ...named], {
        code: 0,
        out: /NODE +NUMBER +WHY[^]*n2 +5 +rule 1, zone=a[^]*3 nodes, 10 movements at once/,
      });
    });

    await step("concurrency ends with 4 for a configuration with a fault", async () => {
      const file = `${site.home}/new.json`;
      await Deno.writeTextFile(file, '{\n"loadConcurrency": {"globalConfig: 2}}');
      await assertEnds(site, ["concurrency", "--explain", "--config-file", file], {
        code: 4,
        out: /node n1: 1 movement at once[^]*error: line 2, column 21: this is not JSON/,
      });
      await Deno.writeTextFile(file, '{"loadConcurency": {}}');
      await assertEnds(site, ["concurrency", "--config-file", file], {
        code: 4,
        out: /^1\n$/,
        err: /^warning: loadConcurency \(line 1, column 2\): .*"loadConcurrency" meant\?\n$/,
      });
      await site.configMap("two", { "a.json": globally(2), "b.json": globally(5) });
      await assertEnds(site, ["concurrency", "--explain", "--configmap", "two"], {
        code: 4,
        out: /has 2 keys, "a\.json", "b\.json"/,
      });
      await assertEnds(site, ["concurrency", "--explain", "--configmap", "absent"], {
        code: 4,
        out: /there is no ConfigMap "absent"/,
      });
    });

    await step("a failure in JSON is one object on standard error", async () => {
      const failed = await site.run("concurrency", "--node", "n9", "-o", "json");
      assert.equal(failed.code, 1);
      assert.equal(failed.stdout, "");
      const { error } = JSON.parse(failed.stderr);
      assert.deepEqual([error.code, error.kind], [1, "ApiError"]);
      assert.match(error.message, /get nodes "n9"/);
      const usage = await site.run("concurrency", "--bogus", "--output=json");
      assert.equal(usage.code, 2);
      assert.match(JSON.parse(usage.stderr).error.message, /--bogus/);
      const text = await site.run("concurrency", "--node", "n1", "--all-nodes");
      assert.equal(text.code, 2);
      assert.match(text.stderr, /^usage: --node and --all-nodes do not go together\n$/);
    });

    await step("the completion knows the commands and their flags", async () => {
      const [program, ...args] = agentProgram();
      const { stdout } = await runProcess(program, [...args, "completion", "bash"]);
      const script = `${stdout}\nCOMP_WORDS=(longshore concurrency --expl) COMP_CWORD=2
        _longshore; echo "\${COMPREPLY[@]}"`;
      assert.equal((await runProcess("bash", ["-euc", script])).stdout, "--explain\n");
      const { code, stderr } = await runProcess(program, [...args, "completion", "tcsh"]);
      assert.equal(code, 2);
      assert.match(stderr, /'tcsh' is invalid.*bash, zsh, fish/);
    });
  },
});

async function assertEnds(
  site: NodeSite,
  words: readonly string[],
  { code, out, err = /^$/ }: { readonly code: number; readonly out: RegExp; readonly err?: RegExp },
): Promise<ProcessResult> {
  const result = await site.run(...words);
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stdout, out);
  assert.match(result.stderr, err);
  return result;
}
