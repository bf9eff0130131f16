/** The parts of kopia's snapshot manifest that we read. */
export interface SnapshotManifest {
  /** 32 hex digits. */
  readonly id: string;
  readonly sizeBytes: number;
  /** RFC 3339 */
  readonly startTime: string;
  /** Why the snapshot does not hold the whole volume: `canceled` or `checkpoint`. */
  readonly incomplete?: string;
  /** How many entries could not be read; at most ten of them are listed. */
  readonly failedCount: number;
  readonly failed: readonly FailedEntry[];
}

export interface FailedEntry {
  /** Relative to the volume. */
  readonly path: string;
  readonly error: string;
}

/** Reads what `snapshot create --json` prints; undefined for anything else. */
export function parseManifest(text: string): SnapshotManifest | undefined {
  return manifestOf(parse(text));
}

/** Reads what `snapshot list --json` prints; entries of an unknown form are left out. */
export function parseManifests(text: string): readonly SnapshotManifest[] {
  const list = parse(text);
  if (!Array.isArray(list)) return [];
  return list.map(manifestOf).filter((manifest) => manifest !== undefined);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function manifestOf(value: unknown): SnapshotManifest | undefined {
  const { id, startTime, incomplete, incompleteReason, rootEntry } = fields(value);
  if (typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id)) return undefined;
  const { size, numFailed, errors } = fields(fields(rootEntry)["summ"]);
  const why = [incomplete, incompleteReason].find((why) => typeof why === "string" && why !== "");
  return {
    id,
    sizeBytes: typeof size === "number" ? size : 0,
    startTime: typeof startTime === "string" ? startTime : "",
    ...(typeof why === "string" ? { incomplete: why } : {}),
    failedCount: typeof numFailed === "number" ? numFailed : 0,
    failed: Array.isArray(errors) ? errors.map(failedEntry) : [],
  };
}

function failedEntry(value: unknown): FailedEntry {
  const { path, error } = fields(value);
  return { path: String(path ?? "?"), error: String(error ?? "no reason was given") };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
