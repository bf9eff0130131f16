import assert from "node:assert/strict";
import { backupStorageLocation } from "../../tests/support/objects.ts";
import { openResticSession } from "./restic_session.ts";

Deno.test("a message shows the name of an account, and not its key", async () => {
  const find = () => Promise.reject(new Error("no restic is wanted here"));
  await using session = openResticSession({ find, folder: "/agent", environment: {} }, {
    ...{ name: "app-az-restic", identifier: "azure:c:/restic/app", limitMs: 1_000 },
    location: backupStorageLocation({
      spec: { provider: "azure", config: { storageAccount: "velero" } },
    }),
    secrets: { RESTIC_PASSWORD: "the-password", AZURE_STORAGE_KEY: "the-key" },
    environment: {},
    held: { [Symbol.asyncDispose]: () => Promise.resolve() },
  });
  const lines = ["Fatal: wrong password or no key found: the-key"];
  const { message } = session.explain({ code: 12, outOfMemory: false, stdout: "", lines }, "go on");
  assert.match(message, /: \*\*\*; the password in Secret "velero-repo-credentials"/);
});
