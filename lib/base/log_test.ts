import assert from "node:assert/strict";
import { configureLog, type LogFormat, logger, type LogLevel } from "./log.ts";

function written(level: LogLevel, format: LogFormat): string[] {
  const lines: string[] = [];
  configureLog({ level, format, write: (line) => lines.push(line) });
  const log = logger("test");
  log.debug("a decision");
  log.info("a transition {not a placeholder}", { key: "bk/b 1", bytes: 5, absent: undefined });
  log.warn("something odd");
  log.error("a failure", { error: new Error("outer", { cause: new Error("inner") }) });
  return lines;
}

Deno.test("a level shows itself and what is graver, and nothing else", () => {
  assert.equal(written("debug", "text").length, 4);
  assert.equal(written("info", "text").length, 3);
  assert.equal(written("warning", "text").length, 2);
  assert.equal(written("error", "text").length, 1);
  assert.equal(written("panic", "text").length, 0);
});

Deno.test("a text line has time, level, msg and quoted fields", () => {
  const [line] = written("info", "text");
  assert.match(
    line ?? "",
    /^time=\S+ level=info msg="a transition \{not a placeholder\}" logger=test key="bk\/b 1" bytes=5\n$/,
  );
});

Deno.test("a JSON line is one object whose error holds its causes", () => {
  const line = written("error", "json")[0] ?? "";
  const { time, ...rest } = JSON.parse(line);
  assert.ok(Date.parse(time) > 0);
  assert.deepEqual(rest, {
    level: "error",
    msg: "a failure",
    logger: "test",
    error: "outer: inner",
  });
  assert.equal(line.indexOf("\n"), line.length - 1);
});

Deno.test("a value cannot start a line of its own", () => {
  const lines: string[] = [];
  configureLog({ level: "info", format: "text", write: (line) => lines.push(line) });
  logger("test").info("found a label", { label: 'a\nlevel=error msg="forged"' });
  assert.equal(lines.join("").split("\n").length, 2);
});

for (const format of ["text", "json"] as const) {
  Deno.test(`no field costs a ${format} line or changes its level`, () => {
    const lines: string[] = [];
    configureLog({ level: "info", format, write: (line) => lines.push(line) });
    const round: Record<string, unknown> = {};
    round["round"] = round;
    logger("test").info("odd facts", { count: 1n, round, run: () => 1 });
    logger("test").warn("a borrowed name", { level: "debug", msg: "another" });
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", format === "json" ? /"count":"1"/ : / count=1 /);
    if (format === "text") return;
    const { level, msg } = JSON.parse(lines[1] ?? "");
    assert.deepEqual({ level, msg }, { level: "warning", msg: "a borrowed name" });
  });
}
