import assert from "node:assert/strict";
import { type Command, type CommandTable, runCommandLine, type World } from "./command.ts";
import { UsageError } from "../lib/base/error.ts";

interface Seen {
  readonly flags: Readonly<Record<string, unknown>>[];
  out: string;
}

function commandLine(): Seen & { readonly run: (...args: string[]) => Promise<number> } {
  const seen: Seen = { flags: [], out: "" };
  const command: Command = {
    name: "server",
    summary: "s",
    description: "The node agent.",
    flags: [
      {
        name: "log-level",
        value: "level",
        help: "level",
        default: "info",
        choices: ["info", "debug"],
      },
      { name: "namespace", short: "n", value: "name", help: "namespace" },
      { name: "metrics-address", value: "address", help: "address", default: ":8085" },
      { name: "colorized", help: "", hidden: true },
    ],
    exitCodes: [[0, "done"], [2, "wrong flags"]],
    examples: ["longshore server --log-level debug"],
    run: (flags) => {
      seen.flags.push(flags);
      return Promise.resolve(7);
    },
  };
  const table: CommandTable = {
    server: { summary: "the node agent", load: () => Promise.resolve({ command }) },
  };
  const world: World = {
    version: "1.2.3",
    out: (text) => void (seen.out += text),
    err: () => {},
    env: () => undefined,
    signal: new AbortController().signal,
  };
  return Object.assign(seen, { run: (...args: string[]) => runCommandLine(args, table, world) });
}

Deno.test("a command gets its flags, with the defaults of those that were not given", async () => {
  const line = commandLine();
  assert.equal(await line.run("server", "-n", "bk", "--log-level=debug"), 7);
  assert.deepEqual(line.flags, [{
    "log-level": "debug",
    "namespace": "bk",
    "metrics-address": ":8085",
    "colorized": undefined,
  }]);
});

for (
  const args of [
    ["node-agent", "server", "-n", "bk"],
    ["--namespace", "bk", "node-agent", "server"],
    ["node-agent", "--namespace=bk", "server"],
  ]
) {
  Deno.test(`"${args.join(" ")}" is the command server, as with the original`, async () => {
    const line = commandLine();
    assert.equal(await line.run(...args), 7);
    assert.equal(line.flags[0]?.namespace, "bk");
  });
}

Deno.test("a switch takes Go's form with a value", async () => {
  const line = commandLine();
  await line.run("server", "--colorized=true");
  await line.run("server", "--colorized=false");
  assert.deepEqual(line.flags.map((flags) => flags.colorized), [true, undefined]);
  await assert.rejects(line.run("server", "--colorized=maybe"), /true or false, not "maybe"/);
});

const wrong: readonly (readonly [string[], RegExp])[] = [
  [
    ["server", "--log-levle", "debug"],
    /unknown option '--log-levle' \(Did you mean --log-level\?\)/,
  ],
  [["server", "--metric-address", ":1"], /Did you mean --metrics-address\?/],
  [["server", "--log-level", "loud"], /'loud' is invalid.*info, debug/],
  [["server", "--namespace"], /argument missing/],
  [["server", "extra"], /too many arguments/],
  [["sever"], /unknown command "sever".*server/],
  [["constructor"], /unknown command "constructor"/],
  [["help", "constructor"], /no command given before "constructor"/],
  [["--bogus"], /no command given before "--bogus"; the commands are server/],
];

for (const [args, text] of wrong) {
  Deno.test(`"${args.join(" ")}" is a usage error that says what is right`, async () => {
    const line = commandLine();
    await assert.rejects(line.run(...args), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, text);
      return true;
    });
    assert.deepEqual(line.flags, []);
  });
}

Deno.test("the help of a command has its flags, exit codes and an example", async () => {
  for (const args of [["server", "--help"], ["help", "server"]]) {
    const line = commandLine();
    assert.equal(await line.run(...args), 0);
    assert.match(line.out, /Usage: longshore server/);
    assert.match(line.out, /--log-level <level> .*default: "info"/);
    assert.match(line.out, /Exit codes:\n {2}0 {3}done\n {2}2 {3}wrong flags/);
    assert.match(line.out, /longshore server --log-level debug/);
    assert.doesNotMatch(line.out, /colorized/);
  }
});

Deno.test("without a command the commands are listed, and --version tells the version", async () => {
  for (const args of [[], ["--help"], ["help"]]) {
    const line = commandLine();
    assert.equal(await line.run(...args), 0);
    assert.match(line.out, /server +the node agent/);
  }
  const line = commandLine();
  await line.run("--version");
  assert.equal(line.out, "longshore 1.2.3\n");
});
