/** The result of a one-shot command, as text or JSON on standard output. */
import { type Flag, type FlagValues, textOf, type World } from "./command.ts";

export const outputFormats = ["text", "json"] as const;
export type OutputFormat = typeof outputFormats[number];

export const outputFlag: Flag = {
  name: "output",
  short: "o",
  value: "format",
  help: "form of the result; with json a failure is one JSON object on standard error",
  default: "text",
  choices: outputFormats,
};

export function outputOf(flags: FlagValues): OutputFormat {
  return textOf(flags, "output") as OutputFormat; // one of the flag's choices
}

/** Writes the value: as it is for programs, or as `text` renders it for people. */
export function writeResult<T>(
  value: T,
  text: (value: T) => string,
  { flags, world }: { readonly flags: FlagValues; readonly world: World },
): void {
  world.out(outputOf(flags) === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : text(value));
}
