import assert from "node:assert/strict";
import { backupStorageLocation } from "../../tests/support/objects.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { MovementError } from "../base/error.ts";
import type { KubeClient } from "../kube/client.ts";
import type { CredentialSources } from "./credentials.ts";
import { readStoreAccess } from "./store_access.ts";

const never = new AbortController().signal;
const location = backupStorageLocation({ name: "main", spec: { provider: "aws", config: {} } });

/** Without spec.credential the API server is not asked. */
function sourcesWith(
  file: string,
  others: Readonly<Record<string, string>> = {},
): CredentialSources {
  const environment = {
    AWS_SHARED_CREDENTIALS_FILE: file,
    AWS_EC2_METADATA_DISABLED: "true",
    ...others,
  };
  return { client: {} as KubeClient, namespace: "velero", environment };
}

function failsWith(reason: string, pattern: RegExp) {
  return (error: unknown) => {
    assert(error instanceof MovementError);
    assert.equal(error.reason, reason);
    assert.match(error.message, pattern);
    assert(!error.message.includes("the-secret"));
    return true;
  };
}

Deno.test("a location without a Secret takes its keys from the credentials file, read anew", async () => {
  using folder = tempFolder("credentials");
  const file = `${folder.path}/cloud`;
  const write = (key: string) =>
    Deno.writeTextFile(
      file,
      `[default]\naws_access_key_id=${key}\naws_secret_access_key=the-secret\n` +
        "[role]\ncredential_process=/bin/x\n",
    );
  await write("AK1");
  const sources = sourcesWith(file);
  assert.equal((await readStoreAccess(location, sources, never)).keys["AWS_ACCESS_KEY_ID"], "AK1");
  await write("AK2");
  assert.equal((await readStoreAccess(location, sources, never)).keys["AWS_ACCESS_KEY_ID"], "AK2");

  const withRole = { ...location, spec: { ...location.spec, config: { profile: "role" } } };
  await assert.rejects(
    readStoreAccess(withRole, sources, never),
    failsWith(
      "StorageLocationInvalid",
      /"main": profile "role" in ".*cloud" uses "credential_process"/,
    ),
  );
});

Deno.test("a credentials file that is missing or not set is told", async () => {
  await assert.rejects(
    readStoreAccess(location, sourcesWith("/nonexistent/cloud"), never),
    failsWith("CredentialsMissing", /"\/nonexistent\/cloud" cannot be read \(No such file/),
  );
  await assert.rejects(
    readStoreAccess(location, sourcesWith(""), never),
    failsWith(
      "CredentialsMissing",
      /AWS_SHARED_CREDENTIALS_FILE is not set, and .*; set one of them/,
    ),
  );
});
