import assert from "node:assert/strict";
import * as objects from "../../tests/support/objects.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import type { KubeClient } from "../kube/client.ts";
import { createRepositories } from "./repositories.ts";
import { resticFinder } from "./restic.ts";
import { openResticBackup } from "./restic_backup.ts";

const never = new AbortController().signal;
const searchPath = Deno.env.get("PATH") ?? "";
const google = JSON.stringify({ type: "service_account", private_key: "the-private-key" });

/** What is read of the cluster; a repository of restic in a bucket of Google with its own CA. */
function cluster(identifier: string): KubeClient {
  const location = objects.backupStorageLocation({
    spec: {
      provider: "gcp",
      objectStorage: { bucket: "b", caCert: btoa("PEM") },
      credential: { name: "cloud", key: "file" },
    },
  });
  const repository = objects.backupRepository({
    spec: { repositoryType: "restic", resticIdentifier: identifier },
  });
  const secrets = [objects.secret("cloud", { file: google }), objects.repositoryPasswordSecret()];
  const client = {
    get: (resource: { readonly plural: string }, { name }: { readonly name: string }) =>
      Promise.resolve(
        resource.plural === "secrets"
          ? secrets.find(({ metadata }) => metadata.name === name)
          : location,
      ),
    list: () => Promise.resolve({ items: [repository] }),
  };
  return client as unknown as KubeClient; // the two calls that are made
}

/** Says which files it was given, and stays until it is ended. */
const fakeRestic = `#!/bin/sh
case "$1" in unlock) exit;; esac
stat -c %a "$GOOGLE_APPLICATION_CREDENTIALS"
for word; do case "$word" in --cacert=*) stat -c %a "\${word#*=}";; esac; done
cat "$GOOGLE_APPLICATION_CREDENTIALS"; echo
echo $$
echo '{"message_type":"status","bytes_done":1,"total_bytes":2}'
exec sleep 600
`;

function ground({ identifier = "gs:b:/restic/app", restic = fakeRestic } = {}) {
  const temp = tempFolder("repositories");
  const program = `${temp.path}/restic`;
  Deno.writeTextFileSync(program, restic, { mode: 0o755 });
  const common = { folder: `${temp.path}/agent`, environment: { PATH: searchPath } };
  const repositories = createRepositories({
    client: cluster(identifier),
    namespace: "velero",
    environment: {},
    resourceTimeoutMs: 20_000,
    kopia: { ...common, find: () => Promise.reject(new Error("kopia is not wanted here")) },
    restic: { ...common, find: resticFinder({ restic: program, searchPath }) },
  });
  return {
    folder: temp.path,
    open: () =>
      repositories.openRestic({ volumeNamespace: "app", storageLocation: "default" }, never),
    secretFiles: () => {
      try {
        return [...Deno.readDirSync(`${common.folder}/credentials`)].length;
      } catch {
        return 0;
      }
    },
    async [Symbol.asyncDispose]() {
      await repositories[Symbol.asyncDispose]();
      temp[Symbol.dispose]();
    },
  };
}

for (const how of ["cancel", "kill"] as const) {
  Deno.test(`files with secrets are for us alone, and gone after a ${how}`, async () => {
    await using place = ground();
    const session = await place.open();
    const run = await session.start({ args: ["backup"] }, never);
    const lines: string[] = [];
    for await (const line of run.lines()) {
      lines.push(line);
      if (!line.startsWith('{"message_type"')) continue;
      assert.deepEqual(lines.slice(0, 3), ["600", "600", google]);
      assert.equal(place.secretFiles(), 2);
      if (how === "kill") Deno.kill(Number(lines[3]), "SIGKILL");
      else run.stop();
    }
    await run[Symbol.asyncDispose]();
    await session[Symbol.asyncDispose]();
    assert.equal(place.secretFiles(), 0);
  });
}

Deno.test("files with secrets go with the data path", async () => {
  await using place = ground();
  const path = openResticBackup(await place.open(), { volumePath: place.folder, tags: {} });
  for await (const { type } of path.events(never)) if (type === "progress") path.cancel();
  assert.equal(place.secretFiles(), 2);
  await path[Symbol.asyncDispose]();
  assert.equal(place.secretFiles(), 0);
});

Deno.test("no file with secrets is left by a repository that cannot be opened", async () => {
  await using place = ground({ identifier: "" });
  await assert.rejects(place.open(), /does not say where its repository is/);
  assert.equal(place.secretFiles(), 0);
});
