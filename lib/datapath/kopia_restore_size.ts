import type { RepositorySession } from "./repository_session.ts";

/** The size of a snapshot's files as its manifest has it; undefined when the manifest does not say. */
export async function snapshotSize(
  session: RepositorySession,
  snapshotID: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const args = ["manifest", "show", snapshotID];
  return sizeIn(await session.run({ args, doing: `read snapshot "${snapshotID}"` }, signal));
}

/** Reads what `manifest show` prints: lines of comment, then the manifest. */
export function sizeIn(text: string): number | undefined {
  const start = text.search(/^\{/m);
  if (start < 0) return undefined;
  try {
    const size: unknown = JSON.parse(text.slice(start))?.rootEntry?.summ?.size;
    return typeof size === "number" ? size : undefined;
  } catch {
    return undefined;
  }
}
