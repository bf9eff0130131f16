import assert from "node:assert/strict";
import { concurrencyOf, type ConcurrencyPlan } from "./concurrency.ts";

const rule = (label: string, number: number) => {
  const [key = "", value = ""] = label.split("=");
  return { nodeSelector: { matchLabels: { [key]: value } }, number };
};
const overlapping = { globalConfig: 2, perNodeConfig: [rule("size=s", 3), rule("zone=a", 5)] };

/** `number by winner: verdicts` */
function brief({ number, winner, rules }: ConcurrencyPlan): string {
  const by = winner.by === "rule" ? `rule ${winner.index}` : winner.by;
  return `${number} by ${by}: ${rules.map(({ verdict }) => verdict).join(", ")}`;
}

const cases = [
  [
    "both rules match, and the smaller wins",
    overlapping,
    { size: "s", zone: "a" },
    "3 by rule 0: matched, matched",
  ],
  ["one rule matches and wins though it is above the global number", overlapping, {
    size: "l",
    zone: "a",
  }, "5 by rule 1: not matched, matched"],
  [
    "no rule matches a node without labels",
    overlapping,
    {},
    "2 by globalConfig: not matched, not matched",
  ],
  [
    "no rule matches a node whose labels are not known",
    overlapping,
    undefined,
    "2 by globalConfig: not matched, not matched",
  ],
  ["nothing is set", {}, {}, "1 by default: "],
  ["the global number is not above 0", { globalConfig: -3 }, {}, "1 by default: "],
  ["the order of rules does not count", { perNodeConfig: [rule("a=b", 9), rule("a=b", 4)] }, {
    a: "b",
  }, "4 by rule 1: matched, matched"],
  ["of equal numbers the first is named", { perNodeConfig: [rule("a=b", 4), rule("a=b", 4)] }, {
    a: "b",
  }, "4 by rule 0: matched, matched"],
  [
    "an empty selector matches",
    { globalConfig: 8, perNodeConfig: [{ nodeSelector: {}, number: 6 }, { number: 7 }] },
    {},
    "6 by rule 0: matched, matched",
  ],
  [
    "rules with a number of 0 or none are skipped",
    { perNodeConfig: [rule("a=b", 0), { nodeSelector: {} }] },
    { a: "b" },
    "1 by default: invalid, invalid",
  ],
  [
    "a rule with a bad selector is skipped",
    {
      globalConfig: 3,
      perNodeConfig: [{
        nodeSelector: { matchExpressions: [{ key: "a", operator: "In" as const }] },
        number: 1,
      }],
    },
    { a: "b" },
    "3 by globalConfig: invalid",
  ],
] as const;

for (const [what, config, labels, expected] of cases) {
  Deno.test(`concurrency: ${what}`, () => {
    assert.equal(brief(concurrencyOf(config, labels)), expected);
  });
}

Deno.test("without a configuration one movement runs at once", () => {
  assert.deepEqual(concurrencyOf(undefined, { a: "b" }), {
    number: 1,
    winner: { by: "default" },
    global: 1,
    rules: [],
  });
});

Deno.test("a rule that does not match says which label is in the way", () => {
  const { rules } = concurrencyOf({
    perNodeConfig: [
      rule("size=s", 3),
      {
        nodeSelector: {
          matchLabels: { zone: "b" },
          matchExpressions: [
            { key: "arch", operator: "NotIn", values: ["arm"] },
            { key: "gpu", operator: "Exists" },
            { key: "old", operator: "DoesNotExist" },
          ],
        },
        number: 1,
      },
    ],
  }, { zone: "a", arch: "arm", old: "" });
  assert.deepEqual(rules, [
    {
      index: 0,
      selector: "size=s",
      number: 3,
      verdict: "not matched",
      reason: "wants size=s, the node has no label size",
    },
    {
      index: 1,
      selector: "zone=b,arch!=arm,gpu,!old",
      number: 1,
      verdict: "not matched",
      reason: "wants zone=b, the node has zone=a; wants arch!=arm, the node has arch=arm; " +
        "wants gpu, the node has no label gpu; wants !old, the node has old=",
    },
  ]);
});
