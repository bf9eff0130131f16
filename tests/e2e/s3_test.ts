import assert from "node:assert/strict";
import { randomFile } from "../support/kopia.ts";
import * as objects from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { startS3 } from "../support/s3.ts";
import { startStage } from "../support/stage.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";
import { describeTree } from "../support/tree.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia", "versitygw");

Deno.test({
  ignore,
  name: "a backup to S3 by TLS is restored by the stock kopia, and shows its keys to nobody",
  async fn() {
    await using stage = await startStage();
    await using s3 = await startS3({ tls: true });
    using folder = tempFolder("s3-stage");
    const stock = stockKopia(stage.kopiaProgram, folder.path, s3.keys);
    const place = [
      ...["--bucket=backups", "--prefix=pre/kopia/app/", `--endpoint=${s3.endpoint}`],
      "--disable-tls-verification",
    ];
    await stock("repository", "create", "s3", ...place);
    const cloud = `[default]\naws_access_key_id = ${s3.keys.AWS_ACCESS_KEY_ID}\n` +
      `aws_secret_access_key = ${s3.keys.AWS_SECRET_ACCESS_KEY}\n`;
    const secret = objects.secret("cloud-credentials", { cloud });
    await stage.controlPlane.call("POST", "/api/v1/namespaces/velero/secrets", secret);
    await stage.location("s3", {
      provider: "aws",
      objectStorage: {
        bucket: "backups",
        prefix: "pre",
        caCert: new TextEncoder().encode(s3.caCerts ?? "").toBase64(),
      },
      config: { s3Url: `https://${s3.endpoint}`, region: "us-east-1" },
      credential: { name: "cloud-credentials", key: "cloud" },
    });

    await using agent = await stage.agent();
    const pod = await stage.pod();
    await randomFile(`${pod.volume}/random`, 40);
    const name = await stage.backup(pod, { spec: { backupStorageLocation: "s3" } });
    const mover = await agent.freeze();
    const secrets = [
      ...[objects.password, s3.keys.AWS_ACCESS_KEY_ID, s3.keys.AWS_SECRET_ACCESS_KEY],
    ];
    const files = await everyFile(agent.home);
    assert([...files.keys()].some((path) => path.endsWith("/repository.config")));
    mover.resume();
    const { status } = await stage.ended(name);
    assert.equal(status?.phase, "Completed", status?.message);
    for (const secret of secrets) {
      assert(!mover.args.join(" ").includes(secret), `"${secret}" is in the command line`);
      assert(!agent.output().includes(secret), `"${secret}" is in the log`);
      const told = [...files].filter(([, text]) => text.includes(secret)).map(([path]) => path);
      assert.deepEqual(told, [], `"${secret}" is in a file`);
    }
    await stock("snapshot", "restore", status.snapshotID ?? "", `${folder.path}/restored`);
    assert.deepEqual(
      await describeTree(`${folder.path}/restored`),
      await describeTree(pod.volume),
    );
  },
});

function stockKopia(program: string, folder: string, keys: Readonly<Record<string, string>>) {
  return async (...args: string[]) => {
    const { code, stderr } = await runProcess(program, [
      ...args,
      ...[`--config-file=${folder}/config`, "--no-auto-maintenance", "--disable-file-logging"],
    ], { clearEnv: true, env: { HOME: folder, KOPIA_PASSWORD: objects.password, ...keys } });
    assert.equal(code, 0, stderr);
  };
}

/** Path and text of all files below a folder. */
async function everyFile(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) { for (const [at, text] of await everyFile(path)) found.set(at, text); }
    else found.set(path, await Deno.readTextFile(path));
  }
  return found;
}
