import assert from "node:assert/strict";
import { ConfigError, messageOf } from "./error.ts";

Deno.test("a message holds the causes, each once, on one line", () => {
  const inner = new Error("no such file\n(os error 2)");
  const outer = new ConfigError('Cannot read "x"', {
    cause: new Error("open failed", { cause: inner }),
  });
  assert.equal(messageOf(outer), 'Cannot read "x": open failed: no such file (os error 2)');
  assert.equal(messageOf(new Error("a: b", { cause: new Error("b") })), "a: b");
});

Deno.test("a message is never empty", () => {
  for (const error of [new Error(""), undefined, null, "", new TypeError("", { cause: "" })]) {
    assert.notEqual(messageOf(error).trim(), "");
  }
});

Deno.test("a chain of causes that leads back to itself ends", () => {
  const error = new Error("round");
  error.cause = error;
  assert.equal(messageOf(error), "round");
});
