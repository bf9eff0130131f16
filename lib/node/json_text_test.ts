import assert from "node:assert/strict";
import { type JsonNode, JsonSyntaxError, parseJsonText } from "./json_text.ts";

/** The value as the platform's parser gives it. */
function plain(node: JsonNode): unknown {
  switch (node.type) {
    case "object":
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plain(value)]));
    case "array":
      return node.items.map(plain);
    case "number":
      return Number(node.text);
    case "null":
      return null;
    default:
      return node.value;
  }
}

const documents = [
  "{}",
  " [ ] ",
  '{"a":{"b":[1,-2.5e+3,0,true,false,null,"x"]},"c":""}',
  '"\\u00e9\\n\\"\\\\\\/ \\ud83d\\ude00 plain ✓ \u007f"',
  "\r\n\t12",
  '{"a" : 1 , "b":[ {} , [] ]}',
];

for (const document of documents) {
  Deno.test(`${JSON.stringify(document)} is read as the platform reads it`, () => {
    assert.deepEqual(plain(parseJsonText(document)), JSON.parse(document));
  });
}

Deno.test("every value and key has its line and column", () => {
  const node = parseJsonText('{\n  "a": [1,\n    "x"],\n\t"b": {}\n}');
  assert(node.type === "object");
  const [a, b] = node.members;
  assert.deepEqual([node.at, a?.at, a?.value.at], [
    { line: 1, column: 1 },
    { line: 2, column: 3 },
    { line: 2, column: 8 },
  ]);
  assert(a?.value.type === "array");
  assert.deepEqual(a.value.items.map(({ at }) => at), [
    { line: 2, column: 9 },
    { line: 3, column: 5 },
  ]);
  assert.deepEqual(b?.value.at, { line: 4, column: 7 });
});

Deno.test("repeated keys are all kept, in their order", () => {
  const node = parseJsonText('{"a":1,"A":2,"a":3}');
  assert(node.type === "object");
  assert.deepEqual(node.members.map(({ key }) => key), ["a", "A", "a"]);
});

Deno.test("half of a surrogate pair becomes the replacement character, as in Go", () => {
  assert.equal(plain(parseJsonText('"a\\ud83d"')), "a\ufffd");
});

const wrong: readonly (readonly [string, string, number, number])[] = [
  ["", "no JSON value", 1, 1],
  [" \n ", "no JSON value", 2, 2],
  ['{\n  "a": {"b: 2}\n}', "no closing quote before the line ends", 2, 9],
  ['{"a: {"b": 2}}', '"b" where ":" must follow the key "a: {"', 1, 8],
  ['{"a": "b', "no closing quote before the text ends", 1, 7],
  ['{"a": "\\x"}', 'a "\\" that JSON does not know', 1, 7],
  ['{"a": "\t"}', 'the character "\\t"', 1, 7],
  ["{a: 1}", '"a" where a key in quotes must stand', 1, 2],
  ['{"a" 1}', '"1" where ":" must follow', 1, 6],
  ['{"a": 1\n "b": 2}', '"\\"" where "," or "}" must follow a value', 2, 2],
  ['{"a": 1,}', '"}" after a comma', 1, 9],
  ["[1,]", '"]" after a comma', 1, 4],
  ["[1", "the end of the text where", 1, 3],
  ['{"a":', "the end of the text where a value must stand", 1, 6],
  ["[01]", '"01" is no value', 1, 2],
  ["[1.]", '"1." is no value', 1, 2],
  ["[True]", '"True" is no value; text needs quotes', 1, 2],
  ["{} x", '"x" follows the end', 1, 4],
  ["\ufeff{}", "the character U+FEFF where a value must stand", 1, 1],
  ["loadConcurrency:\n  globalConfig: 2\n", '"loadConcurrency" is no value', 1, 1],
  ["[".repeat(201), "nested more than 200 deep", 1, 201],
];

for (const [document, message, line, column] of wrong) {
  Deno.test(`${JSON.stringify(document.slice(0, 40))} is refused where it stops being JSON`, () => {
    assert.throws(() => parseJsonText(document), (error) => {
      assert(error instanceof JsonSyntaxError);
      assert(error.message.includes(message), error.message);
      assert.deepEqual(error.at, { line, column });
      return true;
    });
  });
}

Deno.test("whatever the platform's parser refuses is refused, and the rest accepted", () => {
  const pieces = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    "1",
    "-",
    "true",
    "nul",
    " ",
    "\n",
    "\\",
    '"',
  ];
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 3_000; round++) {
    const text = Array.from({ length: 1 + random(7) }, () => pieces[random(pieces.length)]).join(
      "",
    );
    assert.equal(accepts(() => parseJsonText(text)), accepts(() => JSON.parse(text)), text);
  }
});

function accepts(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

Deno.test("a document of a megabyte keeps its places", () => {
  const text = JSON.stringify(
    { a: Array.from({ length: 40_000 }, (_, i) => `value ${i}\n`), b: "x".repeat(500_000) },
    null,
    1,
  );
  const node = parseJsonText(text);
  assert(node.type === "object");
  assert.equal(node.members[1]?.at.line, 40_004);
});
