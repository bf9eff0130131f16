import { parseSize } from "./kopia_progress.ts";

export interface RestoreProgress {
  /** Written bytes, rounded as kopia rounds them. */
  readonly bytesDone: number;
  /** What kopia has found so far; it grows while kopia still lists the snapshot. */
  readonly totalBytes: number;
  /** What kopia wrote behind the progress on the same line: it prints errors without a line end. */
  readonly rest: string;
}

const head = /^\s*Processed \d+ \(([\d.]+ ?[KMGTPE]?i?B)\) of \d+ \(([\d.]+ ?[KMGTPE]?i?B)\)/;
const more =
  /^(?:, skipped \d+ \([^)]*\))?(?:, ignored \d+ errors?)?(?: \S+ \S+ \([\d.]+%\) remaining [\dhmsnuµ.]+)?\.?/;

/** What a progress line of `snapshot restore` says; undefined for every other line. */
export function parseRestoreProgress(line: string): RestoreProgress | undefined {
  const match = head.exec(line);
  const bytesDone = parseSize(match?.[1]);
  const totalBytes = parseSize(match?.[2]);
  if (match === null || bytesDone === undefined || totalBytes === undefined) return undefined;
  return { bytesDone, totalBytes, rest: line.slice(match[0].length).replace(more, "").trim() };
}

/** The part of a line that is written for people; "" for a mere progress line. */
export function restoreText(line: string): string {
  return parseRestoreProgress(line)?.rest ?? line;
}
