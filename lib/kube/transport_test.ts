import assert from "node:assert/strict";
import { pods } from "../api/core.ts";
import { createClient } from "./client.ts";
import type { Connection } from "./connection.ts";

const never = new AbortController().signal;
const name = { namespace: "a", name: "p" };

/** A plugin that takes its time, and then has no credentials. */
const slowPlugin: Connection = {
  server: "http://127.0.0.1:1",
  namespace: "default",
  source: "the test",
  credentials: { type: "plugin", where: 'user "u"', exec: { command: "sleep", args: ["0.3"] } },
};

Deno.test("credentials that do not come in time end the call, and are named", async () => {
  await using client = createClient(slowPlugin, { userAgent: "test", requestDeadlineMs: 5 });
  const failure = async () => {
    const error = await client.get(pods, name, never).catch((error: Error) => error);
    assert.ok(error instanceof Error);
    assert.match(error.message, /there are no credentials for http:\/\/127\.0\.0\.1:1/);
    return `${error.cause}`;
  };
  assert.match(await failure(), /Getting them took longer than 0\.02 s/);
  // The plugin goes on, and every call waits for the same run of it.
  let cause = "";
  do cause = await failure(); while (cause.includes("Getting them"));
  assert.match(cause, /The credential plugin "sleep" of user "u"/);
});

// The plugin runs on for a moment: nobody waits for it any more.
const unattended = { sanitizeOps: false, sanitizeResources: false };

Deno.test("the end of the client ends a call that waits for credentials", unattended, async () => {
  const client = createClient(slowPlugin, { userAgent: "test" });
  const waiting = assert.rejects(client.get(pods, name, never), { reason: "ClientClosed" });
  await client[Symbol.asyncDispose]();
  await waiting;
});
