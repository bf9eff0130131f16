import assert from "node:assert/strict";
import { linesOf, lineTail, textOf } from "./text_lines.ts";

const encoder = new TextEncoder();

function streamOf(bytes: Uint8Array, pieceSize: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at += pieceSize));
    },
  });
}

Deno.test("lines come whole wherever the stream is cut, also inside a character", async () => {
  const bytes = encoder.encode("\r first é\r\n\r second 😀\n\nthird ü");
  for (let size = 1; size <= bytes.length; size++) {
    const lines = await Array.fromAsync(linesOf(streamOf(bytes, size)));
    assert.deepEqual(lines, [" first é", " second 😀", "third ü"], `pieces of ${size}`);
  }
});

Deno.test("a stream without line ends is given in pieces instead of being kept", async () => {
  const lines = await Array.fromAsync(linesOf(streamOf(new Uint8Array(300_000).fill(97), 8_192)));
  assert(lines.length > 2);
  assert(lines.every(({ length }) => length < 80_000));
  assert.equal(lines.join("").length, 300_000);
});

Deno.test("leaving the loop cancels the stream", async () => {
  let canceled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(encoder.encode("line\n")),
    cancel: () => void (canceled = true),
  });
  for await (const line of linesOf(stream)) {
    assert.equal(line, "line");
    break;
  }
  assert(canceled);
});

Deno.test("a text over the limit is read to its end but not kept", async () => {
  const bytes = encoder.encode("añb");
  assert.equal(await textOf(streamOf(bytes, 1), 4), "añb");
  assert.equal(await textOf(streamOf(bytes, 1), 3), undefined);
});

Deno.test("a tail keeps the last lines within its bounds", () => {
  const tail = lineTail(100);
  for (let line = 0; line < 10_000; line++) tail.add(`line ${line}`);
  const kept = tail.lines();
  assert.equal(kept.at(-1), "line 9999");
  assert.equal(kept.at(-2), "line 9998");
  assert(kept.join("").length <= 200);
});
