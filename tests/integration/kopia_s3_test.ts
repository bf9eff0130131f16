import assert from "node:assert/strict";
import { MovementError } from "../../lib/base/error.ts";
import type { Reason } from "../../lib/base/reason.ts";
import { openBackup } from "../../lib/datapath/kopia_backup.ts";
import {
  eventsOf,
  kopiaBench,
  kopiasUnder,
  never,
  randomFile,
  snapshotsOf,
} from "../support/kopia.ts";
import { startS3 } from "../support/s3.ts";
import { freePorts } from "../support/ports.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia", "versitygw");
const sourcePath = "snapshot-pod-volume/kopia/ns/pod/data";

function failsWith(reason: Reason, pattern: RegExp) {
  return (error: unknown) => {
    assert(error instanceof MovementError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, pattern);
    assert(!error.message.includes("the-secret-of-s3"));
    return true;
  };
}

Deno.test({
  ignore,
  name: "a backup to S3 over TLS with a CA of one's own; its keys are in no file",
  async fn() {
    await using s3 = await startS3({ tls: true });
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys });
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 5);
    const order = { volumePath: volume.path, sourcePath, tags: { a: "b" } };
    const end = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert(end?.type === "completed", JSON.stringify(end));
    assert.equal((await snapshotsOf(bench, sourcePath))[0]?.id, end.result.snapshotID);
    const [folder] = [...Deno.readDirSync(`${bench.folder}/repositories`)];
    const config = await Deno.readTextFile(
      `${bench.folder}/repositories/${folder?.name}/repository.config`,
    );
    assert.match(config, /"bucket": "backups"/);
    assert(!config.includes(s3.keys.AWS_SECRET_ACCESS_KEY));
    assert(!config.includes(s3.keys.AWS_ACCESS_KEY_ID));

    const { caCerts: _, ...untrusting } = s3.parameters;
    await assert.rejects(
      bench.session({ parameters: untrusting }),
      failsWith("RepositoryUnreachable", /signed by unknown authority.*caCert/),
    );
    const insecure = { ...untrusting, skipVerify: true };
    await (await bench.session({ parameters: insecure }))[Symbol.asyncDispose]();
    await assert.rejects(
      bench.session({ parameters: { ...insecure, bucket: "nowhere" } }),
      failsWith("BucketMissing", /no bucket "nowhere"/),
    );
  },
});

Deno.test({
  ignore,
  name: "wrong keys, a missing bucket, an empty prefix and a closed port each have their reason",
  async fn() {
    await using s3 = await startS3();
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys });
    const badKeys = { ...s3.keys, AWS_SECRET_ACCESS_KEY: "another-secret" };
    await assert.rejects(
      bench.session({ keys: badKeys }),
      failsWith("RepositoryAccessDenied", /request signature/),
    );
    await assert.rejects(
      bench.session({ parameters: { ...s3.parameters, bucket: "nowhere" } }),
      failsWith("BucketMissing", /no bucket "nowhere"/),
    );
    await assert.rejects(
      bench.session({ parameters: { ...s3.parameters, prefix: "other/kopia/ns/" } }),
      failsWith("RepositoryNotInitialized", /prefix/),
    );
    const [port] = freePorts(1);
    await assert.rejects(
      bench.session({ parameters: { ...s3.parameters, endpoint: `127.0.0.1:${port}` } }),
      failsWith("RepositoryUnreachable", /connection refused/),
    );
    await assert.rejects(
      bench.session({ parameters: { ...s3.parameters, endpoint: "no-such-host.invalid" } }),
      failsWith("RepositoryUnreachable", /no such host/),
    );
    assert.deepEqual([...Deno.readDirSync(`${bench.folder}/repositories`)], []);
  },
});

Deno.test({
  ignore,
  name: "keys that change in the Secret serve the next backup without connecting anew",
  async fn() {
    await using s3 = await startS3();
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys });
    using volume = tempFolder("volume");
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    await (await bench.session())[Symbol.asyncDispose]();
    const badKeys = { ...s3.keys, AWS_SECRET_ACCESS_KEY: "another-secret" };
    const refused = await eventsOf(openBackup(await bench.session({ keys: badKeys }), order));
    const end = refused.at(-1);
    assert(end?.type === "failed");
    assert.equal(end.reason, "RepositoryAccessDenied");
    assert(!end.message.includes("another-secret"));
    const folders = [...Deno.readDirSync(`${bench.folder}/repositories`)].length;
    const good = (await eventsOf(openBackup(await bench.session(), order))).at(-1);
    assert.equal(good?.type, "completed");
    assert.equal([...Deno.readDirSync(`${bench.folder}/repositories`)].length, folders);
  },
});

Deno.test({
  ignore,
  name: "a bucket that vanishes under a connection fails the backup instead of hanging for ever",
  async fn() {
    await using s3 = await startS3();
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys, limitMs: 3_000 });
    using volume = tempFolder("volume");
    const session = await bench.session();
    await Deno.rename(`${s3.folder}/backups`, `${s3.folder}/other`);
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    const end = (await eventsOf(openBackup(session, order))).at(-1);
    assert(end?.type === "failed");
    assert.equal(end.reason, "RepositoryUnreachable");
    assert.match(end.message, /bucket still exists/);
    assert.deepEqual(kopiasUnder(bench.folder), []);
  },
});

Deno.test({
  ignore,
  name: "a server that stops in the middle of a backup: a cancel still ends it soon",
  async fn() {
    await using s3 = await startS3();
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys, graceMs: 500 });
    using volume = tempFolder("volume");
    await randomFile(`${volume.path}/one`, 300);
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    await using path = openBackup(await bench.session(), order, { progressMs: 50 });
    let last = "";
    let canceledAt = 0;
    for await (const { type } of path.events(never)) {
      last = type;
      if (type !== "progress" || canceledAt > 0) continue;
      await s3.stop();
      path.cancel();
      canceledAt = performance.now();
    }
    assert.equal(last, "canceled");
    assert(performance.now() - canceledAt < 15_000);
    assert.deepEqual(kopiasUnder(bench.folder), []);
  },
});

Deno.test({
  // Kopia repeats a write ten times before it says so: about a minute.
  ignore: ignore || !(Deno.env.get("CI") || Deno.env.get("LONGSHORE_SLOW_TESTS")),
  name: "a server that stops in the middle of a backup fails it at the first lost write",
  async fn() {
    await using s3 = await startS3();
    await using bench = await kopiaBench(s3.parameters, { keys: s3.keys, graceMs: 500 });
    using volume = tempFolder("volume");
    for (const name of ["one", "two", "three", "four"]) {
      await randomFile(`${volume.path}/${name}`, 80);
    }
    const order = { volumePath: volume.path, sourcePath, tags: {} };
    await using path = openBackup(await bench.session(), order, { progressMs: 50 });
    let stopped = false;
    for await (const event of path.events(never)) {
      if (!stopped) await s3.stop();
      stopped = true;
      if (event.type === "progress") continue;
      assert(event.type === "failed", JSON.stringify(event));
      assert.equal(event.reason, "RepositoryUnreachable");
      assert.match(event.message, /connection refused/);
    }
  },
});
