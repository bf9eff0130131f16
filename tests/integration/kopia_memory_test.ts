import assert from "node:assert/strict";
import { runProcess } from "../support/process.ts";
import { tempFolder } from "../support/temp.ts";

/** A memory cgroup (v1 or v2) with a limit, or why there can be none. */
async function limitedGroup(megabytes: number) {
  const v1 = "/sys/fs/cgroup/memory";
  const isV1 = await Deno.stat(`${v1}/memory.limit_in_bytes`).then(() => true, () => false);
  const path = `${isV1 ? v1 : "/sys/fs/cgroup"}/longshore-test-${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(path);
    const bytes = String(megabytes * 1_048_576);
    await Deno.writeTextFile(`${path}/${isV1 ? "memory.limit_in_bytes" : "memory.max"}`, bytes);
  } catch (error) {
    console.error(`SKIPPED: an end for want of memory cannot be tested: ${error}`);
    await Deno.remove(path).catch(() => {});
    return undefined;
  }
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

Deno.test("the kernel's kill for want of memory is told apart from any other kill", async () => {
  await using group = await limitedGroup(500);
  if (group === undefined) return;
  using folder = tempFolder("agent");
  const module = new URL("../../lib/datapath/child_process.ts", import.meta.url);
  // Both children end by SIGKILL; only the first one is the kernel's doing.
  await Deno.writeTextFile(
    `${folder.path}/agent.ts`,
    `import { startChild } from ${JSON.stringify(module.href)};
    const { signal } = new AbortController();
    for (const script of ["exec tail /dev/zero", "kill -KILL $$"]) {
      const programs = { program: "/bin/sh", setpriv: Deno.args[0] };
      const environment = { PATH: Deno.args[1] };
      const ways = { progress: "stderr", humanText: (line) => line };
      const command = { programs, args: ["-c", script], environment, ...ways };
      await using run = await startChild(command, signal);
      for await (const _ of run.lines());
      const { signal: by, outOfMemory } = await run.exit();
      console.log(by, outOfMemory);
    }`,
  );
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const found = await runProcess("sh", ["-c", "command -v setpriv"]);
  const script = `echo $$ >"$1/cgroup.procs"; shift; exec "$@"`;
  const { stdout, stderr } = await runProcess("sh", [
    ...["-c", script, "sh", group.path, Deno.execPath(), "run", "-A", "--no-check"],
    ...["--config", config, `${folder.path}/agent.ts`, found.stdout.trim()],
    Deno.env.get("PATH") ?? "",
  ]);
  assert.equal(stdout, "SIGKILL true\nSIGKILL false\n", stderr);
});
