import { parse, YAMLParseError } from "yaml";
import { ConfigError } from "../base/error.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A named cluster, user or context, and the file it stands in. */
export interface Entry {
  readonly file: string;
  readonly name: string;
  readonly fields: Fields;
}

/** Several files seen as one. */
export interface Kubeconfig {
  /** The files that exist. */
  readonly files: readonly string[];
  readonly currentContext?: string;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
}

/**
 * Merges the files that exist as client-go does: of equal names the first wins, whole entries at a
 * time. Undefined when there is none of the files. Throws `ConfigError`.
 */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig | undefined> {
  const files: string[] = [];
  const contexts = new Map<string, Entry>();
  const clusters = new Map<string, Entry>();
  const users = new Map<string, Entry>();
  let currentContext: string | undefined;
  for (const file of paths) {
    const fields = await readFields(file);
    if (fields === undefined) continue;
    files.push(file);
    addEntries(contexts, { file, fields, list: "contexts", item: "context" });
    addEntries(clusters, { file, fields, list: "clusters", item: "cluster" });
    addEntries(users, { file, fields, list: "users", item: "user" });
    const current = fields["current-context"];
    if (typeof current === "string" && current !== "") currentContext ??= current;
  }
  if (files.length === 0) return undefined;
  return {
    files,
    contexts,
    clusters,
    users,
    ...(currentContext === undefined ? {} : { currentContext }),
  };
}

async function readFields(file: string): Promise<Fields | undefined> {
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new ConfigError(`Cannot read kubeconfig "${file}"`, { cause });
  }
  const value = parseYaml(text, file);
  if (value === null || value === undefined) return {};
  if (!isFields(value)) throw new ConfigError(`Cannot use kubeconfig "${file}": it is no mapping`);
  return value;
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text, { logLevel: "error" });
  } catch (error) {
    // No cause and no text of the parser: both would show lines of the file, which has secrets.
    const at = error instanceof YAMLParseError && error.linePos
      ? ` at line ${error.linePos[0].line}, column ${error.linePos[0].col} (${error.code})`
      : "";
    throw new ConfigError(`Cannot read kubeconfig "${file}": it is not valid YAML${at}`);
  }
}

interface Source {
  readonly file: string;
  readonly fields: Fields;
  readonly list: string;
  readonly item: string;
}

function addEntries(entries: Map<string, Entry>, { file, fields, list, item }: Source): void {
  const values = fields[list] ?? [];
  const bad = (at: string, what: string) =>
    new ConfigError(`Cannot use kubeconfig "${file}": ${at} ${what}`);
  if (!Array.isArray(values)) throw bad(list, "is no list");
  values.forEach((value: unknown, index) => {
    const at = `${list}[${index}]`;
    if (!isFields(value)) throw bad(at, "is no mapping");
    const { name } = value;
    if (typeof name !== "string" || name === "") throw bad(`${at}.name`, "is not a text");
    const inner = value[item] ?? {};
    if (!isFields(inner)) throw bad(`${at}.${item}`, "is no mapping");
    if (!entries.has(name)) entries.set(name, { file, name, fields: inner });
  });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
