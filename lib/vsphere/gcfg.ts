/**
 * The dialect of vsphere.conf: git's configuration syntax as the Go library gcfg 1.2.3 reads it.
 * What it refuses is refused here, at the same place; a message never holds a value.
 */
import type { Position } from "../base/finding.ts";

/** `value` is absent for a name that stands alone: a switch that is on. */
export interface GcfgVariable {
  /** In lower case: names are the same in either case. */
  readonly name: string;
  readonly value?: string;
  readonly place: Position;
}

/** One `[name "subsection"]` with what follows it; the same header may come again. */
export interface GcfgSection {
  readonly name: string;
  /** As written, without its quotes; empty when there is none. */
  readonly subsection: string;
  readonly place: Position;
  readonly variables: readonly GcfgVariable[];
}

/** All sections in their order, or the first offence against the syntax. */
export type Gcfg =
  | { readonly ok: true; readonly sections: readonly GcfgSection[] }
  | { readonly ok: false; readonly place: Position; readonly message: string };

export function parseGcfg(text: string): Gcfg {
  try {
    return { ok: true, sections: readSections(scanner(text)) };
  } catch (error) {
    if (error instanceof GcfgSyntaxError) {
      return { ok: false, place: error.place, message: error.message };
    }
    throw error;
  }
}

/** Undefined when it is neither yes nor no. */
export function parseGcfgBoolean(value: string | undefined): boolean | undefined {
  if (value === undefined) return true;
  if (/^(true|yes|on|1)$/i.test(value)) return true;
  return /^(false|no|off|0)$/i.test(value) ? false : undefined;
}

/** Decimal, or hexadecimal after `0x`; undefined when it is no whole number. */
export function parseGcfgInteger(value: string | undefined): number | undefined {
  const text = value?.trim() ?? "";
  if (!/^([+-]?[0-9]+|-?0x[0-9a-fA-F]+)$/.test(text)) return undefined;
  const number = text.startsWith("-") ? -Number(text.slice(1)) : Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}

class GcfgSyntaxError extends Error {
  override readonly name = "GcfgSyntaxError";
  constructor(readonly place: Position, message: string) {
    super(message);
  }
}

type Scanner = ReturnType<typeof scanner>;

function readSections(scan: Scanner): GcfgSection[] {
  const sections: (GcfgSection & { variables: GcfgVariable[] })[] = [];
  while (true) {
    scan.skipBlanksAndComment();
    const place = scan.place();
    if (scan.isAtEnd()) return sections;
    if (scan.take("\n")) continue;
    if (scan.take("[")) {
      sections.push({ ...readHeader(scan), place, variables: [] });
      continue;
    }
    const section = sections.at(-1);
    if (section === undefined) throw new GcfgSyntaxError(place, expectedHeader(scan));
    section.variables.push(readVariable(scan));
  }
}

function expectedHeader(scan: Scanner): string {
  if (scan.peek() !== "\ufeff") return "expected a section header, such as [Global]";
  return "the file begins with a byte order mark; save it without one";
}

function readHeader(scan: Scanner): Pick<GcfgSection, "name" | "subsection"> {
  scan.skipBlanks();
  const name = scan.identifier() ?? scan.refuse("expected a section name");
  scan.skipBlanks();
  let subsection = "";
  if (scan.peek() === '"') {
    subsection = scan.subsection();
    scan.skipBlanks();
    if (subsection === "") scan.refuse("empty subsection name");
    if (!scan.take("]")) scan.refuse("expected a right bracket");
  } else if (!scan.take("]")) {
    scan.refuse("expected a subsection name in double quotes, or a right bracket");
  }
  scan.expectEndOfLine();
  return { name, subsection };
}

function readVariable(scan: Scanner): GcfgVariable {
  const place = scan.place();
  const name = scan.identifier() ?? scan.refuse("expected a section header or a name");
  scan.skipBlanksAndComment();
  if (scan.isAtEnd() || scan.peek() === "\n") return { name, place };
  if (!scan.take("=")) scan.refuse("expected '='");
  scan.skipBlanks();
  const value = scan.value();
  scan.expectEndOfLine();
  return { name, value, place };
}

const letter = /^\p{L}$/u;
const letterDigitOrDash = /^[\p{L}\p{Nd}-]$/u;
const blank = /^[ \t\r]$/;

/** A cursor over the text; what it cannot take it refuses with the place. */
function scanner(text: string) {
  const characters = [...text];
  const lineStarts = [0, ...characters.flatMap((one, index) => one === "\n" ? [index + 1] : [])];
  let at = 0;
  const place = (of = at): Position => {
    const line = lineStarts.findLastIndex((start) => start <= of);
    // In UTF-16 units, as editors count.
    const column = characters.slice(lineStarts[line], of).join("").length + 1;
    return { line: line + 1, column };
  };
  const refuse = (message: string, of = at): never => {
    throw new GcfgSyntaxError(place(of), message);
  };
  const nul = characters.indexOf("\0");
  if (nul >= 0) refuse("a character that no text has (NUL)", nul);
  const peek = () => characters[at];
  const isAtEnd = () => at >= characters.length;
  const take = (wanted: string) => peek() === wanted && ++at > 0;
  const skipBlanks = () => {
    while (blank.test(peek() ?? "")) at++;
  };
  const skipBlanksAndComment = () => {
    skipBlanks();
    if (peek() !== ";" && peek() !== "#") return;
    while (!isAtEnd() && peek() !== "\n") at++;
  };
  return {
    place,
    refuse,
    peek,
    isAtEnd,
    take,
    skipBlanks,
    skipBlanksAndComment,
    expectEndOfLine() {
      skipBlanksAndComment();
      if (!isAtEnd() && peek() !== "\n") refuse("expected the end of the line, or a comment");
    },
    identifier(): string | undefined {
      if (!letter.test(peek() ?? "")) return undefined;
      const start = at;
      while (letterDigitOrDash.test(peek() ?? "")) at++;
      return characters.slice(start, at).join("").toLowerCase();
    },
    subsection() {
      const [taken, end] = quotedSubsection(characters, at, refuse);
      at = end;
      return taken;
    },
    value() {
      const [taken, end] = valueAt(characters, at, refuse);
      at = end;
      return taken;
    },
  };
}

type Refuse = (message: string, of: number) => never;
/** What was read, and where the text goes on. */
type Taken = readonly [string, number];

function quotedSubsection(text: readonly string[], start: number, refuse: Refuse): Taken {
  let taken = "";
  for (let at = start + 1; at < text.length && text[at] !== "\n"; at++) {
    if (text[at] === '"') return [taken, at + 1];
    if (text[at] === "\\" && text[++at] !== "\\" && text[at] !== '"') {
      refuse("unknown escape sequence", at);
    }
    taken += text[at];
  }
  return refuse("a double quote is not closed in this line", start);
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\", '"': '"', n: "\n", t: "\t" };

/** Quotes open and close anywhere; blanks outside them count only between other characters. */
function valueAt(text: readonly string[], start: number, refuse: Refuse): Taken {
  let taken = "";
  let kept = 0;
  let quoted = false;
  let at = start;
  for (; at < text.length; at++) {
    const one = text[at]!;
    if (!quoted && (one === "\n" || one === ";" || one === "#")) break;
    if (one === "\n") refuse("a double quote is not closed in this line", start);
    if (one === "\\") {
      if (!quoted && text[at + 1] === "\r") at++;
      taken += escaped(text[++at], quoted) ??
        refuse(quoted ? unknownEscape : bareBackslash, quoted ? at : start);
    } else if (one === '"') quoted = !quoted;
    else if (one !== "\r") taken += one;
    if (quoted || !blank.test(one)) kept = taken.length;
  }
  if (quoted) refuse("a double quote is not closed in this line", start);
  return [taken.slice(0, kept), at];
}

const unknownEscape = "unknown escape sequence: a backslash in double quotes is written twice";
const bareBackslash =
  "a backslash outside of double quotes must be followed by the end of the line or a double " +
  "quote: put the value in double quotes and write the backslash twice";

/** Outside of quotes a backslash joins lines. */
function escaped(one: string | undefined, quoted: boolean): string | undefined {
  if (quoted) return escapes[one ?? ""];
  return one === "\n" ? "" : one === '"' ? '"' : undefined;
}
