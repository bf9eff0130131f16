import assert from "node:assert/strict";
import { randomFile } from "../support/kopia.ts";
import * as objects from "../support/objects.ts";
import { assertCompleted, type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, type StagePod, startStage, velero } from "../support/stage.ts";
import { startStockAgent, stockAgentRefused } from "../support/stock_agent.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = stockAgentRefused() !== undefined ||
  await toolsMissing("etcd", "kube-apiserver", "kopia", "velero-v1.15.2");

Deno.test({ ignore, name: "beside the agent of Velero 1.15.2", fn: bothWays });

async function bothWays(t: Deno.TestContext) {
  await using stage = await startStage({ crds: { velero: "v1.15.2" } });
  await using restores = restoresOn(stage);
  const step = stepsOf(t);
  const full = await stage.pod();
  await fill(full.volume);
  const empty = await stage.pod();
  const ground = { stage, restores };
  const ours = await withOurs(stage, () => backedUp(stage, [full, empty]));
  const theirs = await withTheirs(stage, async () => {
    await step(
      "a volume that we backed up is restored by it to an equal tree",
      () => assertRestored(ground, { snapshotID: ours[0], from: full }),
    );
    await step(
      "an empty volume that we backed up is restored by it",
      () => assertRestored(ground, { snapshotID: ours[1], from: empty }),
    );
    return await backedUp(stage, [full]);
  });
  await step(
    "a volume that it backed up is restored by us to an equal tree",
    () => withOurs(stage, () => assertRestored(ground, { snapshotID: theirs[0], from: full })),
  );
}

async function withOurs<T>(stage: Stage, run: () => Promise<T>): Promise<T> {
  await using _agent = await stage.agent();
  return await run();
}

/** The stock agent sees the store elsewhere. */
async function withTheirs<T>(stage: Stage, run: () => Promise<T>): Promise<T> {
  await moveStore(stage, "/store");
  try {
    await using _agent = await startStockAgent(stage);
    return await run();
  } finally {
    await moveStore(stage, stage.store);
  }
}

interface Restored {
  readonly snapshotID: string | undefined;
  readonly from: StagePod;
}

async function assertRestored(
  { stage, restores }: { readonly stage: Stage; readonly restores: Restores },
  { snapshotID = "", from }: Restored,
) {
  assert((await stage.snapshots()).some(({ id }) => id === snapshotID));
  const to = await restores.pod();
  await assertCompleted(restores, await restores.restore(to, { spec: { snapshotID } }));
  assert((await Deno.lstat(`${to.volume}/.velero/${objects.restoreUid}`)).isFile);
  await Deno.remove(`${to.volume}/.velero`, { recursive: true });
  assert.deepEqual(await describeTree(to.volume), await describeTree(from.volume));
}

/** The snapshots that the agent which runs now makes of the volumes. */
async function backedUp(stage: Stage, pods: readonly StagePod[]) {
  const names = await Promise.all(pods.map((pod) => stage.backup(pod)));
  return await Promise.all(names.map(async (name) => {
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    return status.snapshotID;
  }));
}

async function moveStore({ controlPlane: { call } }: Stage, fspath: string) {
  const path = `${velero}/backupstoragelocations/default`;
  await call("PATCH", path, { spec: { config: { fspath } } });
}

async function fill(volume: string) {
  await Deno.mkdir(`${volume}/deep/er`, { recursive: true });
  await Deno.mkdir(`${volume}/empty folder`);
  await Deno.writeTextFile(`${volume}/deep/er/grüße\n✓`, "not ASCII");
  await Deno.writeTextFile(`${volume}/setuid`, "mode 4755");
  await Deno.chown(`${volume}/setuid`, 1234, 5678);
  await Deno.chmod(`${volume}/setuid`, 0o4755);
  await Deno.writeTextFile(`${volume}/nobody`, "mode 0000");
  await Deno.chmod(`${volume}/nobody`, 0o000);
  await Deno.symlink("/etc/passwd", `${volume}/deep/outside`);
  await Deno.utime(`${volume}/nobody`, 1_000_000_000, 1_000_000_000);
  await randomFile(`${volume}/random`, 30);
}
