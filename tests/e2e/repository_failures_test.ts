import assert from "node:assert/strict";
import { type FailureCase, runFailures } from "../support/failure_case.ts";
import { assertWholeLog } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { type S3Server, startS3 } from "../support/s3.ts";
import { type Stage, type StagePod, startStage, velero } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia", "versitygw");

Deno.test({
  ignore,
  name: "a backup fails with the reason, and lets the next one in,",
  async fn(t) {
    await using stage = await startStage();
    await using s3 = await startS3();
    await using agent = await stage.agent({ flags: ["--resource-timeout", "8s"] });
    await runFailures(t, stage, [...storeCases(s3), ...objectCases]);
    await stepsOf(t)("with log lines that leave nothing empty and tell no secret", async () => {
      await agent.stop();
      assertWholeLog(agent.log());
      const secrets = [s3.keys.AWS_ACCESS_KEY_ID, s3.keys.AWS_SECRET_ACCESS_KEY, wrongKey];
      for (const secret of [objects.password, wrongPassword, ...secrets]) {
        assert(!agent.output().includes(secret), `"${secret}" is in the log`);
        assert(!(await everyObject(stage)).includes(secret), `"${secret}" is in an object`);
      }
    });
  },
});

const wrongKey = "not-the-secret-of-s3";
const wrongPassword = "not the password";

const at = (stage: Stage, good: StagePod, backupStorageLocation: string) =>
  stage.backup(good, { spec: { backupStorageLocation } });

function storeCases({ endpoint, keys }: S3Server): readonly FailureCase[] {
  const config = { s3Url: `http://${endpoint}`, region: "us-east-1" };
  return [
    {
      where: "where the store's folder is missing",
      reason: "RepositoryNotInitialized",
      says: /app-nowhere-kopia/,
      async arrange(stage, good) {
        await stage.location("nowhere", { config: { fspath: `${stage.folder}/nowhere` } });
        return await at(stage, good, "nowhere");
      },
    },
    {
      where: "where the S3 store does not answer",
      reason: "RepositoryUnreachable",
      async arrange(stage, good) {
        const silent = { s3Url: "http://127.0.0.1:9", region: "r" };
        await s3Location(stage, "silent", { keys, config: silent });
        return await at(stage, good, "silent");
      },
    },
    {
      where: "where the bucket is missing",
      reason: "BucketMissing",
      says: /no bucket "absent"/,
      async arrange(stage, good) {
        await s3Location(stage, "no-bucket", { keys, config, bucket: "absent" });
        return await at(stage, good, "no-bucket");
      },
    },
    {
      where: "where the S3 store refuses the keys",
      reason: "RepositoryAccessDenied",
      async arrange(stage, good) {
        const wrong = { ...keys, AWS_SECRET_ACCESS_KEY: wrongKey };
        await s3Location(stage, "refused", { keys: wrong, config });
        return await at(stage, good, "refused");
      },
    },
    {
      where: "where the Secret with the store's keys is missing",
      reason: "CredentialsMissing",
      says: /"velero\/keys-of-nobody"/,
      async arrange(stage, good) {
        const credential = { name: "keys-of-nobody", key: "cloud" };
        await stage.location("no-keys", { provider: "aws", config, credential });
        return await at(stage, good, "no-keys");
      },
    },
  ];
}

const passwordSecret = "/api/v1/namespaces/velero/secrets/velero-repo-credentials";
const notReady = `${velero}/backuprepositories/app-not-ready-kopia`;

const objectCases: readonly FailureCase[] = [
  {
    where: "where the location is missing",
    reason: "StorageLocationMissing",
    says: /"velero\/absent"/,
    arrange: (stage, good) => at(stage, good, "absent"),
  },
  {
    where: "where the repository is not ready",
    reason: "RepositoryNotReady",
    says: /error to get repo options/,
    async arrange(stage, good) {
      await stage.location("not-ready");
      const status = { phase: "NotReady", message: "error to get repo options" };
      await stage.controlPlane.call("PATCH", notReady, { status });
      return await at(stage, good, "not-ready");
    },
  },
  {
    where: "where the repository is not ready for no reason that is given",
    reason: "RepositoryNotReady",
    says: /gave no reason/,
    async arrange(stage, good) {
      await stage.controlPlane.call("PATCH", notReady, { status: { message: null } });
      return await at(stage, good, "not-ready");
    },
  },
  {
    where: "where the password is not the repository's",
    reason: "RepositoryPassword",
    async arrange(stage, good) {
      const { data } = objects.repositoryPasswordSecret(wrongPassword);
      await stage.controlPlane.call("PATCH", passwordSecret, { data });
      return await stage.backup(good);
    },
    async mend(stage) {
      const { data } = objects.repositoryPasswordSecret();
      await stage.controlPlane.call("PATCH", passwordSecret, { data });
    },
  },
  {
    where: "where the password's Secret is missing",
    reason: "CredentialsMissing",
    says: /"velero\/velero-repo-credentials"/,
    async arrange(stage, good) {
      await stage.controlPlane.call("DELETE", passwordSecret);
      return await stage.backup(good);
    },
    async mend(stage) {
      const secret = objects.repositoryPasswordSecret();
      await stage.controlPlane.call("POST", "/api/v1/namespaces/velero/secrets", secret);
    },
  },
];

interface S3Place {
  readonly keys: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, string>>;
  readonly bucket?: string;
}

async function s3Location(
  stage: Stage,
  name: string,
  { keys, config, bucket = "backups" }: S3Place,
) {
  const cloud = `[default]\naws_access_key_id=${keys["AWS_ACCESS_KEY_ID"]}\n` +
    `aws_secret_access_key=${keys["AWS_SECRET_ACCESS_KEY"]}\n`;
  const secret = objects.secret(`keys-of-${name}`, { cloud });
  await stage.controlPlane.call("POST", "/api/v1/namespaces/velero/secrets", secret);
  const credential = { name: `keys-of-${name}`, key: "cloud" };
  await stage.location(name, { provider: "aws", objectStorage: { bucket }, config, credential });
}

async function everyObject({ controlPlane }: Stage): Promise<string> {
  const all = [
    await controlPlane.call("GET", `${velero}/podvolumebackups`),
    await controlPlane.call("GET", `${velero}/backuprepositories`),
    await controlPlane.call("GET", "/api/v1/namespaces/velero/events"),
  ];
  return JSON.stringify(all);
}
