/** The agent confined as manifests/daemonset.yaml confines it: capabilities, read-only root. */
import assert from "node:assert/strict";
import { lchown } from "node:fs/promises";
import type { KubeObject } from "../../lib/kube/object.ts";
import { readManifest } from "../support/rights.ts";
import { type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const isRoot = Deno.uid() === 0;
const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia") || !isRoot;

interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly securityContext: { readonly capabilities: { readonly add: readonly string[] } };
        }[];
      };
    };
  };
}

Deno.test({ ignore, name: "an agent in its container", fn: confined });

async function confined(t: Deno.TestContext) {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  const step = stepsOf(t);
  const from = await stage.pod();
  await fill(from.volume);
  const granted = await grantedCapabilities();
  let snapshotID = "";

  await step("backs up and restores files of all owners and modes", async () => {
    await using agent = await confinedAgent(stage, granted);
    const { status } = await stage.ended(await stage.backup(from));
    assert.equal(status?.phase, "Completed", status?.message);
    snapshotID = status.snapshotID ?? "";
    assert.deepEqual(await restored(restores, snapshotID), await describeTree(from.volume));
    assert.equal((await agent.stop()).code, 0);
  });

  for (const capability of granted) {
    await step(`needs ${capability} for that`, async () => {
      const others = granted.filter((one) => one !== capability);
      await using _agent = await confinedAgent(stage, others);
      const outcome = await restored(restores, snapshotID);
      assert.notDeepEqual(outcome, await describeTree(from.volume));
    });
  }
}

async function grantedCapabilities(): Promise<readonly string[]> {
  const [daemonSet] = await readManifest<DaemonSet>("daemonset.yaml");
  const [container] = daemonSet?.spec.template.spec.containers ?? [];
  return container?.securityContext.capabilities.add.map((name) => name.toLowerCase()) ?? [];
}

/** Root with these capabilities and no way to more; it can write to the stage's folder alone. */
async function confinedAgent(stage: Stage, capabilities: readonly string[]) {
  const home = `${stage.folder}/scratch`;
  await Deno.mkdir(home, { recursive: true });
  const few = ["-all", ...capabilities.map((name) => `+${name}`)].join(",");
  const script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro / && exec "$@"';
  const wrapper = [
    ...["unshare", "--mount", "sh", "-c", script, stage.folder],
    ...["setpriv", "--no-new-privs", "--bounding-set", few, "--inh-caps", few, "--"],
  ];
  return await stage.agent({ wrapper, home, env: { TMPDIR: home, VELERO_SCRATCH_DIR: home } });
}

/** The tree that a restore gives, or why it gives none. */
async function restored(restores: Restores, snapshotID: string): Promise<readonly string[]> {
  const to: StagePod = await restores.pod();
  await Deno.chown(to.volume, 65_534, 65_534);
  await Deno.chmod(to.volume, 0o700);
  const name = await restores.restore(to, { spec: { snapshotID } });
  const { status } = await restores.ended(name, 60_000);
  if (status?.phase !== "Completed") return [status?.message ?? ""];
  await Deno.remove(`${to.volume}/.velero`, { recursive: true });
  return await describeTree(to.volume);
}

/** What other users own and nobody else may read, and what only its owner may change. */
async function fill(volume: string) {
  await Deno.mkdir(`${volume}/closed`);
  await Deno.writeTextFile(`${volume}/closed/secret`, "text");
  await Deno.writeTextFile(`${volume}/program`, "text");
  await Deno.symlink("elsewhere", `${volume}/link`);
  for (const name of ["closed/secret", "closed", "program", ""]) {
    await Deno.chown(`${volume}/${name}`, 1_234, 4_321);
  }
  await lchown(`${volume}/link`, 1_234, 4_321);
  await Deno.chmod(`${volume}/closed/secret`, 0o400);
  await Deno.chmod(`${volume}/closed`, 0o500);
  await Deno.chmod(`${volume}/program`, 0o6755);
  await Deno.chmod(volume, 0o700);
}
