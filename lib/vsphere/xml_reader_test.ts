import assert from "node:assert/strict";
import { childOf, childrenOf, textAt, XmlError, type XmlNode } from "./xml.ts";
import { readXml, type XmlReading } from "./xml_reader.ts";

const answer = `<?xml version="1.0"?>
<s:Envelope xmlns:s="urn:s" xmlns:_XSI="http://www.w3.org/2001/XMLSchema-instance">
 <s:Body><r xmlns="urn:v"><returnval>
  <volumes><id>ä&#13;💡</id><obj type="Task" _XSI:type="vim25:Ref">task-1</obj></volumes>
  <volumes _XSI:type="NobodyKnows"><id><![CDATA[<2>]]></id><id>3</id></volumes>
  <cursor>7</cursor></returnval></r></s:Body></s:Envelope>`;

const tree: XmlNode = node("Envelope", [
  node("Body", [
    node("r", [
      node("returnval", [
        node("volumes", [
          leaf("id", "ä\r💡"),
          { ...leaf("obj", "task-1"), type: "Ref", refType: "Task" },
        ]),
        { ...node("volumes", [leaf("id", "<2>"), leaf("id", "3")]), type: "NobodyKnows" },
        leaf("cursor", "7"),
      ]),
    ]),
  ]),
]);

for (const size of [1, 3, 7, 100_000]) {
  Deno.test(`a document in pieces of ${size} bytes gives the same tree`, async () => {
    assert.deepEqual(await readXml(pieces(answer, size)), { root: tree, parts: [] });
  });
}

Deno.test("parts are decoded one by one and are not kept in the tree", async () => {
  const parts = {
    at: ["returnval", "volumes"],
    decode: (volume: XmlNode) => childrenOf(volume, "id").map(({ text }) => text),
  } as const;
  const { root, parts: decoded } = await readXml(pieces(answer, 10), { parts });
  assert.deepEqual(decoded, [["ä\r💡"], ["<2>", "3"]]);
  const returnval = ["Body", "r", "returnval"].reduce(childOf, root as XmlNode | undefined);
  assert.deepEqual(returnval, node("returnval", [leaf("cursor", "7")]));
  assert.equal(textAt(root, "Body", "r", "returnval", "cursor"), "7");
  assert.equal(textAt(root, "Body", "none", "cursor"), "");
});

Deno.test("names of JavaScript's own are names like others", async () => {
  const { root } = await readXml(pieces("<a><__proto__>x</__proto__><constructor/></a>", 5));
  assert.deepEqual(root.children, [leaf("__proto__", "x"), leaf("constructor", "")]);
});

const deep = "<a>".repeat(65);
const refused: readonly (readonly [string, string | Uint8Array, RegExp, XmlReading<never>?])[] = [
  ["a DOCTYPE", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', /DOCTYPE/],
  ["an entity that nobody declared", "<a>&b;</a>", /is no XML: .*entity/],
  ["65 elements in each other", deep, /nested more than 64 deep/],
  ["too much of it", "<a>12345</a>", /longer than 10 bytes/, { maxBytes: 10 }],
  ["a long text", "<a>12345</a>", /text of <a> is longer than 4 char/, { maxText: 4 }],
  ["a long text of parts", "<a>123<b/>45</a>", /text of <a> is longer/, { maxText: 4 }],
  ["an end that is missing", "<a><b></b>", /is no XML: .*unclosed/],
  ["nothing", "", /is no XML|is empty/],
  ["HTML", "<html><body><p>Service unavailable</body></html>", /is no XML/],
  ["bytes that are no UTF-8", new Uint8Array([0x3c, 0x61, 0x3e, 0xff]), /not UTF-8/],
  ["a prefix that nobody declared", "<x:a/>", /is no XML: .*prefix/],
];

for (const [name, text, expected, limits] of refused) {
  Deno.test(`a document with ${name} is refused`, async () => {
    await assert.rejects(readXml(pieces(text, 4), limits), (error) => {
      assert.ok(error instanceof XmlError, `${error}`);
      assert.match(error.message, expected);
      return true;
    });
  });
}

Deno.test("64 elements in each other are read", async () => {
  await readXml(pieces("<a>".repeat(64) + "</a>".repeat(64), 50));
});

function node(name: string, children: readonly XmlNode[]): XmlNode {
  return { name, type: "", refType: "", text: "", children };
}

function leaf(name: string, text: string): XmlNode {
  return { name, type: "", refType: "", text, children: [] };
}

async function* pieces(text: string | Uint8Array, size: number) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
