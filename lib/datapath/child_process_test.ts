import assert from "node:assert/strict";
import { tempFolder } from "../../tests/support/temp.ts";
import { MovementError } from "../base/error.ts";
import { type ChildRun, startChild } from "./child_process.ts";
import { humanText } from "./kopia_progress.ts";

const never = new AbortController().signal;
const searchPath = Deno.env.get("PATH") ?? "";
const setpriv = await find("setpriv");
const shell = await find("sh");

async function find(name: string): Promise<string> {
  for (const folder of searchPath.split(":")) {
    if (await Deno.stat(`${folder}/${name}`).catch(() => undefined)) return `${folder}/${name}`;
  }
  throw new Error(`The program "${name}" is needed on the search path`);
}

/** A shell script in the program's place. */
function start(script: string, { signal = never, graceMs = 10_000 } = {}): Promise<ChildRun> {
  const command = {
    programs: { program: shell, setpriv },
    progress: "stderr" as const,
    humanText,
    args: ["-c", script],
    environment: { PATH: searchPath, SECRET: "value" },
    graceMs,
  };
  return startChild(command, signal);
}

async function readAll(run: ChildRun) {
  const lines = await Array.fromAsync(run.lines());
  return { lines, exit: await run.exit() };
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

Deno.test("exit code, output and lines are told; progress is not kept for the error", async () => {
  const progress = " | 2 hashing, 0 hashed (65.5 KB), 0 cached (0 B), uploaded 0 B, estimating...";
  await using run = await start(
    `printf '\\r${progress}a problem\\r${progress}' >&2; echo out; exit 3`,
  );
  const { lines, exit } = await readAll(run);
  assert.equal(lines.length, 2);
  const { code, stdout, lines: kept, outOfMemory } = exit;
  assert.deepEqual({ code, stdout, kept, outOfMemory }, {
    code: 3,
    stdout: "out\n",
    kept: ["a problem"],
    outOfMemory: false,
  });
  assert.equal(exit.signal, undefined);
});

Deno.test("a kopia that the system does not start is told with the cause and what to look at", async () => {
  const argument = "x".repeat(200_000); // longer than Linux takes
  await assert.rejects(start(`: ${argument}`), (error) => {
    assert(error instanceof MovementError);
    assert.equal(error.reason, "UploaderNotStarted");
    assert.match(error.message, /^Cannot start ".*sh": .*Argument list too long.*; check/);
    return true;
  });
});

Deno.test("the environment is the given one and nothing else", async () => {
  await using run = await start("env; cat"); // cat: the input is empty, not ours
  const { exit } = await readAll(run);
  const names = (exit.stdout ?? "").trim().split("\n").map((line) => line.split("=")[0]);
  const own = ["PWD", "SHLVL", "_", "OLDPWD"]; // the shell's
  assert.deepEqual(names.filter((name) => !own.includes(name ?? "")).sort(), ["PATH", "SECRET"]);
});

Deno.test("a stop ends the process by SIGTERM", async () => {
  await using run = await start('trap "exit 7" TERM; echo ready >&2; while :; do sleep 0.01; done');
  for await (const line of run.lines()) if (line === "ready") run.stop();
  assert.equal((await run.exit()).code, 7);
});

Deno.test("a process that does not heed SIGTERM is killed, with its children", async () => {
  const script = 'trap "" TERM; sleep 600 & echo $! >&2; while :; do sleep 0.01; done';
  await using run = await start(script, { graceMs: 20 });
  let child = 0;
  for await (const line of run.lines()) {
    child = Number(line);
    run.stop();
  }
  const exit = await run.exit();
  assert.equal(exit.signal, "SIGKILL");
  assert.equal(exit.outOfMemory, false);
  assert(child > 0 && !isAlive(child));
});

Deno.test("an aborted signal stops the process", async () => {
  const aborter = new AbortController();
  await using run = await start("echo ready >&2; exec sleep 600", { signal: aborter.signal });
  for await (const _ of run.lines()) aborter.abort();
  assert.equal((await run.exit()).signal, "SIGTERM");
  await assert.rejects(start("true", { signal: aborter.signal }), { name: "AbortError" });
});

Deno.test("disposing ends a process whose lines nobody reads", async () => {
  let pid = 0;
  {
    await using run = await start("yes >&2", { graceMs: 1_000 });
    pid = run.pid;
    assert(isAlive(pid));
  }
  assert(!isAlive(pid));
});

Deno.test("a process that floods its standard output is read to the end, the text dropped", async () => {
  await using run = await start("head -c 17000000 /dev/zero");
  const { exit } = await readAll(run);
  assert.equal(exit.code, 0);
  assert.equal(exit.stdout, undefined);
});

Deno.test("the process dies with a killed agent", async () => {
  using folder = tempFolder("agent");
  const pidFile = `${folder.path}/pid`;
  const module = new URL("./child_process.ts", import.meta.url);
  const script =
    `echo $$ >${pidFile}.new; mv ${pidFile}.new ${pidFile}; echo up >&2; exec sleep 600`;
  const command = {
    programs: { program: shell, setpriv },
    progress: "stderr",
    args: ["-c", script],
    environment: { PATH: searchPath },
  };
  const source = `import { startChild } from ${JSON.stringify(module.href)};
    const command = { ...${JSON.stringify(command)}, humanText: (line) => line };
    const run = await startChild(command, new AbortController().signal);
    for await (const _ of run.lines()) Deno.kill(Deno.pid, "SIGKILL");`;
  const agentFile = `${folder.path}/agent.ts`;
  await Deno.writeTextFile(agentFile, source);
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const { signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", config, agentFile],
    stderr: "null",
    stdout: "null",
  }).output();
  assert.equal(signal, "SIGKILL");
  const pid = Number(await Deno.readTextFile(pidFile));
  for (let tries = 0; isAlive(pid) && tries < 200; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert(!isAlive(pid));
});

Deno.test("with progress on standard output its lines are given, and errors kept beside", async () => {
  await using run = await startChild({
    programs: { program: shell, setpriv },
    progress: "stdout",
    humanText: (line) => line.startsWith("1") ? "" : line,
    args: ["-c", "pwd; echo 1 of 2; echo 2 of 2; echo bad >&2; exit 4"],
    environment: { PATH: searchPath },
    folder: "/",
  }, never);
  const { lines, exit } = await readAll(run);
  assert.deepEqual(lines, ["/", "1 of 2", "2 of 2"]);
  assert.equal(exit.code, 4);
  assert.equal(exit.stdout, "");
  assert.deepEqual([...exit.lines].sort(), ["/", "2 of 2", "bad"]);
});
