/** A place in a text, both counted from 1; columns are counted in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Something about a configuration that its author should know. `error`: nothing of it is used;
 * `warning`: a part has no effect, or not the one it seems to have; `info`: what a value means.
 */
export interface Finding extends Partial<Position> {
  readonly severity: "error" | "warning" | "info";
  /** Where in the document: `loadConcurrency.perNodeConfig[1].number`; absent: all of it. */
  readonly path?: string;
  /** A clause without a full stop. */
  readonly message: string;
}

/** A value with what to say about it, or every reason why there is none. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly findings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/** A finding that is more than an explanation: something should be mended. */
export function isFault({ severity }: Finding): boolean {
  return severity !== "info";
}

/** `loadConcurrency.globalConfig (line 3, column 12): must be …` */
export function formatFinding({ path, line, column, message }: Finding): string {
  const place = line === undefined ? "" : `line ${line}, column ${column}`;
  if (path === undefined) return place === "" ? message : `${place}: ${message}`;
  return place === "" ? `${path}: ${message}` : `${path} (${place}): ${message}`;
}
