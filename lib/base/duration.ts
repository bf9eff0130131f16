import { UsageError } from "./error.ts";

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "µs": 1e-3,
  "μs": 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * Milliseconds of a duration in Go's syntax (`10m`, `1h30m`, `1.5h`, `90s`; `0` needs no unit), as
 * the flags of the original take it. Throws `UsageError` that names the text and shows an example.
 */
export function parseDuration(text: string): number {
  const [, sign, rest] = text.match(/^([+-]?)(.*)$/s) ?? [];
  if (rest === "0") return 0;
  const parts = [...(rest ?? "").matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy)];
  const read = parts.reduce((length, [part]) => length + part.length, 0);
  if (rest === undefined || read === 0 || read !== rest.length) {
    throw new UsageError(`"${text}" is not a duration; write for example 30s, 10m or 1h30m`);
  }
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ""] ?? 0),
    0,
  );
  return sign === "-" ? -ms : ms;
}

/** Go's text for a duration: `10m0s`, `1h30m0s`, `1.5s`, `250ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms === 0) return "0s";
  if (ms < 1_000) return `${Number(ms.toFixed(3))}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = `${Number(((ms % 60_000) / 1_000).toFixed(3))}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
