/** What a measurement says, and the table and JSON of all of them. */

/** A limit is the highest value that is still good. */
export type Measure =
  | { readonly is: "value"; readonly name: string; readonly unit: string; readonly value: number }
    & { readonly limit: number }
  /** Against a peer in the same run: `ratio` is the median over the repetitions. */
  | { readonly is: "ratio"; readonly name: string; readonly unit: string; readonly value: number }
    & { readonly peer: number; readonly ratio: number; readonly limit: number }
  /** For information. */
  | { readonly is: "fact"; readonly name: string; readonly unit: string; readonly value: number };

export function isOver(measure: Measure): boolean {
  switch (measure.is) {
    case "value":
      return !(measure.value <= measure.limit); // NaN is over
    case "ratio":
      return !(measure.ratio <= measure.limit);
    case "fact":
      return false;
    default:
      return measure satisfies never;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? NaN) + high) / 2;
}

/** One repetition against the peer. */
export interface Pair {
  readonly ours: number;
  readonly peers: number;
}

/** Medians over the repetitions; the ratio is the median of their ratios. */
export function ratioOf(
  pairs: readonly Pair[],
  what: { readonly name: string; readonly unit: string; readonly limit: number },
): Measure {
  return {
    is: "ratio",
    ...what,
    value: median(pairs.map(({ ours }) => ours)),
    peer: median(pairs.map(({ peers }) => peers)),
    ratio: median(pairs.map(({ ours, peers }) => ours / peers)),
  };
}

const columns = ["measure", "value", "peer", "unit", "ratio", "limit", ""] as const;

/** The table, without a line end behind the last line. */
export function formatTable(measures: readonly Measure[]): string {
  const rows = [columns, ...measures.map(rowOf)];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const isNumber = (at: number) => at === 1 || at === 2 || at === 4 || at === 5;
  return rows.map((row) =>
    row.map((cell, at) =>
      isNumber(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)
    ).join("  ").trimEnd()
  ).join("\n");
}

function rowOf(measure: Measure): readonly string[] {
  const { name, unit, value } = measure;
  const verdict = isOver(measure) ? "OVER" : "ok";
  switch (measure.is) {
    case "value":
      return [name, number(value), "", unit, "", number(measure.limit), verdict];
    case "ratio": {
      const { peer, ratio, limit } = measure;
      return [name, number(value), number(peer), unit, ratio.toFixed(3), `${limit} x`, verdict];
    }
    case "fact":
      return [name, number(value), "", unit, "", "", ""];
    default:
      return measure satisfies never;
  }
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 3 : 1);
}
