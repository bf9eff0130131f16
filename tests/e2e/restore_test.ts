import assert from "node:assert/strict";
import { randomFile } from "../support/kopia.ts";
import * as objects from "../support/objects.ts";
import {
  assertCompleted,
  backUp,
  type RestoreSteps,
  runRestoreSteps,
} from "../support/restores.ts";
import type { StagePod } from "../support/stage.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";
import { isCancelKnown } from "../support/velero_crds.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

Deno.test({ ignore, name: "a restore", fn: (t) => runRestoreSteps(t, steps) });

const steps: RestoreSteps = {
  async "of what was backed up gives an equal tree, and the sign that it is done"(
    { stage, restores },
  ) {
    const from = await stage.pod();
    await fill(from.volume);
    const { status: saved } = await stage.ended(await stage.backup(from));
    const to = await restores.pod();
    const name = await restores.restore(to, { spec: { snapshotID: saved?.snapshotID ?? "" } });
    const { status } = await restores.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    await assertDone(to);
    await Deno.remove(`${to.volume}/.velero`, { recursive: true });
    assert.deepEqual(await describeTree(to.volume), await describeTree(from.volume));
    assert.deepEqual(status.progress, saved?.progress);
    assert.equal(status.node, isCancelKnown ? "node-1" : undefined);
    assert(status.startTimestamp && status.completionTimestamp);
    assert.deepEqual(restores.log.phases(name), ["", "InProgress", "Completed"]);
    const [event, ...more] = await stage.endEventsOf(name);
    assert.equal(event?.reason, "Completed");
    assert.deepEqual(more, []);
  },

  async "replaces what the snapshot has, and leaves the rest"({ restores, small }) {
    const pod = await restores.pod();
    await Deno.writeTextFile(`${pod.volume}/file`, "older and longer than the new");
    await Deno.writeTextFile(`${pod.volume}/other`, "kept");
    await assertCompleted(restores, await restores.restore(pod, { spec: { snapshotID: small } }));
    assert.equal(await Deno.readTextFile(`${pod.volume}/file`), "text");
    assert.equal(await Deno.readTextFile(`${pod.volume}/other`), "kept");
  },

  async "follows no link that the snapshot puts in the place of the sign"({ stage, restores }) {
    using outside = tempFolder("outside");
    const snapshot = await backUp(
      stage,
      (volume) => Deno.symlink(outside.path, `${volume}/.velero`),
    );
    const pod = await restores.pod();
    await assertCompleted(
      restores,
      await restores.restore(pod, { spec: { snapshotID: snapshot } }),
    );
    assert.deepEqual([...Deno.readDirSync(outside.path)], []);
    await assertDone(pod);
  },

  async "writes holes where that is asked for"({ stage, restores }) {
    const snapshot = await backUp(stage, async (volume) => {
      using file = await Deno.open(`${volume}/sparse`, { write: true, create: true });
      await file.truncate(16 << 20);
    });
    const blocks = async (uploaderSettings: Readonly<Record<string, string>>) => {
      const pod = await restores.pod();
      const spec = { snapshotID: snapshot, uploaderSettings };
      await assertCompleted(restores, await restores.restore(pod, { spec }));
      const { size, blocks } = await Deno.stat(`${pod.volume}/sparse`);
      assert.equal(size, 16 << 20);
      return blocks ?? 0;
    };
    const settings = { WriteSparseFiles: "true", ParallelFilesDownload: "1" };
    assert(await blocks(settings) < 1_000);
    assert(await blocks({ WriteSparseFiles: "false" }) > 30_000);
  },
};

async function fill(volume: string) {
  await Deno.mkdir(`${volume}/deep/er`, { recursive: true });
  await Deno.writeTextFile(`${volume}/deep/er/grüße\n✓`, "not ASCII");
  await Deno.writeTextFile(`${volume}/setuid`, "mode 4755");
  await Deno.chown(`${volume}/setuid`, 1234, 5678);
  await Deno.chmod(`${volume}/setuid`, 0o4755);
  await Deno.writeTextFile(`${volume}/nobody`, "mode 0000");
  await Deno.chmod(`${volume}/nobody`, 0o000);
  await Deno.symlink("/etc/passwd", `${volume}/deep/outside`);
  await Deno.utime(`${volume}/nobody`, 1_000_000_000, 1_000_000_000);
  await randomFile(`${volume}/random`, 3);
}

/** What the restored pod waits for: readable by everybody. */
async function assertDone({ volume }: StagePod) {
  const folder = await Deno.lstat(`${volume}/.velero`);
  assert(folder.isDirectory);
  assert.equal((folder.mode ?? 0) & 0o777, 0o755);
  const file = await Deno.lstat(`${volume}/.velero/${objects.restoreUid}`);
  assert(file.isFile);
  assert.equal((file.mode ?? 0) & 0o777, 0o644);
  assert.equal(file.size, 0);
}
