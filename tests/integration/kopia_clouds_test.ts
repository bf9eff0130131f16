import assert from "node:assert/strict";
import { MovementError } from "../../lib/base/error.ts";
import { createConnections } from "../../lib/datapath/connections.ts";
import { kopiaFinder } from "../../lib/datapath/kopia_program.ts";
import type { RepositoryParameters } from "../../lib/datapath/repository_parameters.ts";
import { connectProxy } from "../support/connect_proxy.ts";
import { never, searchPath } from "../support/kopia.ts";
import { tempFolder } from "../support/temp.ts";
import { tool, toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("kopia");
const bucket = { bucket: "backups", prefix: "pre/kopia/ns/" };
const azure: RepositoryParameters = {
  store: "azure",
  ...bucket,
  account: "acct",
  domain: "blob.core.windows.net",
};
const gcs: RepositoryParameters = { store: "gcs", ...bucket };
const secretKey = btoa("the secret key of the account");

interface Way {
  readonly parameters: RepositoryParameters;
  readonly keys?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Lets kopia connect through a proxy that reaches nothing but loopback; what it asked for. */
async function hostsAsked({ parameters, keys = {}, environment = {} }: Way) {
  await using proxy = connectProxy();
  using folder = tempFolder("clouds");
  await using connections = createConnections({
    find: kopiaFinder({ kopia: await tool("kopia"), searchPath }),
    folder: folder.path,
    environment: { PATH: searchPath, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` },
    graceMs: 100,
  });
  const order = {
    ...{ uid: "u", title: "repository", parameters, keys, environment },
    ...{ password: "a-password", cacheLimitMB: 100, limitMs: 6_000 },
  };
  await assert.rejects(connections.take(order, never), (error) => {
    assert(error instanceof MovementError);
    assert.equal(error.reason, "RepositoryUnreachable", error.message);
    assert(!error.message.includes(secretKey));
    return true;
  });
  assert.deepEqual([...Deno.readDirSync(`${folder.path}/repositories`)], []);
  return new Set(proxy.asked.map((head) => /^CONNECT (\S+)/.exec(head)?.[1]));
}

Deno.test({
  ignore,
  name: "kopia takes what is made for Azure with a key, and looks for the account",
  async fn() {
    const asked = await hostsAsked({
      parameters: azure,
      keys: { AZURE_STORAGE_KEY: secretKey },
    });
    assert.deepEqual([...asked], ["acct.blob.core.windows.net:443"]);
  },
});

Deno.test({
  ignore,
  name: "kopia takes what is made for a workload identity of Azure, and looks for its authority",
  async fn() {
    using folder = tempFolder("token");
    const token = `${folder.path}/token`;
    await Deno.writeTextFile(token, "a.b.c");
    const asked = await hostsAsked({
      parameters: azure,
      environment: {
        AZURE_TENANT_ID: "11111111-2222-3333-4444-555555555555",
        AZURE_CLIENT_ID: "66666666-2222-3333-4444-555555555555",
        AZURE_FEDERATED_TOKEN_FILE: token,
        AZURE_AUTHORITY_HOST: "https://login.microsoftonline.us/",
      },
    });
    assert(asked.has("login.microsoftonline.us:443"), [...asked].join());
  },
});

Deno.test({
  ignore,
  name: "kopia signs in to Google with the credentials file, and looks for the store",
  async fn() {
    let signedIn = 0;
    await using authority = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        if ((await request.text()).includes("assertion=")) signedIn++;
        return Response.json({ access_token: "t", token_type: "Bearer", expires_in: 3_600 });
      },
    );
    using folder = tempFolder("google");
    const file = `${folder.path}/credentials`;
    await Deno.writeTextFile(
      file,
      JSON.stringify({
        type: "service_account",
        client_email: "agent@project.iam.gserviceaccount.com",
        private_key_id: "1",
        private_key: await privateKey(),
        token_uri: `http://127.0.0.1:${authority.addr.port}/token`,
      }),
    );
    const asked = await hostsAsked({
      parameters: gcs,
      environment: { GOOGLE_APPLICATION_CREDENTIALS: file },
    });
    assert(signedIn > 0);
    assert(asked.has("storage.googleapis.com:443"), [...asked].join());
  },
});

async function privateKey(): Promise<string> {
  const { privateKey } = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 2_048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign"],
  );
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
}

/** Writes what it was given into its configuration file, as kopia does for Azure. */
const fakeKopia = `#!/bin/sh
case "$1" in --version) echo 0.23.1; exit;; esac
for word; do case "$word" in --config-file=*) config=\${word#*=};; esac; done
case "$1 $2" in
  "repository connect") echo "{\\"key\\": \\"$AZURE_STORAGE_KEY\\"}" >"$config";;
  *) echo "{}";;
esac
`;

/** Connections over the fake, and what asks for one to Azure. */
function fakeGround() {
  const folder = tempFolder("azure");
  const kopia = `${folder.path}/kopia`;
  Deno.writeTextFileSync(kopia, fakeKopia, { mode: 0o755 });
  const connections = createConnections({
    find: kopiaFinder({ kopia, searchPath }),
    folder: `${folder.path}/agent`,
    environment: { PATH: searchPath },
  });
  const order = (key: string) => ({
    ...{ uid: "u", title: "repository", parameters: azure, password: "a-password" },
    ...{ keys: { AZURE_STORAGE_KEY: key }, cacheLimitMB: 100, limitMs: 30_000 },
  });
  return {
    connections,
    order,
    async [Symbol.asyncDispose]() {
      await connections[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

Deno.test("keys that kopia writes into its file are on the disk only while they are used", async () => {
  await using ground = fakeGround();
  const { connections, order } = ground;
  const first = await connections.take(order("key-1"), never);
  const second = await connections.take(order("key-1"), never);
  assert.equal(second.configFile, first.configFile);
  assert.match(await Deno.readTextFile(first.configFile), /key-1/);
  assert.equal((Deno.statSync(first.configFile).mode ?? 0) & 0o777, 0o600);
  await first[Symbol.asyncDispose]();
  assert.match(await Deno.readTextFile(second.configFile), /key-1/);
  await second[Symbol.asyncDispose]();
  assert.throws(() => Deno.statSync(first.configFile), Deno.errors.NotFound);

  const again = await connections.take(order("key-1"), never);
  assert.equal(again.configFile, first.configFile);
  assert.match(await Deno.readTextFile(again.configFile), /key-1/);
  await again[Symbol.asyncDispose]();
  await using other = await connections.take(order("key-2"), never);
  assert.notEqual(other.configFile, first.configFile);
});

Deno.test("a configuration file that could not be written once is written the next time", async () => {
  await using ground = fakeGround();
  const { connections, order } = ground;
  const first = await connections.take(order("key-1"), never);
  await first[Symbol.asyncDispose]();
  await Deno.mkdir(first.configFile); // in its way, for root writes everywhere
  await assert.rejects(connections.take(order("key-1"), never));
  await Deno.remove(first.configFile);
  await using again = await connections.take(order("key-1"), never);
  assert.equal(again.configFile, first.configFile);
  assert.match(await Deno.readTextFile(again.configFile), /key-1/);
});
