import assert from "node:assert/strict";
import { backupStorageLocation } from "../../tests/support/objects.ts";
import { MovementError } from "../base/error.ts";
import { azureAccess, parseDotenv } from "./azure_credentials.ts";

type Values = Readonly<Record<string, string>>;

function access(config: Values, file: Values, environment: Values = {}) {
  const location = backupStorageLocation({ name: "az", spec: { provider: "azure", config } });
  return azureAccess(location, { file, environment });
}

const aad = { useAAD: "true" };
const who = { AZURE_TENANT_ID: "t", AZURE_CLIENT_ID: "c" };

Deno.test("the account's key is taken by the name that the location gives, else by its own", () => {
  const key = { keys: { AZURE_STORAGE_KEY: "k" }, environment: {} };
  assert.deepEqual(access({}, { AZURE_STORAGE_KEY: "k" }), key);
  assert.deepEqual(access({ storageAccountKeyEnvVar: "MINE" }, { MINE: "k" }), key);
});

Deno.test("with useAAD a secret, a certificate or a workload identity lets us in", () => {
  assert.deepEqual(access(aad, { ...who, AZURE_CLIENT_SECRET: "s" }), {
    keys: { AZURE_CLIENT_SECRET: "s" },
    environment: who,
  });
  assert.deepEqual(access(aad, { ...who, AZURE_CLIENT_CERTIFICATE: "PEM" }), {
    keys: { AZURE_CLIENT_CERTIFICATE: "PEM" },
    environment: who,
  });
  const workload = { ...who, AZURE_FEDERATED_TOKEN_FILE: "/t", AZURE_AUTHORITY_HOST: "https://h/" };
  assert.deepEqual(access(aad, {}, workload), { keys: {}, environment: workload });
});

Deno.test("another cloud has another authority, unless the location names one", () => {
  const file = { ...who, AZURE_CLIENT_SECRET: "s", AZURE_CLOUD_NAME: "AzureChinaCloud" };
  assert.equal(
    access(aad, file).environment["AZURE_AUTHORITY_HOST"],
    "https://login.chinacloudapi.cn/",
  );
  const named = { ...aad, activeDirectoryAuthorityURI: "https://own/" };
  assert.equal(access(named, file).environment["AZURE_AUTHORITY_HOST"], "https://own/");
});

const refused: readonly { config: Values; file: Values; environment?: Values; says: RegExp }[] = [
  { config: { storageAccountKeyEnvVar: "MINE" }, file: {}, says: /storageAccountKeyEnvVar names/ },
  { config: {}, file: { ...who, AZURE_CLIENT_SECRET: "s" }, says: /without config\.useAAD/ },
  { config: aad, file: { AZURE_CLIENT_SECRET: "s" }, says: /lack AZURE_TENANT_ID/ },
  { config: aad, file: { ...who, AZURE_USERNAME: "u" }, says: /have AZURE_USERNAME/ },
  { config: aad, file: { ...who, AZURE_CLIENT_CERTIFICATE_PATH: "/c" }, says: /CERTIFICATE_PATH/ },
  { config: aad, file: who, says: /managed identity is not supported/ },
];

for (const { config, file, says } of refused) {
  Deno.test(`what kopia cannot do on Azure is refused: ${says.source}`, () => {
    assert.throws(() => access(config, file), (error) => {
      assert(error instanceof MovementError);
      assert.equal(error.reason, "StorageLocationInvalid");
      assert.match(error.message, says);
      return true;
    });
  });
}

Deno.test("a credentials file may quote, comment and export", () => {
  const text = "# comment\nexport A=1\nB = two words # said\nC='x # y'\r\n" +
    'D="line\\none"\nE="a\nb"\nF=key==\n\nnonsense\nG=\nH=1\nI:\n';
  assert.deepEqual(parseDotenv(text), {
    A: "1",
    B: "two words",
    C: "x # y",
    D: "line\none",
    E: "a\nb",
    F: "key==",
    G: "",
    H: "1",
    I: "",
  });
});
