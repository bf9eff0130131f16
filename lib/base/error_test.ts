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

Deno.test("several errors in one without a text are named each", () => {
  const errors = [new Error("no way to ::1"), new Error("no way to 127.0.0.1")];
  assert.equal(messageOf(new AggregateError(errors)), "no way to ::1; no way to 127.0.0.1");
});

Deno.test("what was thrown and has no JSON form still gives a message", () => {
  const round: Record<string, unknown> = {};
  round["round"] = round;
  for (const thrown of [round, { count: 1n }]) assert.notEqual(messageOf(thrown), "");
});

Deno.test("a long text of spaces costs no time", () => {
  const started = performance.now();
  messageOf(new Error(`a${" ".repeat(100_000)}b`));
  assert.ok(performance.now() - started < 1_000);
});
