/** What the agent learns of its node, against a real API server. */
import assert from "node:assert/strict";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import { ApiError } from "../../lib/kube/api_error.ts";
import { agentPods, configMapOfAgents } from "../../lib/node/agent_daemon_set.ts";
import { loadConfigMap } from "../../lib/node/config_map.ts";
import { checkHostPath, settledHostPath } from "../../lib/node/host_path_check.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import { stepsOf } from "../support/steps.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");
const namespace = "bk";
const { signal } = new AbortController();

Deno.test({
  ignore,
  name: "the folder of the node's pods is compared with the pods that run there",
  async fn(t) {
    await using controlPlane = await startControlPlane();
    await using client = await clientOf(controlPlane.kubeconfig);
    await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const step = stepsOf(t);
    using folder = tempFolder("pods");
    const question = { path: folder.path, node: "n1", client };
    const uids: string[] = [];
    for (const name of ["u1", "u2", "u3"]) uids.push(await runningPod(controlPlane, { name }));
    await runningPod(controlPlane, { name: "elsewhere", node: "n2" });
    await pod(controlPlane, { name: "pending" });

    await step("a folder of other things is no folder of pods", async () => {
      for (const name of ["etc", "opt"]) await Deno.mkdir(`${folder.path}/${name}`);
      const report = await checkHostPath(question, signal);
      assert.equal(report.verdict, "not-a-pods-root");
      assert.equal(report.podsChecked, 3);
      assert.deepEqual(report.missing.map(({ uid }) => uid).sort(), [...uids].sort());
      assert.deepEqual(report.entries, ["etc", "opt"]);
    });

    await step("a symbolic link is no folder of a pod", async () => {
      for (const uid of uids.slice(1)) await Deno.mkdir(`${folder.path}/${uid}`);
      await Deno.symlink(folder.path, `${folder.path}/${uids[0]}`);
      const report = await checkHostPath(question, signal);
      assert.equal(report.verdict, "uid-mismatch");
      assert.deepEqual(report.missing.map(({ name }) => name), ["u1"]);
      await Deno.remove(`${folder.path}/${uids[0]}`);
    });

    await step("a pod that was started a moment ago is waited for", async () => {
      const startedMs = performance.now();
      const settled = settledHostPath(question, signal);
      // After the first look, which finds it missing.
      const made = checkHostPath(question, signal)
        .then(() => Deno.mkdir(`${folder.path}/${uids[0]}`));
      assert.equal((await settled).verdict, "ok");
      await made;
      assert(performance.now() - startedMs > 400, "no re-check was needed");
    });

    await step("a pod that never gets its folder is waited for so long only", async () => {
      await runningPod(controlPlane, { name: "late" });
      const report = await settledHostPath(question, signal);
      assert.equal(report.verdict, "uid-mismatch");
      assert.deepEqual(report.missing.map(({ name }) => name), ["late"]);
      await remove(controlPlane, "late");
    });

    await step("a static pod's folder has the name of its mirror annotation", async () => {
      const annotations = { "kubernetes.io/config.mirror": "h9" };
      await runningPod(controlPlane, { name: "static", annotations });
      const before = await checkHostPath(question, signal);
      assert.deepEqual(before.missing.map(({ folder, mirror }) => [folder, mirror]), [[
        "h9",
        true,
      ]]);
      await Deno.mkdir(`${folder.path}/h9`);
      assert.equal((await checkHostPath(question, signal)).verdict, "ok");
    });

    await step(
      "who may list pods in one namespace only is told the right that is missing",
      async () => {
        await using limited = await clientOf(await controlPlane.userKubeconfig("limited", []));
        await assert.rejects(checkHostPath({ ...question, client: limited }, signal), (error) => {
          assert(error instanceof ApiError);
          assert.match(
            error.message,
            /list pods in all namespaces.*Grant the verb "list" on "pods"/,
          );
          return true;
        });
        const absent = { ...question, path: `${folder.path}/absent`, client: limited };
        const report = await checkHostPath(absent, signal);
        assert.equal(report.verdict, "absent");
        const file = `${folder.path}/file`;
        await Deno.writeTextFile(file, "");
        const unreadable = await checkHostPath({ ...absent, path: file }, signal);
        assert.equal(unreadable.verdict, "unreadable");
        assert.match(unreadable.message, /cannot be read: .+/);
      },
    );

    await step("the hint is for the distribution that the node looks like", async () => {
      await controlPlane.call("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
      await controlPlane.call("PATCH", "/api/v1/nodes/n1/status", {
        status: { nodeInfo: { kubeletVersion: "v1.33.1+k0s" } },
      });
      const { hint } = await checkHostPath({ ...question, path: `${folder.path}/absent` }, signal);
      assert.match(hint ?? "", /"\/var\/lib\/k0s\/kubelet\/pods" on k0s/);
    });
  },
});

Deno.test({
  ignore,
  name: "the node agent's configuration is read from its ConfigMap",
  async fn(t) {
    await using controlPlane = await startControlPlane();
    await using client = await clientOf(controlPlane.kubeconfig);
    const { call } = controlPlane;
    await call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const step = stepsOf(t);
    const load = (name: string) => loadConfigMap({ client, namespace, name }, signal);
    const create = (name: string, body: Record<string, unknown>) =>
      call("POST", `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name }, ...body });

    await step("with its key and revision", async () => {
      await create("good", { data: { any: '{"loadConcurrency":{"globalConfig":4}}' } });
      const { source, config } = await load("good");
      assert.deepEqual(config, { loadConcurrency: { globalConfig: 4 } });
      assert.equal(source.key, "any");
      assert.match(source.resourceVersion ?? "", /^\d+$/);
    });
    await step("and a missing one is a finding", async () => {
      const { config, findings } = await load("absent");
      assert.equal(config, undefined);
      assert.match(findings[0]?.message ?? "", /no ConfigMap "absent" in namespace "bk"/);
    });
    await step("and one with several keys is a finding, each time", async () => {
      const number = (value: number) =>
        JSON.stringify({ loadConcurrency: { globalConfig: value } });
      await create("two", { data: { "a.json": number(2), "b.json": number(5) } });
      const all = await Promise.all(Array.from({ length: 50 }, () => load("two")));
      const told = new Set(all.map(({ config, findings }) => JSON.stringify({ config, findings })));
      assert.equal(told.size, 1);
      assert.match([...told][0] ?? "", /2 keys, \\"a.json\\", \\"b.json\\"/);
    });
    await step("and one without data, or with binaryData alone, is a finding", async () => {
      await create("empty", {});
      await create("binary", { binaryData: { a: btoa("{}") } });
      assert.match((await load("empty")).findings[0]?.message ?? "", /no data/);
      assert.match((await load("binary")).findings[0]?.message ?? "", /binaryData only/);
    });
    await step("whose name the agents' DaemonSet tells, and whose users are its pods", async () => {
      const place = { client, namespace };
      assert.equal(await configMapOfAgents(place, signal), undefined);
      await call("POST", `/apis/apps/v1/namespaces/${namespace}/daemonsets`, daemonSet);
      assert.equal(await configMapOfAgents(place, signal), "good");
      assert.equal((await agentPods(place, signal)).size, 0);
      await runningPod(controlPlane, { name: "agent-1", labels: { name: "node-agent" } });
      await runningPod(controlPlane, { name: "other" });
      assert.deepEqual(
        [...await agentPods(place, signal)].map(([node, { metadata }]) => [node, metadata.name]),
        [["n1", "agent-1"]],
      );
    });
  },
});

const daemonSet = {
  metadata: { name: "node-agent" },
  spec: {
    selector: { matchLabels: { name: "node-agent" } },
    template: {
      metadata: { labels: { name: "node-agent" } },
      spec: {
        containers: [{
          name: "node-agent",
          image: "example.invalid/agent",
          args: ["node-agent", "server", "--node-agent-configmap=good"],
        }],
      },
    },
  },
};

async function clientOf(kubeconfig: string): Promise<KubeClient> {
  return createClient(await connect({ kubeconfig }), { userAgent: "longshore/test", retries: 0 });
}

interface PodChange {
  readonly name: string;
  readonly node?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

const podsPath = `/api/v1/namespaces/${namespace}/pods`;

/** Answers its UID. */
async function pod({ call }: ControlPlane, change: PodChange): Promise<string> {
  const { node = "n1", ...metadata } = change;
  const spec = { nodeName: node, containers: [{ name: "c", image: "example.invalid/c" }] };
  const made = await call<{ metadata: { uid: string } }>("POST", podsPath, { metadata, spec });
  return made.metadata.uid;
}

async function runningPod(controlPlane: ControlPlane, change: PodChange): Promise<string> {
  const uid = await pod(controlPlane, change);
  const status = { phase: "Running", startTime: new Date().toISOString() };
  await controlPlane.call("PATCH", `${podsPath}/${change.name}/status`, { status });
  return uid;
}

async function remove({ call }: ControlPlane, name: string) {
  await call("DELETE", `${podsPath}/${name}?gracePeriodSeconds=0`);
}
