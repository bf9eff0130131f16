import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { runProcess } from "../support/process.ts";
import { type TempFolder, tempFolder } from "../support/temp.ts";

const build = fileURLToPath(new URL("../../build/", import.meta.url));

function write(folder: TempFolder, name: string, text: string): string {
  const path = `${folder.path}/${name}`;
  Deno.writeTextFileSync(path, text, { mode: 0o755 });
  return path;
}

async function lastLine(...args: readonly string[]) {
  const { code, stdout } = await runProcess("node", [`${build}test.mjs`, ...args]);
  return { code, line: stdout.trimEnd().split("\n").at(-1) };
}

Deno.test("the closing line counts tests, steps and what is skipped over all groups", async () => {
  using folder = tempFolder();
  const one = write(
    folder,
    "one_test.ts",
    `Deno.test("a", async (t) => { await t.step("b", () => {}); });
     Deno.test({ name: "c", ignore: true, fn() {} });`,
  );
  const two = write(folder, "two_test.ts", `Deno.test("d", () => {});`);
  assert.deepEqual(await lastLine("run", "true", "--", one, "--", "--parallel", two), {
    code: 0,
    line: "3 passed, 0 failed, 1 skipped",
  });
});

Deno.test("whatever goes wrong in a test run counts as failed", async () => {
  using folder = tempFolder();
  const groups = [
    `Deno.test("a failure", () => { throw new Error("no"); });`,
    `const aTypeError: string = 1; Deno.test("a", () => {});`,
    `throw new Error("at load");`,
    `Deno.test("a timer that is left", () => void setTimeout(() => {}, 1e6));`,
    `Deno.test("an exit", () => Deno.exit(0));`,
    `Deno.test("a success", () => {});`,
  ].map((text, index) => write(folder, `${index}_test.ts`, text));
  assert.deepEqual(await lastLine(...groups.flatMap((group) => ["--", group]).slice(1)), {
    code: 1,
    line: "1 passed, 5 failed, 0 skipped",
  });
});

Deno.test("a group without a test file counts as failed, not as done", async () => {
  using folder = tempFolder();
  const { code, line } = await lastLine(folder.path);
  assert.deepEqual({ code, line }, { code: 1, line: "0 passed, 1 failed, 0 skipped" });
});

Deno.test("a command that fails ends the run and counts as one failure", async () => {
  const { code, line } = await lastLine("run", "false", "--", "no-such-file.ts");
  assert.deepEqual({ code, line }, { code: 1, line: "0 passed, 1 failed, 0 skipped" });
});

Deno.test("all missing prerequisites are named at once, with the version wanted", async () => {
  using folder = tempFolder();
  for (const name of ["bash", "uname", "sort", "head", "grep"]) {
    const { stdout } = await runProcess("sh", ["-c", `command -v ${name}`]);
    Deno.symlinkSync(stdout.trim(), `${folder.path}/${name}`);
  }
  write(folder, "go", "#!/bin/sh\necho go version go1.22.3 linux/amd64\n");
  const path = `PATH=${folder.path}`;
  const result = await runProcess("env", [path, "bash", `${build}prerequisites`]);
  assert.equal(result.code, 1);
  assert.match(result.stderr, /Node\.js 20\.11 or newer: not found\n +https:/);
  assert.match(result.stderr, /Go 1\.26 or newer: found 1\.22\.3\n +https:/);
  for (const name of ["npm", "make", "git", "openssl", "setpriv"]) {
    assert.match(result.stderr, new RegExp(`^ +${name}\\b.*not found`, "m"));
  }
});

Deno.test("nothing is missing where these tests run", async () => {
  const { code, stderr } = await runProcess(`${build}prerequisites`, []);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});
