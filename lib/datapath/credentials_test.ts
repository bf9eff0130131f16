import assert from "node:assert/strict";
import { backupStorageLocation } from "../../tests/support/objects.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { MovementError } from "../base/error.ts";
import type { KubeClient } from "../kube/client.ts";
import { type CredentialSources, readAwsKeys } from "./credentials.ts";

const never = new AbortController().signal;
const location = backupStorageLocation({ name: "main", spec: { provider: "aws", config: {} } });

/** Without spec.credential the API server is not asked. */
function sourcesWith(credentialsFile: string): CredentialSources {
  return { client: {} as KubeClient, namespace: "velero", credentialsFile };
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
        "[role]\nrole_arn=arn:aws:iam::1:role/x\n",
    );
  await write("AK1");
  const sources = sourcesWith(file);
  assert.equal((await readAwsKeys(location, sources, never)).accessKeyId, "AK1");
  await write("AK2");
  assert.equal((await readAwsKeys(location, sources, never)).accessKeyId, "AK2");

  const withRole = { ...location, spec: { ...location.spec, config: { profile: "role" } } };
  await assert.rejects(
    readAwsKeys(withRole, sources, never),
    failsWith("StorageLocationInvalid", /"main": profile "role" in ".*cloud" uses "role_arn"/),
  );
});

Deno.test("a credentials file that is missing or not set is told", async () => {
  await assert.rejects(
    readAwsKeys(location, sourcesWith("/nonexistent/cloud"), never),
    failsWith("CredentialsMissing", /"\/nonexistent\/cloud" cannot be read \(No such file/),
  );
  await assert.rejects(
    readAwsKeys(location, sourcesWith(""), never),
    failsWith("CredentialsMissing", /AWS_SHARED_CREDENTIALS_FILE is not set; set one of them/),
  );
});
