import assert from "node:assert/strict";
import * as objects from "../support/objects.ts";
import { runProcess } from "../support/process.ts";
import { type Restores, restoresOn } from "../support/restores.ts";
import { type Stage, startStage, velero } from "../support/stage.ts";
import { stepsOf } from "../support/steps.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver", "kopia");

/** What the fixture's own page says of it. */
const fixture = new URL("../fixtures/velero-1.15.2/", import.meta.url);
const namespace = "fixture-app";
const snapshots = {
  "manifest-1.json": "12694d2edd972a90516e2c8a8ee9b296",
  "manifest-2.json": "beef99c8145b7c530e8c970d3febbbe9",
};
const emptySnapshot = "d2ed86b203dd67bfe528ef1fdd0156ab";

Deno.test({
  ignore,
  name: "what Velero 1.15.2 backed up",
  async fn(t) {
    await using stage = await startStage();
    await using restores = restoresOn(stage);
    await unpack(stage);
    await using _agent = await stage.agent();
    const step = stepsOf(t);
    for (const [manifest, snapshotID] of Object.entries(snapshots)) {
      await step(`is restored as ${manifest} has it`, async () => {
        const volume = await restored(restores, snapshotID);
        const wanted: readonly Entry[] = JSON.parse(
          await Deno.readTextFile(new URL(manifest, fixture)),
        );
        assert(wanted.length > 100);
        assert.deepEqual(await entriesOf(volume), wanted.map(comparable).sort(byPath));
      });
    }
    await step("is restored as an empty folder where it was one", async () => {
      assert.deepEqual(await entriesOf(await restored(restores, emptySnapshot)), []);
    });
  },
});

async function unpack({ folder, controlPlane: { call } }: Stage) {
  const store = `${folder}/velero-store`;
  await Deno.mkdir(store);
  const archive = new URL("repository.tar.gz", fixture).pathname;
  const { code, stderr } = await runProcess("tar", ["xzf", archive, "-C", store]);
  assert.equal(code, 0, stderr);
  const secret = objects.repositoryPasswordSecret("static-passw0rd");
  await call("PATCH", `/api/v1/namespaces/velero/secrets/${secret.metadata.name}`, secret);
  const place = { name: "fixture", spec: { config: { fspath: store } } };
  await call("POST", `${velero}/backupstoragelocations`, objects.backupStorageLocation(place));
  const repository = objects.backupRepository({
    spec: { volumeNamespace: namespace, backupStorageLocation: "fixture" },
  });
  await call("POST", `${velero}/backuprepositories`, repository);
}

/** The folder that the snapshot was restored to, without the sign that it is done. */
async function restored(restores: Restores, snapshotID: string): Promise<string> {
  const pod = await restores.pod();
  const spec = { snapshotID, sourceNamespace: namespace, backupStorageLocation: "fixture" };
  const { status } = await restores.ended(await restores.restore(pod, { spec }));
  assert.equal(status?.phase, "Completed", status?.message);
  await Deno.remove(`${pod.volume}/.velero`, { recursive: true });
  return pod.volume;
}

interface Entry {
  readonly path: string;
  readonly type: string;
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  readonly mtime?: number | null;
  readonly size?: number;
  readonly sha256?: string;
  readonly target?: string;
}

const byPath = (a: Entry, b: Entry) => a.path < b.path ? -1 : 1;

/** kopia keeps for a folder the time of the newest file below; that of a link was not noted. */
function comparable({ mtime, ...entry }: Entry): Entry {
  return entry.type === "file" && mtime ? { ...entry, mtime } : entry;
}

async function entriesOf(root: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const path of walk(root, "")) entries.push(await entryOf(root, path));
  return entries.sort(byPath);
}

function* walk(root: string, folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(`${root}/${folder}`)) {
    const path = folder === "" ? name : `${folder}/${name}`;
    yield path;
    if (isDirectory) yield* walk(root, path);
  }
}

async function entryOf(root: string, path: string): Promise<Entry> {
  const file = `${root}/${path}`;
  const { isDirectory, isSymlink, mode, uid, gid, mtime, size } = await Deno.lstat(file);
  const common = {
    path,
    mode: `0o${((mode ?? 0) & 0o7777).toString(8)}`,
    uid: uid ?? -1,
    gid: gid ?? -1,
  };
  if (isDirectory) return { type: "dir", ...common };
  if (isSymlink) return { type: "link", ...common, target: await Deno.readLink(file) };
  const time = { mtime: Math.floor((mtime?.getTime() ?? 0) / 1_000) };
  const sum = await crypto.subtle.digest("SHA-256", await Deno.readFile(file));
  return { type: "file", ...common, ...time, size, sha256: new Uint8Array(sum).toHex() };
}
