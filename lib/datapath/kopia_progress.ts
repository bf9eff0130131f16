export interface KopiaProgress {
  /** Hashed and cached bytes, rounded as kopia rounds them. */
  readonly bytesDone: number;
  /** Absent while kopia estimates. */
  readonly totalBytes?: number;
  /** What kopia wrote behind the progress on the same line: it prints errors without a line end. */
  readonly rest: string;
}

const size = String.raw`\(?([\d.]+ ?[KMGTPE]?i?B)\)?`;
const head = new RegExp(String.raw`^\s*\S \d+ hashing, \d+ hashed ${size}, \d+ cached ${size}`);
const estimate = new RegExp(String.raw`estimated ${size}`);
const end = /(?:estimating\.\.\.|\S+ left)/;

/**
 * What a progress line of kopia says (0.17 to 0.23; sizes in decimal or binary units). Undefined for
 * every other line and for a form that is not known.
 */
export function parseProgress(line: string): KopiaProgress | undefined {
  const match = head.exec(line);
  const hashed = parseSize(match?.[1]);
  const cached = parseSize(match?.[2]);
  if (match === null || hashed === undefined || cached === undefined) return undefined;
  const after = line.slice(match[0].length);
  const ended = end.exec(after);
  const shown = ended === null ? after : after.slice(0, ended.index + ended[0].length);
  const totalBytes = parseSize(estimate.exec(shown)?.[1]);
  return {
    bytesDone: hashed + cached,
    ...(totalBytes === undefined ? {} : { totalBytes }),
    rest: after.slice(shown.length).trim(),
  };
}

/** The part of a line that is written for people; "" for a mere progress line. */
export function humanText(line: string): string {
  return parseProgress(line)?.rest ?? line;
}

const units = ["", "K", "M", "G", "T", "P", "E"];

/** Bytes of `9 MB`, `65.5 KB`, `0 B`, `1.2 GiB`. */
export function parseSize(text: string | undefined): number | undefined {
  const [, number, unit, binary] = text?.match(/^(\d+(?:\.\d+)?) ?([KMGTPE]?)(i?)B$/) ?? [];
  if (number === undefined || unit === undefined) return undefined;
  return Math.round(Number(number) * (binary === "i" ? 1_024 : 1_000) ** units.indexOf(unit));
}
