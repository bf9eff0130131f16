/**
 * The only owner of the log library. A line is a constant sentence with facts as fields.
 * error = a human should look; warn = handled oddity; info = transition; debug = decisions.
 */
import { configureSync, getLogger, type LogRecord } from "@logtape/logtape";
import { messageOf } from "./error.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(sentence: string, fields?: Fields): void;
  info(sentence: string, fields?: Fields): void;
  warn(sentence: string, fields?: Fields): void;
  error(sentence: string, fields?: Fields): void;
}

/** The level names of the original; each shows itself and what is graver. */
export const logLevels = ["trace", "debug", "info", "warning", "error", "fatal", "panic"] as const;
export type LogLevel = typeof logLevels[number];
export type LogFormat = "text" | "json";

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Takes whole lines, with their end of line. */
  readonly write: (line: string) => void;
}

const lowest = {
  trace: "trace",
  debug: "debug",
  info: "info",
  warning: "warning",
  error: "error",
  fatal: "fatal",
  panic: "fatal",
} as const;

/** Sets the level, the format and where lines go; until then nothing is written. */
export function configureLog({ level, format, write }: LogOptions): void {
  const line = format === "json" ? jsonLine : textLine;
  configureSync({
    reset: true,
    sinks: { out: (record) => write(line(record)) },
    loggers: [
      { category: "longshore", lowestLevel: lowest[level], sinks: ["out"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["out"] },
    ],
  });
}

/** A logger for one part of the program; the part's name is the field `logger`. */
export function logger(part: string): Log {
  const inner = getLogger(["longshore", part]);
  return {
    debug: (sentence, fields = {}) => inner.debug(literal(sentence), { ...fields }),
    info: (sentence, fields = {}) => inner.info(literal(sentence), { ...fields }),
    warn: (sentence, fields = {}) => inner.warn(literal(sentence), { ...fields }),
    error: (sentence, fields = {}) => inner.error(literal(sentence), { ...fields }),
  };
}

/** Braces would be read as placeholders. */
function literal(sentence: string): string {
  return sentence.replace(/[{}]/g, (brace) => brace + brace);
}

/** logrus' JSON keys `time`, `level`, `msg`, then the fields. */
function jsonLine(record: LogRecord): string {
  const start = head(record);
  // First for its place, last because no field may change the level or the sentence.
  const entries = { ...start, ...Object.fromEntries(facts(record)), ...start };
  return `${JSON.stringify(entries)}\n`;
}

/** logrus' text form: `time="…" level=info msg="…" key=value`. */
function textLine(record: LogRecord): string {
  const pairs = [...Object.entries(head(record)), ...facts(record)]
    .map(([key, value]) =>
      `${key}=${quoted(typeof value === "string" ? value : JSON.stringify(value))}`
    );
  return `${pairs.join(" ")}\n`;
}

function head(record: LogRecord) {
  return {
    time: new Date(record.timestamp).toISOString(),
    level: record.level,
    msg: record.message.map(String).join(""),
    logger: record.category.slice(1).join("."),
  };
}

function facts({ properties }: LogRecord): [string, unknown][] {
  return Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, writable(value)]);
}

/** What JSON cannot hold must not cost the line. */
function writable(value: unknown): unknown {
  if (value instanceof Error) return messageOf(value);
  if (["bigint", "function", "symbol"].includes(typeof value)) return String(value);
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return messageOf(value);
  }
}

function quoted(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : JSON.stringify(text);
}
