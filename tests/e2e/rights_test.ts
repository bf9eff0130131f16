import assert from "node:assert/strict";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const mayRead = (group: string, ...resources: string[]): Rule => ({
  apiGroups: [group],
  resources,
  verbs: ["get", "list", "watch"],
});

/** What the agent needs beside what a test takes from it. */
const rules = {
  crds: mayRead("apiextensions.k8s.io", "customresourcedefinitions"),
  backups: mayRead("velero.io", "podvolumebackups"),
  restores: mayRead("velero.io", "podvolumerestores"),
  writes: {
    apiGroups: ["velero.io"],
    resources: ["podvolumebackups", "podvolumerestores"],
    verbs: ["patch"],
  },
  repositories: mayRead("velero.io", "backuprepositories", "backupstoragelocations"),
  secrets: { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  pods: { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
  nodePods: { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
  events: { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
} as const satisfies Readonly<Record<string, Rule>>;

Deno.test({
  ignore,
  name: "an agent with few rights",
  async fn(t) {
    await using stage = await startStage();
    const step = stepsOf(t);
    const pod = await stage.pod();

    await step("works with those that it needs", async () => {
      await using agent = await stage.agent({ kubeconfig: await userWithout(stage) });
      const name = await stage.backup(pod);
      const { status } = await stage.ended(name);
      assert.equal(status?.phase, "Completed", status?.message);
      assert.equal((await stage.endEventsOf(name)).length, 1);
      await agent.stop();
      assert.deepEqual(agent.log().filter(({ level }) => /warn|error/.test(level)), []);
    });

    for (const [lacking, resource] of [["pods", "pods"], ["secrets", "secrets"]] as const) {
      await step(`without ${lacking} fails the backup and names the right`, async () => {
        await using agent = await stage.agent({ kubeconfig: await userWithout(stage, lacking) });
        const failed = await stage.ended(await stage.backup(pod));
        assert.equal(reasonOf(failed), "KubernetesError", failed.status?.message);
        assert.match(failed.status?.message ?? "", new RegExp(`cannot get resource "${resource}"`));
        await agent.stop();
        assertWholeLog(agent.log());
      });
    }

    await step("without events completes the backup and warns once", async () => {
      await using agent = await stage.agent({ kubeconfig: await userWithout(stage, "events") });
      for (let at = 0; at < 3; at++) {
        assert.equal((await stage.ended(await stage.backup(pod))).status?.phase, "Completed");
      }
      await agent.stop();
      assert.equal(agent.log().filter(({ level }) => level === "warning").length, 1);
      assertWholeLog(agent.log());
    });

    await step("without writing takes no backup, and says so once", async () => {
      await using agent = await stage.agent({ kubeconfig: await userWithout(stage, "writes") });
      const name = await stage.backup(pod);
      await agent.line(/cannot patch resource/);
      await agent.line(/failed again/);
      await agent.stop();
      const errors = agent.log().filter(({ level }) => level === "error");
      assert.equal(errors.length, 1, JSON.stringify(errors));
      assert.match(String(errors[0]?.["error"]), /cannot patch resource "podvolumebackups"/);
      assert.deepEqual(stage.log.phases(name), [""]);
      assertWholeLog(agent.log());
      await stage.remove(name);
    });

    await step("without reading backups says so, and begins when it may", async () => {
      const kubeconfig = await userWithout(stage, "backups");
      await using agent = await stage.agent({ kubeconfig });
      await agent.line(/cannot list resource \\"podvolumebackups\\"/);
      const name = await stage.backup(pod);
      await allow(stage, { user: "without-backups", rules: Object.values(rules), name: "late" });
      assert.equal((await stage.ended(name)).status?.phase, "Completed");
      await agent.stop();
      assertWholeLog(agent.log());
    });
  },
});

/** A kubeconfig of a user with all the rights that an agent needs but one. */
async function userWithout(stage: Stage, lacking?: keyof typeof rules): Promise<string> {
  const user = `without-${lacking ?? "nothing"}`;
  const given = Object.entries(rules).filter(([name]) => name !== lacking).map(([, rule]) => rule);
  await allow(stage, { user, rules: given, name: user });
  return await stage.controlPlane.userKubeconfig(user, []);
}

async function allow(
  { controlPlane: { call } }: Stage,
  { user, rules, name }: {
    readonly user: string;
    readonly rules: readonly Rule[];
    readonly name: string;
  },
) {
  const path = "/apis/rbac.authorization.k8s.io/v1";
  await call("POST", `${path}/clusterroles`, { metadata: { name }, rules });
  await call("POST", `${path}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
}
