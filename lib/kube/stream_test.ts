import assert from "node:assert/strict";
import { chunks, lines, readText, TooLargeError, watchdog } from "./stream.ts";

const never = new AbortController().signal;
const encode = (text: string) => new TextEncoder().encode(text);

async function* pieces(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

Deno.test("lines are the same wherever the bytes are cut, also within a character", async () => {
  const expected = ['{"a":"ä€"}', '{"b":"😀\\n"}', "x"];
  const bytes = encode(`${expected[0]}\n${expected[1]}\n\n${expected[2]}\n`);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const cut = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      assert.deepEqual(await all(lines(pieces(...cut), 100)), expected, `cut ${first}, ${second}`);
    }
  }
  const single = [...bytes].map((byte) => Uint8Array.of(byte));
  assert.deepEqual(await all(lines(pieces(...single), 100)), expected);
});

Deno.test("a line without its end is dropped", async () => {
  assert.deepEqual(await all(lines(pieces(encode("one\ntw")), 100)), ["one"]);
});

Deno.test("a line at the limit passes, a longer one is refused before it is whole", async () => {
  assert.deepEqual(await all(lines(pieces(encode("1234\n")), 4)), ["1234"]);
  await assert.rejects(all(lines(pieces(encode("12345\n")), 4)), TooLargeError);
  await assert.rejects(all(lines(pieces(encode("12"), encode("345")), 4)), TooLargeError);
});

Deno.test("a text is put together over cut characters and refused over its limit", async () => {
  const bytes = encode("€😀");
  for (let at = 0; at <= bytes.length; at++) {
    assert.equal(await readText(pieces(bytes.subarray(0, at), bytes.subarray(at)), 7), "€😀");
  }
  await assert.rejects(readText(pieces(bytes), 6), /more than 6 bytes/);
});

Deno.test("an abort ends a read that would never end, with the signal's reason", async () => {
  const abort = new AbortController();
  let canceled: unknown;
  const silent = new ReadableStream<Uint8Array>({ cancel: (reason) => void (canceled = reason) });
  const reading = all(chunks(silent, abort.signal));
  abort.abort(new Error("enough"));
  await assert.rejects(reading, /enough/);
  assert.equal((canceled as Error).message, "enough");
});

Deno.test("a line that comes in several pieces of a reused buffer is whole", async () => {
  const parts = ["aaaa", "bbbb\ncc", "dd\n", "e\n"].map(encode);
  const source: UnderlyingByteSource = {
    type: "bytes",
    pull(controller: ReadableByteStreamController) {
      const request = controller.byobRequest;
      const part = parts.shift();
      if (part === undefined) {
        controller.close();
        request?.respond(0);
        return;
      }
      assert.ok(request?.view, "the reader brings its own buffer");
      new Uint8Array(request.view.buffer, request.view.byteOffset).set(part);
      request.respond(part.length);
    },
  };
  const body = new ReadableStream(source);
  assert.deepEqual(await all(lines(chunks(body, never), 100)), ["aaaabbbb", "ccdd", "e"]);
});

Deno.test("leaving the loop early cancels the stream", async () => {
  let canceled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(encode("x")),
    cancel: () => void (canceled = true),
  });
  for await (const _ of chunks(endless, never)) break;
  assert.ok(canceled);
});

Deno.test("a watchdog is held off by signs of life and then ends with a TimeoutError", async () => {
  using dog = watchdog(never, 40, "The test");
  const started = performance.now();
  const aborted = new Promise((done) => dog.signal.addEventListener("abort", done, { once: true }));
  await new Promise((done) => setTimeout(done, 25));
  dog.touch();
  await aborted;
  assert.ok(performance.now() - started >= 60, "the touch was not seen");
  assert.equal(dog.expired()?.name, "TimeoutError");
  assert.match(`${dog.signal.reason}`, /The test sent nothing for 0.04 s/);
});

Deno.test("a watchdog does not count the time in which nobody reads", async () => {
  using dog = watchdog(never, 5, "The test");
  dog.pause();
  await new Promise((done) => setTimeout(done, 30));
  assert.equal(dog.signal.aborted, false);
});

Deno.test("a stream can be aborted after its response has been collected", async () => {
  const stream = new URL("./stream.ts", import.meta.url).href;
  // As in a minified bundle: nothing but the body is held.
  const program = `
    const { chunks } = await import(${JSON.stringify(stream)});
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () =>
      new Response(new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode("x")),
      })));
    const abort = new AbortController();
    const open = async () =>
      (await fetch("http://127.0.0.1:" + server.addr.port, { signal: abort.signal })).body;
    let seen = 0;
    const reading = (async () => {
      for await (const _ of chunks(await open(), abort.signal)) seen++;
    })().catch((error) => error);
    while (seen === 0) await new Promise((done) => setTimeout(done, 1));
    for (let i = 0; i < 10; i++) {
      gc();
      await new Promise((done) => setTimeout(done, 1));
    }
    abort.abort(new Error("aborted in time"));
    setTimeout(() => Deno.exit(1), 10_000);
    console.log((await reading).message);
    Deno.exit(0);`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--v8-flags=--expose-gc", program],
    cwd: new URL("../..", import.meta.url),
    signal: AbortSignal.timeout(30_000),
  }).output();
  const said = new TextDecoder().decode(stdout).trim();
  assert.equal(said, "aborted in time", `the abort was lost ${new TextDecoder().decode(stderr)}`);
});
