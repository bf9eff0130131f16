import assert from "node:assert/strict";
import { backupRepositories } from "../../lib/api/backup_repository.ts";
import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, startStage, velero } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { tool, toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia", "restic");

Deno.test({ ignore, name: "with the uploader restic", fn: withRestic });

async function withRestic(t: Deno.TestContext) {
  await using stage = await startStage();
  await using restores = restoresOn(stage);
  const identifier = `${stage.folder}/restic/app`;
  const restic = stockRestic(await tool("restic"), { folder: stage.folder, identifier });
  await restic("init");
  const repository = objects.backupRepository({
    spec: { repositoryType: "restic", resticIdentifier: identifier },
  });
  await stage.controlPlane.call("POST", `${velero}/${backupRepositories.plural}`, repository);
  await using agent = await stage.agent({ restic: await tool("restic") });
  const step = stepsOf(t);
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, restores, agent, restic }));
  }
  await step("the log leaves nothing empty and tells no secret", async () => {
    await agent.stop();
    assertWholeLog(agent.log());
    assert(!agent.output().includes(objects.password));
  });
}

interface Ground {
  readonly stage: Stage;
  readonly restores: Restores;
  readonly agent: Agent;
  readonly restic: (...args: string[]) => Promise<string>;
}

const uploaderType = "restic";

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "a volume is backed up and restored to an equal one"({ stage, restores, restic }) {
    const from = await stage.pod();
    await Deno.mkdir(`${from.volume}/sub`);
    await Deno.writeTextFile(`${from.volume}/sub/file`, "text", { mode: 0o640 });
    await Deno.chown(`${from.volume}/sub/file`, 1234, 5678);
    await Deno.symlink("sub/file", `${from.volume}/link`);
    const name = await stage.backup(from, { spec: { uploaderType } });
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    assert.deepEqual(status.progress, { bytesDone: 4, totalBytes: 4 });
    assert.equal(status.path, from.volume);
    const [snapshot] = JSON.parse(await restic("snapshots", "--json"));
    assert.equal(snapshot.id, status.snapshotID);
    assert.equal(snapshot.hostname, "velero");
    assert(snapshot.tags.includes(`backup-uid=${objects.backupUid}`));

    const to = await restores.pod();
    const spec = { uploaderType, snapshotID: snapshot.short_id } as const;
    const end = await restores.ended(await restores.restore(to, { spec }));
    assert.equal(end.status?.phase, "Completed", end.status?.message);
    assert(Deno.statSync(`${to.volume}/.velero/${objects.restoreUid}`).isFile);
    await Deno.remove(`${to.volume}/.velero`, { recursive: true });
    assert.deepEqual(await describeTree(to.volume), await describeTree(from.volume));
  },

  async "an empty volume is completed without a snapshot"({ stage }) {
    const name = await stage.backup(await stage.pod(), { spec: { uploaderType } });
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    assert.equal(status.snapshotID ?? "", "");
    assert.match(status.message ?? "", /volume was empty so no snapshot was taken/);
  },

  async "a setting that restic does not have is refused"({ restores }) {
    const spec = {
      uploaderType,
      snapshotID: "deadbeef",
      uploaderSettings: { ParallelFilesDownload: "4" },
    } as const;
    const end = await restores.ended(await restores.restore(await restores.pod(), { spec }));
    assert.match(end.status?.message ?? "", /^UploaderSettingInvalid: /);
  },

  async "a snapshot that does not exist is told"({ restores }) {
    const spec = { uploaderType, snapshotID: "deadbeef" } as const;
    const end = await restores.ended(await restores.restore(await restores.pod(), { spec }));
    assert.match(end.status?.message ?? "", /^SnapshotMissing: /);
  },

  async "a killed restic fails its object, and the next one runs"({ stage, agent, restic }) {
    const pod = await stage.pod();
    await randomFile(`${pod.volume}/random`, 60);
    const name = await stage.backup(pod, { spec: { uploaderType } });
    const mover = await agent.freeze();
    assert(!mover.args.join(" ").includes(objects.password));
    Deno.kill(mover.pid, "SIGKILL");
    const end = await stage.ended(name);
    assert.equal(reasonOf(end), "ResticKilled", end.status?.message);
    const next = await stage.ended(await stage.backup(pod, { spec: { uploaderType } }));
    assert.equal(next.status?.phase, "Completed", next.status?.message);
    assert.equal(await restic("list", "locks", "--no-lock"), "");
  },
};

function stockRestic(
  program: string,
  { folder, identifier }: { readonly folder: string; readonly identifier: string },
) {
  return async (...args: string[]) => {
    const { code, stdout, stderr } = await runProcess(program, args, {
      clearEnv: true,
      env: {
        HOME: folder,
        RESTIC_PASSWORD: objects.password,
        RESTIC_REPOSITORY: identifier,
      },
    });
    assert.equal(code, 0, stderr);
    return stdout;
  };
}
