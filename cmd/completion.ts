import type { Command } from "./command.ts";
import { bashScript, type Completed, fishScript, zshScript } from "./completion_scripts.ts";
import { textOf } from "./command.ts";

const scripts: Readonly<Record<string, (commands: readonly Completed[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export const command: Command = {
  name: "completion",
  summary: "print the completion of a shell",
  description: "Prints a script by which the shell completes commands, flags and their values.",
  flags: [],
  operand: { name: "shell", help: "the shell", choices: Object.keys(scripts) },
  exitCodes: [[0, "printed"], [2, "wrong flags, or another shell"]],
  examples: [
    "source <(longshore completion bash)",
    'longshore completion zsh > "${fpath[1]}/_longshore"',
    "longshore completion fish > ~/.config/fish/completions/longshore.fish",
  ],
  async run(flags, { commands, out }) {
    const all = await Promise.all(
      Object.values(commands).map(async ({ load }) => (await load()).command),
    );
    out(scripts[textOf(flags, "shell")]?.(all) ?? "");
    return 0;
  },
};
