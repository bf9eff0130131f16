import assert from "node:assert/strict";
import { kopiaMemory } from "./repositories.ts";

Deno.test("kopia's heap leaves room for the agent and for what is not heap", () => {
  assert.equal(kopiaMemory(1024 * 2 ** 20, 1), "813MiB");
  assert.equal(kopiaMemory(1024 * 2 ** 20, 4), "203MiB", "shared by those that run at once");
  assert.equal(kopiaMemory(512 * 2 ** 20, 1), "352MiB");
  assert.equal(
    kopiaMemory(128 * 2 ** 20, 1),
    "28MiB",
    "never nothing, however small the container",
  );
});
