import assert from "node:assert/strict";
import { parseGcfg, parseGcfgBoolean, parseGcfgInteger } from "./gcfg.ts";

/** What stands behind `[Global]` and the end of its line, and the value of its only name. */
const values: readonly (readonly [string, string | undefined])[] = [
  ["user = a b", "a b"],
  ["user =   a b \t\r", "a b"],
  ["user = a#b", "a"],
  ["user = a;b", "a"],
  ['user = "a#b;c"', "a#b;c"],
  [String.raw`user = "a\\b\"c"`, String.raw`a\b"c`],
  [String.raw`user = "a\nb\tc"`, "a\nb\tc"],
  ["user = a\\\nb", "ab"],
  ["user = a\\\r\nb", "ab"],
  [String.raw`user = a\"b`, 'a"b'],
  ['user = a" # "b', "a # b"],
  ['user = "  a  "', "  a  "],
  ["user = 'a b'", "'a b'"],
  ['user = "a" ; c', "a"],
  ["user =", ""],
  ["user = # nothing", ""],
  ["user", undefined],
  ["user ; alone", undefined],
  ["USER = x", "x"],
  ["\t user=x=y", "x=y"],
  ["user = pä💡ß", "pä💡ß"],
];

for (const [line, expected] of values) {
  Deno.test(`${JSON.stringify(line)} gives ${JSON.stringify(expected)}`, () => {
    for (const text of [`[global]\n${line}`, `[GLOBAL] # c\n\n${line}\n; end\n`]) {
      const { variables } = sectionsOf(text)[0]!;
      assert.deepEqual(variables.map(({ name, value }) => [name, value]), [["user", expected]]);
    }
  });
}

const offences: readonly (readonly [string, string, RegExp])[] = [
  [String.raw`user = "a\db"`, "2:11", /^unknown escape sequence/],
  [String.raw`user = a\b`, "2:8", /^a backslash outside of double quotes/],
  ['user = "secret', "2:8", /^a double quote is not closed/],
  ['user = "secret\nx"', "2:8", /^a double quote is not closed/],
  ["user secret", "2:6", /^expected '='/],
  ["secret!", "2:7", /^expected '='/],
  ["!secret", "2:1", /^expected a section header or a name/],
  ["[VirtualCenter 10.0.0.1]", "2:16", /^expected a subsection name in double quotes/],
  ['[VirtualCenter ""]', "2:18", /^empty subsection name/],
  ['[VirtualCenter "a" b]', "2:20", /^expected a right bracket/],
  ['[VirtualCenter "a', "2:16", /^a double quote is not closed/],
  [String.raw`[VirtualCenter "a\n"]`, "2:19", /^unknown escape sequence/],
  ["[]", "2:2", /^expected a section name/],
  ["[Labels] user = secret", "2:10", /^expected the end of the line/],
  ["user = 💡\0", "2:10", /NUL/],
];

for (const [line, place, message] of offences) {
  Deno.test(`${JSON.stringify(line)} is refused at ${place}, without its text`, () => {
    const parsed = parseGcfg(`[Global]\n${line}\n`);
    assert.ok(!parsed.ok);
    assert.equal(`${parsed.place.line}:${parsed.place.column}`, place);
    assert.match(parsed.message, message);
    assert.doesNotMatch(parsed.message, /secret/);
  });
}

Deno.test("a byte order mark and a name before the first section are refused at their place", () => {
  const first = { line: 1, column: 1 };
  const marked = parseGcfg("\ufeff[Global]\n");
  assert.ok(!marked.ok && /byte order mark/.test(marked.message));
  assert.deepEqual(marked.place, first);
  const early = parseGcfg("user = x\n[Global]\n");
  assert.ok(!early.ok && /section header/.test(early.message));
  assert.deepEqual(early.place, first);
});

Deno.test("sections come in their order, with the subsection's case and every place", () => {
  const text = '[Global]\nuser=a\n user = b\n\n[virtualCENTER "Host\\"\\\\"]\nport\n[global]\n';
  assert.deepEqual(sectionsOf(text), [
    {
      name: "global",
      subsection: "",
      place: { line: 1, column: 1 },
      variables: [
        { name: "user", value: "a", place: { line: 2, column: 1 } },
        { name: "user", value: "b", place: { line: 3, column: 2 } },
      ],
    },
    {
      name: "virtualcenter",
      subsection: 'Host"\\',
      place: { line: 5, column: 1 },
      variables: [{ name: "port", place: { line: 6, column: 1 } }],
    },
    { name: "global", subsection: "", place: { line: 7, column: 1 }, variables: [] },
  ]);
  assert.deepEqual(sectionsOf(" # nothing\n"), []);
});

Deno.test("switches and numbers are read as gcfg reads them", () => {
  const booleans = [undefined, "true", "YES", "on", "1", "false", "No", "OFF", "0", "maybe", ""];
  const expected = [true, true, true, true, true, false, false, false, false, undefined, undefined];
  assert.deepEqual(booleans.map(parseGcfgBoolean), expected);
  const numbers = ["0x10", "-0x10", "10", "-5", "+7", " 8 ", "010", "x", "", "1 2", "1e3", "0X10"];
  const read = [16, -16, 10, -5, 7, 8, 10, undefined, undefined, undefined, undefined, undefined];
  assert.deepEqual(numbers.map(parseGcfgInteger), read);
  assert.equal(parseGcfgInteger(undefined), undefined);
  assert.equal(parseGcfgInteger("9999999999999999999"), undefined);
});

function sectionsOf(text: string) {
  const parsed = parseGcfg(text);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.sections;
}
