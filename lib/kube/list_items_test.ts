import { deepEqual, equal, rejects } from "node:assert/strict";
import { listItems } from "./list_items.ts";
import { TooLargeError } from "./stream.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** All items and the version, whatever the parts. */
async function read(pieces: Iterable<Uint8Array>, limitBytes = 1_000) {
  const items: unknown[] = [];
  let parts = 0;
  let version: string | undefined;
  for await (const part of listItems<unknown>(streamed(pieces), limitBytes)) {
    items.push(...part.items);
    version = part.resourceVersion;
    parts++;
  }
  return { items, version, parts };
}

/** Each piece is in the same memory as the one before, as those of a body are. */
async function* streamed(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(1 << 16);
  for (const piece of pieces) {
    memory.set(piece);
    yield memory.subarray(0, piece.length);
    memory.fill(0x7b); // a reader that still looks at it sees opened objects
  }
}

const objects = [
  { metadata: { name: 'a"]}', labels: { "items": "[" } }, items: [{}, [1]] },
  { metadata: { name: "\u00e4\u20ac\u{1F6A2}\\" } },
  {},
];
const version = { resourceVersion: "7", remaining: [[]] };

Deno.test("a list gives its items wherever its bytes are cut, in either order of its members", async () => {
  const texts = [
    JSON.stringify({ apiVersion: "v1", items: objects, kind: "List", metadata: version }),
    JSON.stringify({ kind: "List", metadata: version, items: objects }) + "\n",
    JSON.stringify({ other: [{ items: [1] }], metadata: version, items: objects }, undefined, 2),
  ];
  for (const text of texts) {
    const bytes = encode(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { items, version } = await read([bytes.subarray(0, cut), bytes.subarray(cut)]);
      deepEqual(items, objects, `cut at ${cut}`);
      equal(version, "7");
    }
    deepEqual((await read([...bytes].map((byte) => Uint8Array.of(byte)))).items, objects);
  }
});

Deno.test("an empty list has no items, however the server writes that", async () => {
  for (const items of ["[]", "[ ]", "null"]) {
    const text = `{"metadata":{"resourceVersion":"7"},"items":${items}}`;
    deepEqual(await read([encode(text)]), { items: [], version: "7", parts: 1 });
  }
});

Deno.test("items are handed on before the list is whole", async () => {
  const text = JSON.stringify({ items: objects, metadata: version });
  const cut = text.indexOf(",{}]");
  const list = listItems(
    (async function* () {
      yield await Promise.resolve(encode(text.slice(0, cut)));
      throw new Error("cut off");
    })(),
    1_000,
  );
  deepEqual((await list.next()).value, { items: objects.slice(0, 2) });
  await rejects(list.next(), { message: "cut off" });
});

Deno.test("a list much longer than the limit is read, an item or a rest beyond it is refused", async () => {
  const item = { text: "x".repeat(80) };
  const many = Array.from({ length: 100 }, () => item);
  const pieces = (text: string) =>
    Array.from(
      { length: Math.ceil(text.length / 50) },
      (_, at) => encode(text.slice(at * 50, at * 50 + 50)),
    );
  const whole = JSON.stringify({ items: many, metadata: version });
  equal((await read(pieces(whole), 200)).items.length, 100);
  await rejects(read(pieces(whole), 90), TooLargeError);
  await rejects(read(pieces(`{"items":[],"more":"${whole}`), 200), TooLargeError);
});

Deno.test("what is no list, or not whole, is a SyntaxError", async () => {
  const text = JSON.stringify({ items: objects, metadata: version });
  for (const broken of ["", "no", "{", "}{", text.slice(0, -1), text.slice(0, 40), text + "{"]) {
    await rejects(read([encode(broken)]), SyntaxError, broken);
  }
  for (
    const other of ["null", "[]", "{}", '{"items":[]}', '{"metadata":{"resourceVersion":"7"}}']
  ) {
    await rejects(read([encode(other)]), SyntaxError, other);
  }
});
