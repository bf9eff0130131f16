import assert from "node:assert/strict";
import { formatTable } from "./table.ts";

Deno.test("a table has columns as wide as their widest cell and no blanks at the end", () => {
  assert.equal(
    formatTable(["node", "number", "why"], [["n1", "3", "because"], ["a-long-name", "12", ""]]),
    "NODE         NUMBER  WHY\nn1           3       because\na-long-name  12\n",
  );
});

Deno.test("a table without rows is nothing", () => {
  assert.equal(formatTable(["node"], []), "");
});
