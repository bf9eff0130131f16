import assert from "node:assert/strict";
import { ConfigError } from "../base/error.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import type { Connection, Credentials } from "./connection.ts";
import { identitySource } from "./credentials.ts";

const source = (credentials: Credentials, nowMs = () => 0) => {
  const base: Connection = { server: "https://h", namespace: "d", source: "the test", credentials };
  return identitySource(base, nowMs);
};

/** As kubelet does: a new file is put in the place of the old one. */
async function swap(path: string, text: string) {
  await Deno.writeTextFile(`${path}.new`, text);
  await Deno.rename(`${path}.new`, path);
}

Deno.test("a token file is read anew as soon as it has been swapped", async () => {
  using folder = tempFolder("token");
  const path = `${folder.path}/token`;
  await Deno.writeTextFile(path, "one\n");
  const identities = source({ type: "tokenFile", path });
  assert.deepEqual(await identities.current(), { authorization: "Bearer one" });
  await swap(path, "two");
  assert.deepEqual(await identities.current(), { authorization: "Bearer two" });
});

Deno.test("while the token file is gone the last token goes on; without one it is an error", async () => {
  using folder = tempFolder("token");
  const path = `${folder.path}/token`;
  const identities = source({ type: "tokenFile", path });
  await assert.rejects(identities.current(), (error: Error) => {
    return error instanceof ConfigError && error.message.includes(path);
  });
  await Deno.writeTextFile(path, "");
  await assert.rejects(identities.current(), ConfigError);
  await Deno.writeTextFile(path, "one");
  await identities.current();
  await Deno.remove(path);
  assert.deepEqual(await identities.current(), { authorization: "Bearer one" });
});

Deno.test("after a 401 a token file gives another token or none", async () => {
  using folder = tempFolder("token");
  const path = `${folder.path}/token`;
  await Deno.writeTextFile(path, "one");
  const identities = source({ type: "tokenFile", path });
  const refused = await identities.current();
  assert.equal(await identities.renewed(refused), undefined);
  await swap(path, "two");
  const others = [identities.renewed(refused), identities.renewed(refused)];
  for (const other of await Promise.all(others)) {
    assert.deepEqual(other, { authorization: "Bearer two" });
  }
});

interface PluginOptions {
  readonly more?: Record<string, unknown>;
  readonly nowMs?: () => number;
}

async function plugin(folder: string, script: string, { more, nowMs }: PluginOptions = {}) {
  const command = `${folder}/login`;
  await Deno.writeTextFile(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command, ...more };
  return source({ type: "plugin", where: 'user "u" in "/config"', exec }, nowMs);
}

const credential = (status: Record<string, string>) =>
  JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status });

Deno.test("an exec plugin is run once for many requests, and again after a later 401", async () => {
  using folder = tempFolder("plugin");
  const runs = `${folder.path}/runs`;
  const answer = credential({ token: "T" }).replace('"T"', `"'$(wc -c < ${runs} | tr -d " ")'"`);
  let now = 0;
  const script = `printf x >> ${runs}\necho '${answer}'`;
  const identities = await plugin(folder.path, script, { nowMs: () => now });
  const first = await Promise.all([identities.current(), identities.current()]);
  assert.deepEqual(first, [{ authorization: "Bearer 1" }, { authorization: "Bearer 1" }]);
  // Refused right after it was given: a second run would only say the same.
  assert.equal(await identities.renewed({ authorization: "Bearer 1" }), undefined);
  now = 10_000;
  const refused = [1, 2, 3].map(() => identities.renewed({ authorization: "Bearer 1" }));
  for (const renewed of await Promise.all(refused)) {
    assert.deepEqual(renewed, { authorization: "Bearer 2" });
  }
  assert.equal((await Deno.stat(runs)).size, 2);
});

Deno.test("a plugin may give a client certificate", async () => {
  using folder = tempFolder("plugin");
  const status = { clientCertificateData: "CERT", clientKeyData: "KEY" };
  const identities = await plugin(folder.path, `echo '${credential(status)}'`);
  assert.deepEqual(await identities.current(), { certificate: { cert: "CERT", key: "KEY" } });
});

const failing: readonly (readonly [string, string, RegExp])[] = [
  [
    "fails",
    "echo s3cr3t; echo 'please log in' >&2; exit 1",
    /failed: please log in\. Get it here$/,
  ],
  ["fails silently", "exit 3", /ended with an error and without a word\. Get it here$/],
  ["prints no JSON", "echo 's3cr3t {'", /did not print an ExecCredential in JSON/],
  ["prints another object", `echo '{"token":"s3cr3t"}'`, /did not print an ExecCredential/],
  ["gives nothing", `echo '${credential({})}'`, /neither a token nor a certificate/],
];

for (const [name, script, expected] of failing) {
  Deno.test(`a plugin that ${name} is a ConfigError that names it and holds no secret`, async () => {
    using folder = tempFolder("plugin");
    const identities = await plugin(folder.path, script, {
      more: { installHint: "Get it here" },
    });
    await assert.rejects(identities.current(), (error: Error) => {
      assert.ok(error instanceof ConfigError, `${error}`);
      assert.match(error.message, expected);
      assert.match(error.message, /plugin ".*\/login" of user "u" in "\/config"/);
      assert.ok(!error.message.includes("s3cr3t"), error.message);
      return true;
    });
  });
}

Deno.test("a plugin that is not installed is said to be so", async () => {
  const exec = { command: "longshore-no-such-plugin" };
  const identities = source({ type: "plugin", where: 'user "u"', exec });
  await assert.rejects(identities.current(), /is not installed or not in PATH/);
});
