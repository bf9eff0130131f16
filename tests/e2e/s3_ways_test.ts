import assert from "node:assert/strict";
import type { Agent } from "../support/agent.ts";
import { randomFile } from "../support/kopia.ts";
import { assertWholeLog, reasonOf } from "../support/messages.ts";
import * as objects from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { restoresOn } from "../support/restores.ts";
import { type S3Server, startS3 } from "../support/s3.ts";
import { type Stage, type StagePod, startStage } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia", "versitygw");
const role = "arn:aws:iam::1:role/backup";

Deno.test({ ignore, name: "with a store of S3 over TLS", fn: overTls });

async function overTls(t: Deno.TestContext) {
  await using stage = await startStage();
  await using s3 = await startS3({ tls: true });
  await using sts = roleServer(s3);
  await makeRepository(stage, s3);
  const env = {
    AWS_ENDPOINT_URL_STS: sts.url,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${sts.url}/container`,
  };
  await using agent = await stage.agent({ env });
  const pod = await stage.pod();
  await Deno.writeTextFile(`${pod.volume}/file`, "text");
  const step = stepsOf(t);
  for (const [name, run] of Object.entries(steps)) {
    await step(name, () => run({ stage, s3, sts, agent, pod }));
  }
  await step("the log leaves nothing empty and tells no secret", async () => {
    await agent.stop();
    assertWholeLog(agent.log());
    for (const secret of [objects.password, s3.keys.AWS_SECRET_ACCESS_KEY, wrongKey]) {
      assert(!agent.output().includes(secret), `"${secret}" is in the log`);
    }
  });
}

interface Ground {
  readonly stage: Stage;
  readonly s3: S3Server;
  readonly sts: RoleServer;
  readonly agent: Agent;
  readonly pod: StagePod;
}

const wrongKey = "not-the-secret-of-s3";
/** Kopia repeats a lost read or write ten times before it says so: about a minute each. */
const isSlowWanted = Boolean(Deno.env.get("CI") ?? Deno.env.get("LONGSHORE_SLOW_TESTS"));

const steps: Readonly<Record<string, (ground: Ground) => Promise<void>>> = {
  async "a wrong key is told as that"(ground) {
    const keys = { ...ground.s3.keys, AWS_SECRET_ACCESS_KEY: wrongKey };
    const end = await backUpTo(ground, { name: "wrong-key", credentials: profileOf(keys) });
    assert.equal(reasonOf(end), "RepositoryAccessDenied", end.status?.message);
  },

  async "an authority that is not known is told, with the field to look at"(ground) {
    const credentials = profileOf(ground.s3.keys);
    const end = await backUpTo(ground, { name: "no-ca", credentials, caCert: "" });
    assert.equal(reasonOf(end), "RepositoryUnreachable", end.status?.message);
    assert.match(end.status?.message ?? "", /caCert/);
  },

  /** versitygw knows no temporary keys: that it refuses the token shows that the token came there. */
  async "a role is taken on with the keys of source_profile, and its token sent to the store"(
    ground,
  ) {
    const { sts } = ground;
    const credentials =
      `${profileOf({ AWS_ACCESS_KEY_ID: "SOURCE", AWS_SECRET_ACCESS_KEY: "x" })}` +
      `[worker]\nrole_arn=${role}\nsource_profile=default\nduration_seconds=7200\n`;
    const end = await backUpTo(ground, { name: "role", credentials, profile: "worker" });
    assert.equal(reasonOf(end), "RepositoryAccessDenied", end.status?.message);
    assert.match(end.status?.message ?? "", /provided token/);
    assert.equal(sts.asked.at(-1)?.get("RoleArn"), role);
    assert.equal(sts.asked.at(-1)?.get("DurationSeconds"), "7200");
  },

  async "the role of the agent's container is used where the location names no credentials"(
    ground,
  ) {
    const end = await backUpTo(ground, { name: "container" });
    assert.equal(end.status?.phase, "Completed", end.status?.message);
    assert(ground.sts.containersAsked() > 0);
  },

  ...(isSlowWanted && { "a server that stops in the middle of a restore fails it": lostServer }),
};

async function lostServer({ stage, s3, sts, agent, pod }: Ground) {
  const ground = { stage, s3, sts, agent, pod };
  const saved = await backUpTo(ground, {
    ...{ name: "lost", credentials: profileOf(s3.keys), megabytes: 100 },
  });
  assert.equal(saved.status?.phase, "Completed", saved.status?.message);
  await using restores = restoresOn(stage);
  const spec = { backupStorageLocation: "lost" };
  const restoring = await restores.restore(await restores.pod(), {
    spec: { ...spec, snapshotID: saved.status.snapshotID ?? "" },
  });
  const reader = await agent.freeze();
  await s3.stop();
  reader.resume();
  const end = await restores.ended(restoring, 240_000);
  assert.match(end.status?.message ?? "", /^RepositoryUnreachable: /);
  const next = await stage.ended(await stage.backup(pod));
  assert.equal(next.status?.phase, "Completed", next.status?.message);
}

interface Way {
  readonly name: string;
  /** The text of a credentials file; absent: the location names none. */
  readonly credentials?: string;
  readonly profile?: string;
  /** As base64; the default is that of the server's authority. */
  readonly caCert?: string;
  /** Of random content that is added to the volume. */
  readonly megabytes?: number;
}

/** Makes a location of this kind, backs up to it, and gives the object at its end. */
async function backUpTo({ stage, s3, pod }: Ground, way: Way) {
  const { name, credentials, profile, megabytes } = way;
  const caCert = way.caCert ?? new TextEncoder().encode(s3.caCerts ?? "").toBase64();
  if (credentials !== undefined) {
    const secret = objects.secret(`keys-${name}`, { cloud: credentials });
    await stage.controlPlane.call("POST", "/api/v1/namespaces/velero/secrets", secret);
  }
  await stage.location(name, {
    provider: "aws",
    objectStorage: { bucket: "backups", prefix: "pre", ...(caCert !== "" && { caCert }) },
    config: {
      s3Url: `https://${s3.endpoint}`,
      region: "us-east-1",
      ...(profile !== undefined && { profile }),
    },
    ...(credentials !== undefined && { credential: { name: `keys-${name}`, key: "cloud" } }),
  });
  if (megabytes !== undefined) await randomFile(`${pod.volume}/random`, megabytes);
  return await stage.ended(await stage.backup(pod, { spec: { backupStorageLocation: name } }));
}

function profileOf(keys: Readonly<Record<string, string>>): string {
  return `[default]\naws_access_key_id=${keys["AWS_ACCESS_KEY_ID"]}\n` +
    `aws_secret_access_key=${keys["AWS_SECRET_ACCESS_KEY"]}\n`;
}

interface RoleServer extends AsyncDisposable {
  readonly url: string;
  /** What was asked of STS. */
  readonly asked: readonly URLSearchParams[];
  containersAsked(): number;
}

/** In the place of AWS: gives the keys of the S3 server for a role, and for a container. */
function roleServer({ keys }: S3Server): RoleServer {
  const asked: URLSearchParams[] = [];
  let containers = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = keys;
    if (request.method === "GET") {
      containers++;
      return Response.json({ AccessKeyId: id, SecretAccessKey: secret, Token: "", Expiration });
    }
    asked.push(new URLSearchParams(await request.text()));
    return new Response(
      `<R><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey>` +
        `<SessionToken>a-token</SessionToken></R>`,
    );
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    containersAsked: () => containers,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function makeRepository({ kopiaProgram }: Stage, { endpoint, keys }: S3Server) {
  using folder = tempFolder("s3-stage");
  const { code, stderr } = await runProcess(kopiaProgram, [
    ...["repository", "create", "s3", "--bucket=backups", "--prefix=pre/kopia/app/"],
    ...[`--endpoint=${endpoint}`, "--disable-tls-verification"],
    ...[`--config-file=${folder.path}/config`, "--disable-file-logging"],
  ], {
    clearEnv: true,
    env: { HOME: folder.path, KOPIA_PASSWORD: objects.password, ...keys },
  });
  assert.equal(code, 0, stderr);
}
