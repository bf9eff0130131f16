import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import {
  formatSelector,
  type LabelSelector,
  matchesLabels,
  parseSelector,
  selectorProblems,
  validLabelValue,
} from "./labels.ts";

Deno.test("a selector matches as Kubernetes does, with and without the label", () => {
  const cases: [string, Record<string, string>, boolean][] = [
    ["", { a: "1" }, true],
    ["a=1", { a: "1" }, true],
    ["a=1", { a: "2" }, false],
    ["a=1", {}, false],
    ["a=", { a: "" }, true],
    ["a!=1", {}, true],
    ["a!=1", { a: "1" }, false],
    ["a in (1, 2)", { a: "2" }, true],
    ["a in (1,2),b", { a: "2" }, false],
    ["a notin (1,2)", {}, true],
    ["a notin (1,2)", { a: "1" }, false],
    ["a", { a: "" }, true],
    ["!a", { a: "" }, false],
    ["!a", {}, true],
    ["constructor", {}, false],
    ["!constructor", {}, true],
  ];
  for (const [text, labels, expected] of cases) {
    equal(
      matchesLabels(parseSelector(text), labels),
      expected,
      `${text} ${JSON.stringify(labels)}`,
    );
  }
  equal(matchesLabels({ matchLabels: { a: "1" } }, { a: "1", b: "2" }), true);
  equal(matchesLabels({ matchLabels: { a: "1" } }), false);
});

Deno.test("the text form of a selector reads back as the same selector", () => {
  const texts = [
    "a=b",
    "a!=b",
    "a in (b,c)",
    "a notin (b,c)",
    "a",
    "!a",
    "velero.io/x=y-1,b in (c,d),!e",
  ];
  for (const text of texts) equal(formatSelector(parseSelector(text)), text);
  equal(formatSelector(parseSelector(" a == b , c  in( d , e ) ")), "a=b,c in (d,e)");
  equal(formatSelector({ matchLabels: { x: "1" }, matchExpressions: [] }), "x=1");
  equal(formatSelector({}), "");
});

Deno.test("a text that is no selector is refused with the part that is wrong", () => {
  for (const text of ["a=b=c", "a in", "a in (b", "=b", "a,,b", "a>1", "a b", "!a=b"]) {
    throws(() => parseSelector(text), { name: "ConfigError" }, text);
  }
  throws(() => parseSelector("ok=1,b>2"), { message: /"b>2"/ });
});

Deno.test("each problem of a selector is named with its path", () => {
  const selector: LabelSelector = {
    matchLabels: { "Bad/x": "1", ok: "a,b" },
    matchExpressions: [
      { key: "a", operator: "In" },
      { key: "b", operator: "Exists", values: ["1"] },
      { key: "k".repeat(64), operator: "Exists" },
      { key: "c", operator: "Gt" as "In", values: ["1"] },
    ],
  };
  const problems = selectorProblems(selector);
  deepEqual(problems.length, 6);
  match(problems[0]!, /^matchLabels\["Bad\/x"\]: "Bad" is not a DNS name/);
  match(problems[1]!, /^matchLabels\["ok"\]: "a,b" is not a label value/);
  match(problems[2]!, /^matchExpressions\[0\]: operator In needs values/);
  match(problems[3]!, /^matchExpressions\[1\]: operator Exists takes no values/);
  match(problems[4]!, /^matchExpressions\[2\]: .* is longer than 63/);
  match(problems[5]!, /^matchExpressions\[3\]: unknown operator "Gt"/);
  throws(() => formatSelector(selector), { name: "ConfigError" });
});

Deno.test("a value with a comma cannot smuggle a second requirement into the text form", () => {
  throws(() => formatSelector({ matchLabels: { a: "1,b=2" } }), { name: "ConfigError" });
});

Deno.test("a long label value is its first 57 characters and six hex digits of its SHA-256", () => {
  const text = "a".repeat(64);
  equal(validLabelValue("a".repeat(63)), "a".repeat(63));
  equal(validLabelValue(text), "a".repeat(57) + "ffe054");
  ok(validLabelValue(text + "b") !== validLabelValue(text));
});
