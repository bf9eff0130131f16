/** The completion scripts, made from what the commands say of themselves. */
import type { Command, Flag } from "./command.ts";

export type Completed = Pick<Command, "name" | "summary" | "flags" | "operand">;

const helpFlag: Flag = { name: "help", short: "h", help: "show the command's help" };

function shownFlags({ flags }: Completed): readonly Flag[] {
  return [...flags.filter(({ hidden }) => !hidden), helpFlag];
}

/** What may stand for a flag's value. */
function valueOf({ value, choices }: Flag): "nothing" | "a path" | "a choice" | "anything" {
  if (value === undefined) return "nothing";
  if (choices !== undefined) return "a choice";
  return value === "file" || value === "folder" ? "a path" : "anything";
}

function dashed({ name, short }: Flag): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

/** For bash 3.2 and later, without its package of completions. */
export function bashScript(commands: readonly Completed[]): string {
  return `# bash completion of longshore
_longshore() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" at
  # bash makes "=" a word of its own
  if [[ $word == "=" ]]; then word=""; elif [[ $before == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      --kubeconfig | --kubecontext | --namespace | -n | --features) ((at++)) ;;
      node-agent | = | -*) ;;
      *) command="\${COMP_WORDS[at]}"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command" in
    "") COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$word")) ;;
${commands.map(bashCommand).join("\n")}
  esac
}
complete -F _longshore longshore
`;
}

function bashCommand(command: Completed): string {
  const flags = shownFlags(command);
  const cases = flags.flatMap((flag) => {
    const kind = valueOf(flag);
    if (kind === "nothing") return [];
    const reply = kind === "a choice"
      ? bashReply(`-W "${flag.choices?.join(" ")}"`)
      : kind === "a path"
      ? bashReply("-f")
      : ":";
    return [`        ${dashed(flag).join(" | ")}) ${reply}; return ;;`];
  });
  const words = [
    ...flags.flatMap(dashed).filter((word) => word.startsWith("--")),
    ...command.operand?.choices ?? [],
  ];
  return [
    `    ${command.name})`,
    ...(cases.length === 0 ? [] : ['      case "$before" in', ...cases, "      esac"]),
    `      ${bashReply(`-W "${words.join(" ")}"`)} ;;`,
  ].join("\n");
}

function bashReply(how: string): string {
  return `COMPREPLY=($(compgen ${how} -- "$word"))`;
}

/** To be named _longshore in a folder of \$fpath, or sourced. */
export function zshScript(commands: readonly Completed[]): string {
  return `#compdef longshore
_longshore() {
  local curcontext="$curcontext" state line
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join("\n")}
  )
  # as the original is called: node-agent server
  if [[ \${words[2]} == node-agent ]]; then
    words=("\${words[1]}" "\${(@)words[3,-1]}")
    ((CURRENT--))
  fi
  _arguments -C '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case \${words[1]} in
${commands.map(zshCommand).join("\n")}
      esac ;;
  esac
}
if [[ $funcstack[1] == _longshore ]]; then _longshore "$@"; else compdef _longshore longshore; fi
`;
}

function zshCommand(command: Completed): string {
  const choices = command.operand?.choices;
  const specs = [
    ...shownFlags(command).flatMap(zshFlag),
    ...(choices === undefined ? [] : [quoted(`1:${command.operand?.name}:(${choices.join(" ")})`)]),
  ];
  return [
    `        ${command.name})`,
    `          _arguments \\`,
    `            ${specs.join(" \\\n            ")} ;;`,
  ].join("\n");
}

function zshFlag(flag: Flag): string[] {
  const help = flag.help.replace(/[[\]\\:]/g, (character) => `\\${character}`);
  const kind = valueOf(flag);
  const value = kind === "nothing"
    ? ""
    : kind === "a choice"
    ? `:${flag.value}:(${flag.choices?.join(" ")})`
    : kind === "a path"
    ? `:${flag.value}:_files`
    : `:${flag.value}: `;
  return dashed(flag).map((word) => {
    const assigned = value !== "" && word.startsWith("--") ? "=" : "";
    return quoted(`${word}${assigned}[${help}]${value}`);
  });
}

/** For fish 3 and later. */
export function fishScript(commands: readonly Completed[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary, operand } = command;
    const here = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c longshore -n "not __fish_seen_subcommand_from $commands" -a ${name} -d ${
        quoted(summary)
      }`,
      ...shownFlags(command).map((flag) => `complete -c longshore ${here} ${fishFlag(flag)}`),
      ...(operand?.choices === undefined
        ? []
        : [`complete -c longshore ${here} -a ${quoted(operand.choices.join(" "))}`]),
    ];
  });
  return [
    "# fish completion of longshore",
    `set -l commands ${commands.map(({ name }) => name).join(" ")}`,
    "complete -c longshore -f",
    ...lines,
    "",
  ].join("\n");
}

function fishFlag(flag: Flag): string {
  const { name, short, help, choices } = flag;
  const kind = valueOf(flag);
  return [
    `-l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(kind === "nothing" ? [] : kind === "a path" ? ["-r -F"] : ["-x"]),
    ...(kind === "a choice" ? [`-a ${quoted(choices?.join(" ") ?? "")}`] : []),
    `-d ${quoted(help)}`,
  ].join(" ");
}

/** A quote within is written so that all three shells read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}
