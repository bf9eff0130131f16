import assert from "node:assert/strict";
import { hasBucket } from "./bucket_probe.ts";

const never = new AbortController().signal;

/** Asks a store that answers 404 with this. */
async function ask(body: BodyInit | null): Promise<boolean> {
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  await using store = Deno.serve(options, () => new Response(body, { status: 404 }));
  return await hasBucket({
    ...{ store: "s3", bucket: "b", prefix: "", plainHttp: true, skipVerify: false },
    endpoint: `127.0.0.1:${store.addr.port}`,
  }, never);
}

Deno.test("only a store that says so has no such bucket", async () => {
  assert.equal(await ask("<Code>NoSuchBucket</Code>"), false);
  assert.equal(await ask("<Code>NoSuchKey</Code>"), true);
  assert.equal(await ask(null), true);
});

Deno.test("a store that does not stop talking is heard for a moment only", async () => {
  let chunks = 0;
  const endless = new ReadableStream({
    pull(controller) {
      if (++chunks > 5_000) return controller.error(new Error("all of it was read"));
      controller.enqueue(new Uint8Array(16_384).fill(32));
    },
  });
  await ask(endless);
  assert(chunks < 5_000, `${chunks} chunks were read`);
});
