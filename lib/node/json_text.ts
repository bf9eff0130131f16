/**
 * A reader of JSON that keeps the place of every value, and the order and repetition of keys: the
 * platform's parser tells neither, and the node agent's configuration is judged by both.
 */
import type { Position } from "../base/finding.ts";

export type JsonNode =
  & { readonly at: Position }
  & (
    | { readonly type: "object"; readonly members: readonly JsonMember[] }
    | { readonly type: "array"; readonly items: readonly JsonNode[] }
    | { readonly type: "string"; readonly value: string }
    /** As it is written: whether it fits is for the reader of the field to say. */
    | { readonly type: "number"; readonly text: string }
    | { readonly type: "boolean"; readonly value: boolean }
    | { readonly type: "null" }
  );

export interface JsonMember {
  readonly key: string;
  readonly at: Position;
  readonly value: JsonNode;
}

/** The text is no JSON; `at` is where it stops being JSON. */
export class JsonSyntaxError extends SyntaxError {
  override readonly name = "JsonSyntaxError";
  constructor(message: string, readonly at: Position) {
    super(message);
  }
}

interface Reader {
  readonly text: string;
  at: number;
  /** The line of `at`, and where it begins. */
  line: number;
  lineStart: number;
  depth: number;
}

/** No configuration is so deep; the limit keeps a hostile one from exhausting the stack. */
const deepest = 200;

/** Reads one JSON value and nothing after it. Throws `JsonSyntaxError`. */
export function parseJsonText(text: string): JsonNode {
  const reader: Reader = { text, at: 0, line: 1, lineStart: 0, depth: 0 };
  skipBlank(reader);
  if (reader.at === text.length) throw wrong(reader, "there is no JSON value in the text");
  const node = readValue(reader);
  skipBlank(reader);
  if (reader.at < text.length) throw wrong(reader, `${seen(reader)} follows the end of the value`);
  return node;
}

function readValue(reader: Reader): JsonNode {
  const at = positionOf(reader);
  switch (reader.text[reader.at]) {
    case "{":
      return { at, type: "object", members: nested(reader, readMembers) };
    case "[":
      return { at, type: "array", items: nested(reader, readItems) };
    case '"':
      return { at, type: "string", value: readString(reader) };
    default:
      return { at, ...readScalar(reader) };
  }
}

function nested<T>(reader: Reader, read: (reader: Reader) => T): T {
  if (++reader.depth > deepest) throw wrong(reader, `values are nested more than ${deepest} deep`);
  const result = read(reader);
  reader.depth--;
  return result;
}

function readMembers(reader: Reader): JsonMember[] {
  const members: JsonMember[] = [];
  readList(reader, "}", () => {
    const at = positionOf(reader);
    if (reader.text[reader.at] !== '"') {
      throw wrong(reader, `${seen(reader)} where a key in quotes must stand`);
    }
    const key = readString(reader);
    skipBlank(reader);
    if (reader.text[reader.at] !== ":") {
      throw wrong(reader, `${seen(reader)} where ":" must follow the key ${JSON.stringify(key)}`);
    }
    reader.at++;
    skipBlank(reader);
    members.push({ key, at, value: readValue(reader) });
  });
  return members;
}

function readItems(reader: Reader): JsonNode[] {
  const items: JsonNode[] = [];
  readList(reader, "]", () => items.push(readValue(reader)));
  return items;
}

/** From the opening bracket to past the closing one; `readOne` begins at a character that counts. */
function readList(reader: Reader, end: "}" | "]", readOne: () => void): void {
  reader.at++;
  skipBlank(reader);
  if (reader.text[reader.at] === end) return void reader.at++;
  while (true) {
    readOne();
    skipBlank(reader);
    const next = reader.text[reader.at];
    if (next !== "," && next !== end) {
      throw wrong(reader, `${seen(reader)} where "," or "${end}" must follow a value`);
    }
    reader.at++;
    if (next === end) return;
    skipBlank(reader);
    if (reader.text[reader.at] === end) throw wrong(reader, `"${end}" after a comma`);
  }
}

const stringForm = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
/** As far as a string goes when any escape will do. */
const stringStart = /"[ !#-[\]-\uffff]*(?:\\[ -\uffff][ !#-[\]-\uffff]*)*/y;

function readString(reader: Reader): string {
  const found = match(reader, stringForm);
  if (found !== undefined) return (JSON.parse(found) as string).toWellFormed();
  stringStart.lastIndex = reader.at;
  const length = stringStart.exec(reader.text)?.[0].length ?? 0;
  const stop = reader.text[reader.at + length];
  if (stop === '"') throw wrong(reader, 'the string has a "\\" that JSON does not know');
  if (stop !== undefined && stop !== "\n" && stop !== "\r") {
    throw wrong(
      reader,
      `the string has the character ${JSON.stringify(stop)}, which must be escaped`,
    );
  }
  const end = stop === undefined ? "the text" : "the line";
  throw wrong(reader, `the string has no closing quote before ${end} ends`);
}

const numberForm = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordForm = /[^\s,:{}[\]"]+/y;

type Scalar =
  | { readonly type: "number"; readonly text: string }
  | { readonly type: "boolean"; readonly value: boolean }
  | { readonly type: "null" };

function readScalar(reader: Reader): Scalar {
  const start = reader.at;
  const word = match(reader, wordForm);
  if (word === "true" || word === "false") return { type: "boolean", value: word === "true" };
  if (word === "null") return { type: "null" };
  reader.at = start;
  const number = match(reader, numberForm);
  if (number !== undefined && number === word) return { type: "number", text: number };
  reader.at = start;
  throw wrong(
    reader,
    word === undefined
      ? `${seen(reader)} where a value must stand`
      : `${JSON.stringify(word)} is no value; text needs quotes`,
  );
}

function match(reader: Reader, form: RegExp): string | undefined {
  form.lastIndex = reader.at;
  const found = form.exec(reader.text)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
}

/** The only place where a line ends: no other part of JSON may hold a line break. */
function skipBlank(reader: Reader): void {
  for (;; reader.at++) {
    const next = reader.text[reader.at];
    if (next === "\n") {
      reader.line++;
      reader.lineStart = reader.at + 1;
    } else if (next !== " " && next !== "\t" && next !== "\r") return;
  }
}

function seen({ text, at }: Reader): string {
  const code = text.codePointAt(at);
  if (code === undefined) return "the end of the text";
  const character = String.fromCodePoint(code);
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? JSON.stringify(character)
    : `the character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function positionOf({ at, line, lineStart }: Reader): Position {
  return { line, column: at - lineStart + 1 };
}

function wrong(reader: Reader, message: string): JsonSyntaxError {
  return new JsonSyntaxError(message, positionOf(reader));
}
