import { linked } from "../base/abort.ts";

/**
 * The bytes of a body. The only place where a stream is read, because an abort given to `fetch` is
 * lost for ever once the Response has been collected: here a listener of our own holds the reader.
 * An abort throws the signal's reason; leaving the loop frees the connection. A piece is valid until
 * the next one is asked for.
 */
export async function* chunks(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = readerOf(body);
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (true) {
      signal.throwIfAborted();
      const piece = await reader.read();
      signal.throwIfAborted();
      if (piece === undefined) return;
      yield piece;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel().catch(() => {});
  }
}

interface Reader {
  /** Undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(reason?: unknown): Promise<void>;
}

const bufferBytes = 65_536;

/**
 * One buffer for the whole of a stream of bytes: by itself Deno takes 64 KiB for each piece, however
 * small, and that garbage doubles the memory of a big list.
 */
function readerOf(body: ReadableStream<Uint8Array>): Reader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    const plain = body.getReader(); // no stream of bytes
    return {
      read: async () => (await plain.read()).value,
      cancel: (reason) => plain.cancel(reason),
    };
  }
  let buffer = new ArrayBuffer(bufferBytes);
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = value.buffer;
      return done ? undefined : value;
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** A body or line was longer than allowed. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** The whole text; longer than `limitBytes` throws `TooLargeError` before it is all read. */
export async function readText(
  bytes: AsyncIterable<Uint8Array>,
  limitBytes: number,
): Promise<string> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > limitBytes) throw new TooLargeError(`more than ${formatMiB(limitBytes)}`);
    parts.push(decoder.decode(chunk, { stream: true }));
  }
  parts.push(decoder.decode());
  return parts.join("");
}

const newline = 0x0a;

/**
 * The lines of a stream, without their end. What follows the last end of line is dropped: a line
 * that was cut off is no line. A line longer than `limitBytes` throws `TooLargeError`.
 */
export async function* lines(
  bytes: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  let pendingLength = 0;
  for await (const chunk of bytes) {
    let start = 0;
    // The byte of a newline is never part of another character in UTF-8.
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = joined(pending, chunk.subarray(start, end));
      if (line.length > limitBytes) throw new TooLargeError(`more than ${formatMiB(limitBytes)}`);
      pending = [];
      pendingLength = 0;
      start = end + 1;
      if (line.length > 0) yield decoder.decode(line);
    }
    if (start < chunk.length) {
      pending.push(chunk.slice(start));
      pendingLength += chunk.length - start;
      if (pendingLength > limitBytes) throw new TooLargeError(`more than ${formatMiB(limitBytes)}`);
    }
  }
}

function joined(before: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (before.length === 0) return last;
  const whole = new Uint8Array(before.reduce((sum, part) => sum + part.length, last.length));
  let at = 0;
  for (const part of [...before, last]) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function formatMiB(bytes: number): string {
  return bytes >= 1 << 20 ? `${bytes / (1 << 20)} MiB` : `${bytes} bytes`;
}

/** A signal that is aborted with its parent, by its owner, or after a time without `touch`. */
export interface Watchdog extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Something came: the time starts anew, from now on with `ms` where given. */
  touch(ms?: number): void;
  /** It is not the other side that is waited for, until the next `touch`. */
  pause(): void;
  /** The TimeoutError, once the time has run out. */
  expired(): DOMException | undefined;
}

/** Aborts with a TimeoutError "<what> …" when nothing came for `ms`. */
export function watchdog(parent: AbortSignal, ms: number, what: string): Watchdog {
  const child = linked(parent);
  let reason: DOMException | undefined;
  let allowedMs = ms;
  let last = performance.now();
  let paused = false;
  // A chunk only notes the time: a stream of many chunks makes no timers.
  const look = () => {
    const left = paused ? allowedMs : last + allowedMs - performance.now();
    if (left > 0.5) return void (timer = setTimeout(look, left));
    reason = new DOMException(`${what} sent nothing for ${allowedMs / 1_000} s`, "TimeoutError");
    child.abort(reason);
  };
  let timer = setTimeout(look, ms);
  return {
    signal: child.signal,
    abort: child.abort,
    touch(next) {
      last = performance.now();
      paused = false;
      if (next === undefined || next === allowedMs) return;
      allowedMs = next;
      clearTimeout(timer);
      timer = setTimeout(look, next);
    },
    pause: () => void (paused = true),
    expired: () => reason,
    [Symbol.dispose]() {
      clearTimeout(timer);
      child[Symbol.dispose]();
    },
  };
}
