/** The agent with the rules of manifests/rbac.yaml, and with one of them taken away. */
import assert from "node:assert/strict";
import { annotations } from "../../lib/api/names.ts";
import { assertWhole, assertWholeLog, reasonOf } from "../support/messages.ts";
import { runProcess } from "../support/process.ts";
import { agentProgram } from "../support/agent.ts";
import { grant, type Rule } from "../support/rights.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

const neededByBackups = [
  ["pods", "get"],
  ["secrets", "get"],
  ["backupstoragelocations", "get"],
  ["backuprepositories", "list"],
  ["persistentvolumeclaims", "get"],
  ["persistentvolumes", "get"],
  ["csidrivers", "list"],
] as const;

interface Lacking {
  readonly resource: string;
  readonly verbs: readonly string[];
}

Deno.test({
  ignore,
  name: "an agent with few rights",
  async fn(t) {
    await using stage = await startStage();
    const step = stepsOf(t);
    const pod = await stage.pod();
    const claiming = await podWithClaim(stage);

    await step("works with those of the manifest, without a warning", async () => {
      await using agent = await stage.agent();
      for (const one of [pod, claiming]) {
        const name = await stage.backup(one);
        const { status } = await stage.ended(name);
        assert.equal(status?.phase, "Completed", status?.message);
        assert.equal((await stage.endEventsOf(name)).length, 1);
      }
      await agent.stop();
      const oddities = agent.log().filter(({ level, kind, cause }) =>
        /warn|error/.test(level) &&
        !String(kind).startsWith("Data") && // CRDs of Velero have them
        !String(cause).includes("initializing") // an API server that has just begun
      );
      assert.deepEqual(oddities, []);
    });

    for (const [resource, verb] of neededByBackups) {
      await step(`without ${resource} fails the backup and names the right`, async () => {
        const kubeconfig = await agentWithout(stage, { resource, verbs: [verb] });
        await using agent = await stage.agent({ kubeconfig });
        const failed = await stage.ended(await stage.backup(claiming));
        assert.equal(reasonOf(failed), "KubernetesError", failed.status?.message);
        assert.match(failed.status?.message ?? "", missing(verb, resource, ""));
        await agent.stop();
        assertWholeLog(agent.log());
      });
    }

    await step("without events completes the backup and warns once", async () => {
      const lacking = { resource: "events", verbs: ["create", "patch"] };
      await using agent = await stage.agent({ kubeconfig: await agentWithout(stage, lacking) });
      for (let at = 0; at < 3; at++) {
        assert.equal((await stage.ended(await stage.backup(pod))).status?.phase, "Completed");
      }
      await agent.stop();
      const warnings = agent.log().filter(({ level, kind }) => level === "warning" && !kind);
      assert.equal(warnings.length, 1);
      assertWholeLog(agent.log());
    });

    await step("without writing takes no backup, and says so once", async () => {
      const lacking = { resource: "podvolumebackups", verbs: ["patch"] };
      await using agent = await stage.agent({ kubeconfig: await agentWithout(stage, lacking) });
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
      const lacking = { resource: "podvolumebackups", verbs: ["get", "list", "watch"] };
      const kubeconfig = await agentWithout(stage, lacking);
      await using agent = await stage.agent({ kubeconfig });
      await agent.line(/cannot list resource \\"podvolumebackups\\"/);
      const name = await stage.backup(pod);
      await giveBack(stage, lacking);
      assert.equal((await stage.ended(name)).status?.phase, "Completed");
      await agent.stop();
      assertWholeLog(agent.log());
    });
  },
});

Deno.test({
  ignore,
  name: "a start with few rights",
  async fn(t) {
    await using stage = await startStage();
    const step = stepsOf(t);
    await stage.pod();

    await step(
      "without the pods of its node names verb, resource, scope and rule (case A11)",
      async () => {
        const kubeconfig = await agentWithout(stage, { resource: "pods", verbs: ["list"] });
        const { code, stderr } = await startToEnd(stage, kubeconfig);
        assert.equal(code, 1);
        assertWhole(stderr);
        assert.match(stderr, /Cannot list pods in all namespaces/);
        assert.match(stderr, missing("list", "pods", "all namespaces with a ClusterRole"));
      },
    );

    await step("without the definitions names the rule", async () => {
      const lacking = { resource: "customresourcedefinitions", verbs: ["get"] };
      const { code, stderr } = await startToEnd(stage, await agentWithout(stage, lacking));
      assert.equal(code, 1);
      assertWhole(stderr);
      assert.match(stderr, missing("get", "customresourcedefinitions", "the cluster"));
    });

    await step("without a host path needs no list of pods to start (case A11)", async () => {
      const kubeconfig = await agentWithout(stage, { resource: "pods", verbs: ["list"] });
      await using agent = await stage.agent({ kubeconfig, hostPods: `${stage.folder}/absent` });
      await agent.line(/host pods folder does not exist/);
      await agent.stop();
      assertWholeLog(agent.log());
    });
  },
});

function missing(verb: string, resource: string, scope: string): RegExp {
  const rule = `verb \\\\*"${verb}\\\\*" on \\\\*"${resource}\\\\*" in API group .* for ${scope}`;
  return new RegExp(`Grant the ${rule}`);
}

const lackingName = ({ resource, verbs }: Lacking) => `without-${resource}-${verbs.join("-")}`;
const made = new WeakMap<Stage, Map<string, Promise<string>>>();

/** A kubeconfig of an account with the manifest's rules but one. */
function agentWithout(stage: Stage, lacking: Lacking): Promise<string> {
  const known = made.get(stage) ?? new Map<string, Promise<string>>();
  made.set(stage, known);
  const account = lackingName(lacking);
  const change = (rules: readonly Rule[]) => without(rules, lacking);
  const kubeconfig = known.get(account) ??
    grant(stage.controlPlane, "rbac.yaml", { account, change });
  known.set(account, kubeconfig);
  return kubeconfig;
}

function without(rules: readonly Rule[], { resource, verbs }: Lacking): Rule[] {
  return rules.flatMap((rule) => {
    if (!rule.resources.includes(resource)) return [rule];
    const others = rule.resources.filter((one) => one !== resource);
    const left = rule.verbs.filter((verb) => !verbs.includes(verb));
    return [
      ...(others.length > 0 ? [{ ...rule, resources: others }] : []),
      ...(left.length > 0 ? [{ ...rule, resources: [resource], verbs: left }] : []),
    ];
  });
}

/** In Velero's namespace. */
async function giveBack({ controlPlane: { call } }: Stage, lacking: Lacking) {
  const name = `${lackingName(lacking)}-after-all`;
  const { resource, verbs } = lacking;
  const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/velero";
  await call("POST", `${path}/roles`, {
    metadata: { name },
    rules: [{ apiGroups: ["velero.io"], resources: [resource], verbs }],
  });
  await call("POST", `${path}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name: lackingName(lacking), namespace: "velero" }],
  });
}

async function startToEnd(stage: Stage, kubeconfig: string) {
  const [program, ...args] = agentProgram();
  return await runProcess(program, [
    ...[...args, "server", "--kubeconfig", kubeconfig, "--node-name", "node-1"],
    ...["--host-pods", stage.hostPods, "--metrics-address", "127.0.0.1:0"],
  ], { env: { HOME: stage.folder } });
}

/** Its volume is a claim that a CSI driver has provisioned, as only an annotation tells. */
async function podWithClaim(stage: Stage): Promise<StagePod> {
  const { call } = stage.controlPlane;
  const shape = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const size = { storage: "1Gi" };
  await call("POST", "/apis/storage.k8s.io/v1/csidrivers", {
    ...{ metadata: { name: "csi.example" }, spec: {} },
  });
  await call("POST", "/api/v1/persistentvolumes", {
    metadata: { name: "pv-1", annotations: { [annotations.provisionedBy]: "csi.example" } },
    spec: { ...shape, capacity: size, hostPath: { path: "/absent" } },
  });
  await call("POST", "/api/v1/namespaces/app/persistentvolumeclaims", {
    metadata: { name: "claim" },
    spec: { ...shape, resources: { requests: size }, volumeName: "pv-1" },
  });
  const data = { name: "data", persistentVolumeClaim: { claimName: "claim" } };
  const pod = await stage.pod({ spec: { volumes: [data] } });
  const volume = `${stage.hostPods}/${pod.uid}/volumes/kubernetes.io~csi/pv-1/mount`;
  await Deno.mkdir(volume, { recursive: true });
  return { ...pod, volume };
}
