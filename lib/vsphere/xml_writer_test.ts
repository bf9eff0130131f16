import assert from "node:assert/strict";
import { XmlError } from "./xml.ts";
import { readXml } from "./xml_reader.ts";
import { element, formatXml, optional, reference, typed, withAttributes } from "./xml_writer.ts";

Deno.test("elements stand in their order, what is undefined or empty is left out", () => {
  const spec = element(
    "spec",
    reference("_this", { type: "Manager", value: "m-1" }),
    [element("id", "1"), [element("id", "2")]],
    optional("namespace", ""),
    optional("cluster", undefined),
    optional("name", "n"),
    typed("entity", "CnsEntity", element("empty")),
  );
  assert.equal(
    formatXml(withAttributes(spec, { xmlns: "urn:x" })),
    '<spec xmlns="urn:x"><_this type="Manager">m-1</_this><id>1</id><id>2</id><name>n</name>' +
      '<entity xsi:type="CnsEntity"><empty/></entity></spec>',
  );
});

Deno.test("every text comes back as it was written, in elements and attributes", async () => {
  const text = `<a href="x">&'\r\n\t äöü 日本 💡 ]]> \u0085`;
  const written = formatXml(withAttributes(element("a", text), { type: text }));
  assert.doesNotMatch(written.slice(3, -4), /[\r\n\t']/);
  const { root } = await readXml(pieces(written));
  assert.equal(root.text, text);
  assert.equal(root.refType, text);
});

for (const one of ["\0", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800", "\udc00x"]) {
  Deno.test(`the character ${JSON.stringify(one)} is refused without the text around it`, () => {
    const expected = (error: unknown) => {
      assert.ok(error instanceof XmlError);
      assert.match(error.message, /^Cannot write .*<password>: .* character U\+[0-9A-F]{4}$/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    };
    assert.throws(() => formatXml(element("password", `secret${one}`)), expected);
    const attributes = { key: `secret${one}` };
    assert.throws(() => formatXml(withAttributes(element("password"), attributes)), expected);
  });
}

async function* pieces(text: string) {
  yield new TextEncoder().encode(text);
}
