/** The only owner of the command-line library. A command is data, then `run`, then what it prints. */
import { Argument, Command as Parser, CommanderError, Option } from "commander";
import { UsageError } from "../lib/base/error.ts";

export type FlagValues = Readonly<Record<string, string | true | undefined>>;

export interface Flag {
  /** `metrics-address`, without dashes. */
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in the help; without it the flag is a switch (`--x`, `--x=false`). */
  readonly value?: string;
  readonly help: string;
  /** The text of the default, parsed like one that was given. */
  readonly default?: string;
  readonly choices?: readonly string[];
  /** Accepted for the original's sake and left out of the help. */
  readonly hidden?: true;
}

/** The one word that a command takes beside its flags; its value stands among theirs, by its name. */
export interface Operand {
  readonly name: string;
  readonly help: string;
  readonly choices?: readonly string[];
}

/** What a command may use of the world. */
export interface World {
  readonly version: string;
  out(text: string): void;
  /** Standard error, for people. */
  err(text: string): void;
  env(name: string): string | undefined;
  /** Aborted by the first SIGINT or SIGTERM; the second ends the program. */
  readonly signal: AbortSignal;
}

/** The world of a command that is run: it may look at what other commands there are. */
export interface CommandWorld extends World {
  readonly commands: CommandTable;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly flags: readonly Flag[];
  readonly operand?: Operand;
  /** Each exit code and when it is given. */
  readonly exitCodes: readonly (readonly [number, string])[];
  readonly examples: readonly string[];
  /** Answers the exit code; throws `UsageError` for flags that do not go together. */
  run(flags: FlagValues, world: CommandWorld): Promise<number>;
}

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

/** The value of a flag that has a default or was found present. */
export function textOf(flags: FlagValues, name: string): string {
  const value = flags[name];
  return typeof value === "string" ? value : "";
}

/** Finds the command that the arguments name and runs it; answers the exit code. */
export async function runCommandLine(
  args: readonly string[],
  table: CommandTable,
  world: World,
): Promise<number> {
  const { words, rest } = splitWords(args, table);
  const [name] = words;
  if (name === undefined || name === "help") {
    if (rest.includes("--version") || rest.includes("-V")) {
      world.out(`longshore ${world.version}\n`);
    } else if (rest.length > 0 && !rest.some(isHelp)) {
      throw new UsageError(unknownHere(rest, table));
    } else world.out(overview(table));
    return 0;
  }
  const entry = entryOf(table, name);
  if (entry === undefined) throw new UsageError(`unknown command "${name}"${nearest(name, table)}`);
  const { command } = await entry.load();
  const parsed = parse(command, rest);
  if (parsed.help !== undefined) {
    world.out(parsed.help);
    return 0;
  }
  return await command.run(parsed.flags, { ...world, commands: table });
}

/**
 * The words in front, without flags and their values: `--namespace v node-agent server` is the
 * command `server`. `node-agent` and `server` are how the original calls it.
 */
function splitWords(args: readonly string[], table: CommandTable) {
  const words: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (!arg.startsWith("-") && words.length === 0 && arg === "node-agent") continue;
    if (!arg.startsWith("-") && words.length === 0) words.push(arg);
    else rest.push(arg);
    // A program-wide flag in front of the command takes the next argument as its value.
    if (words.length === 0 && takesValue(arg)) rest.push(args[++at] ?? "");
  }
  const only = words[0];
  if (only === "help" && rest[0] !== undefined && entryOf(table, rest[0]) !== undefined) {
    return { words: [rest[0]], rest: ["--help"] };
  }
  return { words, rest };
}

/** Only what was put in: every record also has a "constructor". */
function entryOf(table: CommandTable, name: string): CommandEntry | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

const beforeCommand = new Set(["--kubeconfig", "--kubecontext", "--namespace", "-n", "--features"]);

function takesValue(arg: string): boolean {
  return beforeCommand.has(arg);
}

function isHelp(arg: string): boolean {
  return arg === "--help" || arg === "-h";
}

interface Parsed {
  readonly flags: FlagValues;
  readonly help?: string;
}

function parse(command: Command, args: readonly string[]): Parsed {
  const parser = parserOf(command);
  try {
    parser.parse(withoutAssignedSwitches(command, args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { flags: {}, help: help(parser, command) };
    const said = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
    throw new UsageError(`${said}; longshore ${command.name} --help lists the flags`);
  }
  const values: Record<string, string | true> = parser.opts();
  const flags = command.flags.map(({ name }) => [name, values[camelCase(name)]] as const);
  const { operand } = command;
  return {
    flags: Object.fromEntries(operand ? [...flags, [operand.name, parser.args[0]]] : flags),
  };
}

function parserOf(command: Command): Parser {
  const parser = new Parser(`longshore ${command.name}`)
    .description(command.description)
    .exitOverride()
    .allowExcessArguments(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .configureHelp({ helpWidth: 100 })
    .helpOption("-h, --help", "show this help");
  for (const flag of command.flags) parser.addOption(optionOf(flag));
  if (command.operand !== undefined) parser.addArgument(argumentOf(command.operand));
  return parser;
}

function optionOf({ name, short, value, help, choices, hidden, ...flag }: Flag): Option {
  const words = `${short === undefined ? "" : `-${short}, `}--${name}`;
  const option = new Option(value === undefined ? words : `${words} <${value}>`, help);
  if (flag.default !== undefined) option.default(flag.default);
  if (choices !== undefined) option.choices([...choices]);
  if (hidden) option.hideHelp();
  return option;
}

function argumentOf({ name, help, choices }: Operand): Argument {
  const argument = new Argument(`<${name}>`, help);
  return choices === undefined ? argument : argument.choices([...choices]);
}

/** Go accepts `--switch=false`; the library does not. */
function withoutAssignedSwitches({ flags }: Command, args: readonly string[]): string[] {
  const switches = new Set(
    flags.filter(({ value }) => value === undefined).map(({ name }) => name),
  );
  return args.flatMap((arg) => {
    const [, name = "", value = ""] = arg.match(/^--([^=]+)=(.*)$/s) ?? [];
    if (!switches.has(name)) return [arg];
    if (/^(1|t|true)$/i.test(value)) return [`--${name}`];
    if (/^(0|f|false)$/i.test(value)) return [];
    throw new UsageError(`the switch --${name} takes true or false, not "${value}"`);
  });
}

function help(parser: Parser, { exitCodes, examples }: Command): string {
  const codes = exitCodes.map(([code, when]) => `  ${String(code).padEnd(4)}${when}`);
  const lines = [
    "",
    "Exit codes:",
    ...codes,
    "",
    "Examples:",
    ...examples.map((line) => `  ${line}`),
  ];
  return `${parser.helpInformation()}${lines.join("\n")}\n`;
}

function overview(table: CommandTable): string {
  const commands = Object.entries(table)
    .map(([name, { summary }]) => `  ${name.padEnd(20)}${summary}`);
  return [
    "Longshore moves the data of Kubernetes volumes for Velero.",
    "",
    "Usage: longshore COMMAND [flags]",
    "",
    "Commands:",
    ...commands,
    "",
    "longshore COMMAND --help shows a command's flags, exit codes and examples;",
    "longshore --version shows the version.",
    "",
  ].join("\n");
}

function unknownHere(rest: readonly string[], table: CommandTable): string {
  return `no command given before "${rest[0]}"; the commands are ${Object.keys(table).join(", ")}`;
}

function nearest(name: string, table: CommandTable): string {
  const names = Object.keys(table);
  const close = names.find((one) => one.startsWith(name.slice(0, 3)) || one.includes(name));
  return close === undefined
    ? `; the commands are ${names.join(", ")}`
    : `; did you mean "${close}"?`;
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
