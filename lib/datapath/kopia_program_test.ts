import assert from "node:assert/strict";
import { MovementError } from "../base/error.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { kopiaFinder } from "./kopia_program.ts";

const { signal } = new AbortController();

/** A program that answers `--version`, and writes down that it was asked. */
async function program(folder: string, name: string, script: string): Promise<string> {
  const path = `${folder}/${name}`;
  await Deno.writeTextFile(`${path}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await Deno.rename(`${path}.new`, path);
  return path;
}

function says(answer: string) {
  return `echo asked >>"$0.log"; echo "${answer}"`;
}

async function timesAsked(kopia: string): Promise<number> {
  return (await Deno.readTextFile(`${kopia}.log`)).trim().split("\n").length;
}

function failsWith(reason: string, ...patterns: RegExp[]) {
  return (error: unknown) => {
    assert(error instanceof MovementError);
    assert.equal(error.reason, reason);
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  };
}

Deno.test("the first kopia on the search path is taken and asked once per file", async () => {
  using folder = tempFolder("programs");
  const kopia = await program(folder.path, "kopia", says("0.22.3 build: x from: y"));
  const setpriv = await program(folder.path, "setpriv", "");
  const find = kopiaFinder({ searchPath: `/nonexistent:relative:${folder.path}` });
  assert.deepEqual(await find(signal), { program: kopia, setpriv });
  assert.deepEqual(await find(signal), { program: kopia, setpriv });
  assert.equal(await timesAsked(kopia), 1);
  await program(folder.path, "kopia", says("0.9.9"));
  await assert.rejects(
    find(signal),
    failsWith("KopiaTooOld", /kopia 0\.9\.9/, /0\.22\.3 or newer/),
  );
});

for (const version of ["0.22.4", "0.23.0", "1.0.0", "v0.30.1", "v0-unofficial", ""]) {
  Deno.test(`a kopia that says "${version}" is accepted`, async () => {
    using folder = tempFolder("programs");
    const kopia = await program(folder.path, "kopia", says(version));
    const setpriv = await program(folder.path, "setpriv", "");
    await kopiaFinder({ kopia, setpriv, searchPath: "" })(signal);
  });
}

for (const version of ["0.22.2", "0.21.9", "0.8.10"]) {
  Deno.test(`a kopia that says "${version}" is too old`, async () => {
    using folder = tempFolder("programs");
    const kopia = await program(folder.path, "kopia", says(version));
    const setpriv = await program(folder.path, "setpriv", "");
    const find = kopiaFinder({ kopia, setpriv, searchPath: "" });
    await assert.rejects(find(signal), failsWith("KopiaTooOld", /replace the program/));
  });
}

Deno.test("a missing program is told with the place where it was looked for", async () => {
  using folder = tempFolder("programs");
  const kopia = await program(folder.path, "kopia", says("0.23.1"));
  const nowhere = kopiaFinder({ searchPath: "/nonexistent" });
  await assert.rejects(nowhere(signal), failsWith("KopiaMissing", /"kopia".*"\/nonexistent"/));
  const wrong = kopiaFinder({ kopia: "/nonexistent/kopia", searchPath: "" });
  await assert.rejects(wrong(signal), failsWith("KopiaMissing", /at "\/nonexistent\/kopia"/));
  const alone = kopiaFinder({ kopia, searchPath: folder.path });
  await assert.rejects(alone(signal), failsWith("KopiaMissing", /"setpriv"/, /util-linux/));
});

Deno.test("a file that is no program of this machine, or fails, is told as such", async () => {
  using folder = tempFolder("programs");
  const setpriv = await program(folder.path, "setpriv", "");
  const broken = `${folder.path}/broken`;
  await Deno.writeFile(broken, new Uint8Array([1, 2, 3]), { mode: 0o755 });
  const failing = await program(folder.path, "failing", "echo no library >&2; exit 4");
  for (const [kopia, pattern] of [[broken, /Cannot run/], [failing, /exit code 4: no library/]]) {
    const find = kopiaFinder({ kopia: String(kopia), setpriv, searchPath: "" });
    await assert.rejects(find(signal), failsWith("KopiaMissing", pattern as RegExp));
  }
});
