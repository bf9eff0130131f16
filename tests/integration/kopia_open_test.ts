import assert from "node:assert/strict";
import { backupRepositories } from "../../lib/api/backup_repository.ts";
import type { CustomResourceDefinition } from "../../lib/api/custom_resource_definition.ts";
import { backupStorageLocations } from "../../lib/api/backup_storage_location.ts";
import { namespaces, secrets } from "../../lib/api/core.ts";
import { MovementError } from "../../lib/base/error.ts";
import type { Reason } from "../../lib/base/reason.ts";
import { openBackup } from "../../lib/datapath/kopia_backup.ts";
import { resticFinder } from "../../lib/datapath/restic.ts";
import { createRepositories, type Repositories } from "../../lib/datapath/repositories.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import type { KubeObject, Resource } from "../../lib/kube/object.ts";
import { startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import {
  eventsOf,
  folderBench,
  type KopiaBench,
  kopiaBench,
  never,
  password,
} from "../support/kopia.ts";
import * as objects from "../support/objects.ts";
import { startS3 } from "../support/s3.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia", "versitygw", "etcd", "kube-apiserver");
const namespace = "velero";

interface Scene {
  readonly client: KubeClient;
  readonly bench: KopiaBench;
  readonly repositories: Repositories;
}

function failsWith(reason: Reason, pattern: RegExp) {
  return (error: unknown) => {
    assert(error instanceof MovementError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

/** Locations, Secrets and repositories with which each step begins. */
async function arrange({ client, bench }: Omit<Scene, "repositories">) {
  const resources: Resource<KubeObject>[] = [backupRepositories, backupStorageLocations, secrets];
  for (const what of resources) {
    for (const { metadata } of (await client.list(what, { namespace }, never)).items) {
      await client.delete(what, { namespace, name: metadata.name }, never);
    }
  }
  assert(bench.parameters.store === "filesystem");
  const fspath = bench.parameters.path.replace(/\/pre\/kopia\/ns$/, "");
  const spec = { objectStorage: { bucket: "any", prefix: "pre" }, config: { fspath } };
  await client.create(backupStorageLocations, objects.backupStorageLocation({ spec }), never);
  await client.create(secrets, objects.repositoryPasswordSecret(`${password}\n`), never);
}

function repositoryOf(volumeNamespace: string, changes = {}) {
  return objects.backupRepository({ spec: { volumeNamespace }, ...changes });
}

const key = { volumeNamespace: "ns", storageLocation: "default" };

/** As Velero's own CRDs are. */
function withoutRequiredSpec(definition: CustomResourceDefinition): CustomResourceDefinition {
  const versions = definition.spec.versions.map((version) => {
    const { required: _, ...schema } = version.schema?.openAPIV3Schema ?? {};
    return { ...version, schema: { openAPIV3Schema: schema } };
  });
  return { ...definition, spec: { ...definition.spec, versions } };
}

const steps: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async "a ready repository is opened, and a backup goes into it"({ client, repositories }) {
    await client.create(backupRepositories, repositoryOf("ns"), never);
    using volume = tempFolder("volume");
    const order = { volumePath: volume.path, sourcePath: "p", tags: {} };
    const path = openBackup(await repositories.open(key, never), order);
    assert.equal((await eventsOf(path)).at(-1)?.type, "completed");
  },

  async "a missing repository is made, and awaited until the server has it ready"(scene) {
    const { client, repositories } = scene;
    const opening = repositories.open(key, never);
    const made = await poll(async () =>
      (await client.list(backupRepositories, { namespace }, never)).items[0]
    );
    assert.equal(made.metadata.name, "ns-default-kopia");
    assert.equal(made.metadata.labels?.["velero.io/repository-type"], "kopia");
    assert.equal(made.spec.volumeNamespace, "ns");
    const body = { status: { phase: "Ready" } };
    const { name } = made.metadata;
    await client.patch(backupRepositories, { namespace, name, body }, never);
    await using session = await opening;
    assert.equal(session.name, name);
  },

  async "a location without a spec is told, and a repository without one opened"(scene) {
    const { client, repositories } = scene;
    const metadata = { name: "bare", namespace };
    await client.create<KubeObject>(backupStorageLocations, { metadata }, never);
    await assert.rejects(
      repositories.open({ ...key, storageLocation: "bare" }, never),
      failsWith("StorageLocationInvalid", /"bare": it has no spec; write one$/),
    );
    const { spec: _, ...bare } = repositoryOf("ns");
    await client.create<KubeObject>(backupRepositories, bare, never);
    await using session = await repositories.open(key, never);
    assert.equal(session.name, bare.metadata.name);
  },

  async "two openings at once make one repository"({ client, repositories }) {
    const openings = [repositories.open(key, never), repositories.open(key, never)];
    const ends = Promise.allSettled(openings);
    await poll(async () => (await client.list(backupRepositories, { namespace }, never)).items[0]);
    const body = { status: { phase: "NotReady", message: "no bucket" } };
    const patch = { namespace, name: "ns-default-kopia", body };
    await client.patch(backupRepositories, patch, never);
    for (const end of await ends) {
      assert(end.status === "rejected");
      failsWith("RepositoryNotReady", /"ns-default-kopia" is not ready: no bucket$/)(end.reason);
    }
  },

  async "a repository that never becomes ready is told with its phase"({ client, repositories }) {
    const fresh = repositoryOf("ns", { status: { phase: "New" } });
    await client.create(backupRepositories, fresh, never);
    await assert.rejects(
      repositories.open(key, never),
      failsWith("RepositoryNotReady", /still "New" after 3 s; check that the Velero server runs/),
    );
  },

  async "an abort ends the wait at once"({ client, repositories }) {
    await client.create(backupRepositories, repositoryOf("ns", { status: {} }), never);
    const aborter = new AbortController();
    const opening = repositories.open(key, aborter.signal);
    aborter.abort(new Error("enough"));
    await assert.rejects(opening, /enough/);
  },

  async "two repositories for one key are refused by name"({ client, repositories }) {
    await client.create(backupRepositories, repositoryOf("ns"), never);
    await client.create(backupRepositories, repositoryOf("ns", { name: "second" }), never);
    await assert.rejects(
      repositories.open(key, never),
      failsWith("RepositoryNotReady", /2 times: "ns-default-kopia", "second"/),
    );
  },

  async "a missing location and a missing password are told by name"({ client, repositories }) {
    await client.create(backupRepositories, repositoryOf("ns"), never);
    await assert.rejects(
      repositories.open({ ...key, storageLocation: "none" }, never),
      failsWith("StorageLocationMissing", /"velero\/none" does not exist/),
    );
    const name = "velero-repo-credentials";
    await client.delete(secrets, { namespace, name }, never);
    await assert.rejects(
      repositories.open(key, never),
      failsWith("CredentialsMissing", /Secret "velero\/velero-repo-credentials" does not exist/),
    );
    await client.create(secrets, objects.secret(name, { other: "x" }), never);
    await assert.rejects(
      repositories.open(key, never),
      failsWith("CredentialsMissing", /no key "repository-password" \(its keys: "other"\)/),
    );
    await client.delete(secrets, { namespace, name }, never);
    await client.create(secrets, objects.repositoryPasswordSecret("wrong-password"), never);
    await assert.rejects(
      repositories.open(key, never),
      failsWith("RepositoryPassword", /^(?!.*wrong-password)/),
    );
  },

  async "an S3 location takes its keys from its Secret, and its CA from caCertRef"(scene) {
    const { client, repositories } = scene;
    await using s3 = await startS3({ tls: true });
    await using _bench = await kopiaBench(s3.parameters, { keys: s3.keys });
    const credentials = "[work]\n" +
      `aws_access_key_id=${s3.keys.AWS_ACCESS_KEY_ID}\n` +
      `aws_secret_access_key=${s3.keys.AWS_SECRET_ACCESS_KEY}\n`;
    await client.create(secrets, objects.secret("cloud", { file: credentials }), never);
    await client.create(secrets, objects.secret("ca", { pem: s3.caCerts ?? "" }), never);
    const spec = {
      provider: "aws",
      objectStorage: { bucket: "backups", prefix: "pre", caCertRef: { name: "ca", key: "pem" } },
      config: { s3Url: `https://${s3.endpoint}`, region: "us-east-1", profile: "work" },
      credential: { name: "cloud", key: "file" },
    };
    const location = objects.backupStorageLocation({ name: "s3", spec });
    await client.create(backupStorageLocations, location, never);
    const repository = objects.backupRepository({
      spec: { volumeNamespace: "ns", backupStorageLocation: "s3" },
    });
    await client.create(backupRepositories, repository, never);
    const s3Key = { volumeNamespace: "ns", storageLocation: "s3" };
    await (await repositories.open(s3Key, never))[Symbol.asyncDispose]();

    const body = { spec: { config: { profile: "absent" } } };
    await client.patch(backupStorageLocations, { namespace, name: "s3", body }, never);
    await assert.rejects(
      repositories.open(s3Key, never),
      failsWith(
        "CredentialsMissing",
        /profile "absent".*Secret "cloud" \(profiles there: "work"\)/,
      ),
    );
    const without = { spec: { credential: null } };
    await client.patch(backupStorageLocations, { namespace, name: "s3", body: without }, never);
    await assert.rejects(
      repositories.open(s3Key, never),
      failsWith(
        "CredentialsMissing",
        /no spec\.credential, AWS_SHARED_CREDENTIALS_FILE is not set/,
      ),
    );
  },
};

async function poll<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 500; tries++) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("It did not come within 10 s");
}

Deno.test({
  ignore,
  name: "opening a repository as a BackupRepository and its location tell",
  async fn(t) {
    await using controlPlane = await startControlPlane();
    await installCrds(controlPlane, { change: withoutRequiredSpec });
    const connection = await connect({ kubeconfig: controlPlane.kubeconfig });
    await using client = createClient(connection, { userAgent: "test" });
    await client.create(namespaces, { metadata: { name: namespace } }, never);
    await using bench = await folderBench();
    for (const [name, run] of Object.entries(steps)) {
      await arrange({ client, bench });
      await using repositories = createRepositories({
        client,
        namespace,
        environment: { AWS_EC2_METADATA_DISABLED: "true" }, // no machine's role is looked for
        kopia: bench.settings,
        restic: { ...bench.settings, find: resticFinder({ searchPath: "" }) },
        resourceTimeoutMs: 3_000,
      });
      await t.step(name, () => run({ client, bench, repositories }));
    }
  },
});
