/**
 * Reading values into typed fields by the rules of Go's encoding/json, which the original's readers
 * rely on: keys in any case, unknown keys ignored, the last of equal keys counts, null is nothing, a
 * wrong type is an error. What Go does silently becomes a finding.
 */
import type { Finding, Position } from "../base/finding.ts";
import type { JsonMember, JsonNode } from "./json_text.ts";

export interface Reading {
  readonly findings: Finding[];
  /** Where each value stands, by its path. */
  readonly places: Map<string, Position>;
}

/** Answers undefined for null, and for a wrong type after noting it. */
export type ReadField<T> = (node: JsonNode, path: string, reading: Reading) => T | undefined;

export const text: ReadField<string> = (node, path, reading) =>
  node.type === "string" ? node.value : refuse(node, path, { reading, wanted: "a text in quotes" });

export const toggle: ReadField<boolean> = (node, path, reading) =>
  node.type === "boolean" ? node.value : refuse(node, path, { reading, wanted: "true or false" });

/** Go's int: `2.0` and `1e3` are no whole numbers to it. */
export const integer: ReadField<number> = (node, path, reading) =>
  node.type === "number" && /^-?\d+$/.test(node.text) && isInt64(BigInt(node.text))
    ? Number(node.text) + 0 // -0 becomes 0
    : refuse(node, path, { reading, wanted: "a whole number" });

export function listOf<T>(read: ReadField<T>, empty: T): ReadField<readonly T[]> {
  return (node, path, reading) => {
    if (node.type !== "array") return refuse(node, path, { reading, wanted: "a list" });
    return node.items.map((item, index) => {
      const own = `${path}[${index}]`;
      reading.places.set(own, item.at);
      return read(item, own, reading) ?? empty;
    });
  };
}

/** Free keys, which keep their case. */
export function mapOf<T>(read: ReadField<T>, empty: T): ReadField<Readonly<Record<string, T>>> {
  return (node, path, reading) => {
    if (node.type !== "object") return refuse(node, path, { reading, wanted: "an object" });
    const members = lastOfEach(node.members, path, { reading, nameOf: (key) => key });
    return Object.fromEntries(members.map(({ key, value }) => {
      const own = `${path}[${JSON.stringify(key)}]`;
      reading.places.set(own, value.at);
      return [key, read(value, own, reading) ?? empty];
    }));
  };
}

export type Fields<T> = { readonly [K in keyof T]-?: ReadField<NonNullable<T[K]>> };

/** An object with known keys, all optional. */
export function record<T extends object>(fields: Fields<T>): ReadField<Partial<T>> {
  const names = new Map(
    (Object.keys(fields) as (keyof T & string)[]).map((name) => [name.toLowerCase(), name]),
  );
  return (node, path, reading) => {
    if (node.type !== "object") return refuse(node, path, { reading, wanted: "an object" });
    const nameOf = (key: string) => names.get(key.toLowerCase()) ?? key;
    const result: Partial<T> = {};
    for (const { key, at, value } of lastOfEach(node.members, path, { reading, nameOf })) {
      const name = names.get(key.toLowerCase());
      const own = join(path, name ?? key);
      if (name === undefined) {
        const message = `this key is not known and is ignored${closest(key, [...names.values()])}`;
        reading.findings.push({ severity: "warning", path: own, ...at, message });
        continue;
      }
      reading.places.set(own, value.at);
      const field = fields[name](value, own, reading);
      if (field !== undefined) result[name] = field;
    }
    return result;
  };
}

interface Repeats {
  readonly reading: Reading;
  /** Keys of the same name are repetitions. */
  readonly nameOf: (key: string) => string;
}

function lastOfEach(
  members: readonly JsonMember[],
  path: string,
  { reading, nameOf }: Repeats,
): readonly JsonMember[] {
  const last = new Map(members.map((member) => [nameOf(member.key), member]));
  for (const member of members) {
    const name = nameOf(member.key);
    const counts = last.get(name);
    if (counts === member || counts === undefined) continue;
    reading.findings.push({
      severity: "warning",
      path: join(path, name),
      ...member.at,
      message: `this key is repeated in line ${counts.at.line}, where the value that counts stands`,
    });
  }
  return [...last.values()];
}

interface Refusal {
  readonly reading: Reading;
  readonly wanted: string;
}

function refuse(node: JsonNode, path: string, { reading, wanted }: Refusal): undefined {
  if (node.type === "null") return;
  const message = `must be ${wanted}, not ${described(node)}`;
  reading.findings.push({ severity: "error", ...(path && { path }), ...node.at, message });
}

function described(node: JsonNode): string {
  switch (node.type) {
    case "object":
      return "an object";
    case "array":
      return "a list";
    case "string":
      return `the text ${JSON.stringify(short(node.value))}`;
    case "number":
      return short(node.text);
    case "boolean":
      return String(node.value);
    case "null":
      return "null";
    default:
      return node satisfies never;
  }
}

function short(value: string): string {
  return value.length > 40 ? `${value.slice(0, 40)}…` : value;
}

function join(path: string, key: string): string {
  const plain = /^[\w-]+$/.test(key);
  if (!plain) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function isInt64(number: bigint): boolean {
  return BigInt.asIntN(64, number) === number;
}

/** A known key that was likely meant: one slip of the finger away. */
function closest(key: string, names: readonly string[]): string {
  const found = names.find((name) => isNear(key.toLowerCase(), name.toLowerCase()));
  return found === undefined ? "" : `; is "${found}" meant?`;
}

function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 2) return false;
  let head = 0;
  while (head < a.length && a[head] === b[head]) head++;
  let tail = 0;
  const shorter = Math.min(a.length, b.length) - head;
  while (tail < shorter && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return Math.max(a.length, b.length) - head - tail <= 2;
}
