import assert from "node:assert/strict";
import { command } from "./completion.ts";
import { bashScript, type Completed, fishScript, zshScript } from "./completion_scripts.ts";
import { runProcess } from "../tests/support/process.ts";
import { tempFolder } from "../tests/support/temp.ts";

const commands: readonly Completed[] = [
  {
    name: "server",
    summary: "the node's agent",
    flags: [
      { name: "kubeconfig", value: "file", help: "the kubeconfig; else [in the pod]: its account" },
      { name: "namespace", short: "n", value: "name", help: "Velero's namespace" },
      { name: "log-level", value: "level", help: "level", choices: ["debug", "info"] },
      { name: "strict", help: "a switch" },
      { name: "colorized", help: "", hidden: true },
    ],
  },
  {
    name: "completion",
    summary: "print",
    flags: [],
    operand: { name: "shell", help: "", choices: ["bash", "zsh"] },
  },
];

const has = async (shell: string) => {
  try {
    return (await runProcess(shell, ["-c", "true"])).code === 0;
  } catch {
    return false;
  }
};
const without = { zsh: !await has("zsh"), fish: !await has("fish") };
for (const [shell, isMissing] of Object.entries(without)) {
  if (isMissing) {
    console.error(`SKIPPED: the ${shell} completion is not tried, for want of ${shell}`);
  }
}

const lines: readonly (readonly [string, readonly string[]])[] = [
  ["longshore ", ["completion", "server"]],
  ["longshore s", ["server"]],
  ["longshore node-agent s", ["server"]],
  ["longshore -n server s", ["server"]],
  ["longshore server --", ["--help", "--kubeconfig", "--log-level", "--namespace", "--strict"]],
  ["longshore server --log-level ", ["debug", "info"]],
  ["longshore server --log-level=d", ["debug"]],
  ["longshore server --strict --na", ["--namespace"]],
  ["longshore server -n ", []],
  ["longshore server --kubeconfig a-f", ["a-file"]],
  ["longshore completion z", ["zsh"]],
];

for (const [line, expected] of lines) {
  Deno.test(`bash completes "${line}"`, async () => {
    using folder = tempFolder("completion");
    await Deno.writeTextFile(`${folder.path}/a-file`, "");
    // As readline splits the line: "=" is a word of its own.
    const words = line.split(/(=)| /).filter((word, at, all) =>
      word !== undefined && (word !== "" || at === all.length - 1)
    );
    const script = `${bashScript(commands)}
      cd ${folder.path}
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _longshore && printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { code, stdout, stderr } = await runProcess("bash", ["-euc", script, "bash", ...words]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split("\n").filter((word) => word !== "").sort(), expected);
  });
}

for (
  const [line, expected] of lines.filter(([line]) => !/node-agent|-n server|=| -n $/.test(line))
) {
  Deno.test({
    ignore: without.fish,
    name: `fish completes "${line}"`,
    async fn() {
      using folder = tempFolder("completion");
      await Deno.writeTextFile(`${folder.path}/a-file`, "");
      const script = `${fishScript(commands)}\ncomplete -C ${JSON.stringify(line)}`;
      const { code, stdout, stderr } = await runProcess("fish", ["--no-config", "-c", script], {
        cwd: folder.path,
        env: { HOME: folder.path },
      });
      assert.equal(code, 0, stderr);
      const words = stdout.split("\n").map((row) => row.split("\t")[0] ?? "");
      assert.deepEqual(words.filter((word) => word !== "").sort(), expected);
    },
  });
}

Deno.test({
  ignore: without.zsh,
  name: "zsh reads its script and completes commands and choices",
  async fn() {
    // What the completion system is asked for, printed in place of a menu.
    const script = `
      compdef() { }
      _describe() { print -rl -- "\${commands[@]}"; }
      _arguments() {
        if [[ $1 == -C ]]; then state=\${wanted}; else print -rl -- "$@"; fi
      }
      ${zshScript(commands)}
      wanted=command words=(longshore s) CURRENT=2; _longshore
      wanted=rest words=(server --log-level) CURRENT=2; _longshore`;
    const { code, stdout, stderr } = await runProcess("zsh", ["-fec", script]);
    assert.equal(code, 0, stderr);
    const words = stdout.split("\n");
    for (
      const expected of [
        "server:the node's agent",
        "--log-level=[level]:level:(debug info)",
        "--kubeconfig=[the kubeconfig; else \\[in the pod\\]\\: its account]:file:_files",
        "-n[Velero's namespace]:name: ",
        "--strict[a switch]",
      ]
    ) assert(words.includes(expected), `${expected} is not in:\n${stdout}`);
    assert.doesNotMatch(stdout, /colorized/);
  },
});

Deno.test("the command prints the script of the shell that is named", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    let out = "";
    const code = await command.run({ shell }, {
      version: "0",
      out: (text) => void (out += text),
      err: () => {},
      env: () => undefined,
      signal: new AbortController().signal,
      commands: { completion: { summary: "", load: () => Promise.resolve({ command }) } },
    });
    assert.equal(code, 0);
    assert.match(out, /completion/);
    const known = { bash: true, zsh: !without.zsh, fish: !without.fish }[shell];
    if (known) assert.equal((await runProcess(shell, ["-n"], { stdin: out })).code, 0, out);
  }
});
