/**
 * Rows in columns as wide as their widest cell, two blanks between them, the heads in capitals; no
 * blanks at the end of a line. "" for no rows.
 */
export function formatTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return "";
  const all = [heads.map((head) => head.toUpperCase()), ...rows];
  const widths = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  return all.map((row) => `${line(row, widths)}\n`).join("");
}

function line(row: readonly string[], widths: readonly number[]): string {
  return row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd();
}
