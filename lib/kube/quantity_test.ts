import { equal, throws } from "node:assert/strict";
import { parseQuantity } from "./quantity.ts";

Deno.test("a quantity is read exactly, rounded up to whole units and to thousandths", () => {
  const cases: [string, bigint, bigint][] = [
    ["0", 0n, 0n],
    ["2", 2n, 2_000n],
    ["100m", 1n, 100n],
    ["1500m", 2n, 1_500n],
    ["1.5", 2n, 1_500n],
    [".5", 1n, 500n],
    ["1.", 1n, 1_000n],
    ["+3", 3n, 3_000n],
    ["-1.5", -2n, -1_500n],
    ["1n", 1n, 1n],
    ["250u", 1n, 1n],
    ["1k", 1_000n, 1_000_000n],
    ["1Ki", 1_024n, 1_024_000n],
    ["1.5Gi", 1_610_612_736n, 1_610_612_736_000n],
    ["0.1Gi", 107_374_183n, 107_374_182_400n],
    ["1e3", 1_000n, 1_000_000n],
    ["1E3", 1_000n, 1_000_000n],
    ["1e-3", 1n, 1n],
    ["12E", 9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
    ["1E", 10n ** 18n, 9_223_372_036_854_775_807n],
    ["7Ei", 8_070_450_532_247_928_832n, 9_223_372_036_854_775_807n],
    ["9007199254740993", 9_007_199_254_740_993n, 9_007_199_254_740_993_000n],
  ];
  for (const [text, whole, milli] of cases) {
    const read = parseQuantity(text);
    equal(read.whole, whole, text);
    equal(read.milli, milli, text);
  }
});

Deno.test("a text that is no quantity is refused by name, and a monstrous exponent is not computed", () => {
  const texts = ["", ".", "1GB", "1gi", "Gi", "1 Gi", "1,5", "1e", "1e+", "0x10", "1e999999999"];
  for (const text of [...texts, "9".repeat(100)]) {
    throws(() => parseQuantity(text), { name: "ConfigError", message: /is not a quantity/ }, text);
  }
});
