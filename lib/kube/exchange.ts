import type { Log } from "../base/log.ts";
import { ApiError, type Attempt, describe, refused } from "./api_error.ts";
import type { Connection } from "./connection.ts";
import type { Identity } from "./credentials.ts";
import { failureOf } from "./failure.ts";
import type { Repeatable } from "./retry.ts";
import { chunks, readText, TooLargeError, type Watchdog, watchdog } from "./stream.ts";
import type { Purpose, WireAnswer } from "./wire.ts";
import type { Lease, WirePool } from "./wire_pool.ts";

export interface Request extends Attempt {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, after the server's address. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly repeatable: Repeatable;
}

/** How long one try may be silent, and what it is for. */
export interface Timing {
  readonly purpose: Purpose;
  /** Until the head of the answer. */
  readonly headMs: number;
  /** Between its pieces. */
  readonly readMs: number;
}

export interface ExchangeParts {
  readonly connection: Connection;
  readonly wires: WirePool;
  readonly userAgent: string;
  readonly closing: AbortSignal;
  readonly log: Log | undefined;
}

export interface Try {
  readonly identity: Identity;
  readonly timing: Timing;
}

/**
 * Sends once and gives the bytes of a 2xx answer as they come; all else is thrown. The first piece
 * is empty: it says that the answer has begun, which in a quiet watch is long before its first byte.
 */
export type Exchange = (
  request: Request,
  how: Try,
  signal: AbortSignal,
) => AsyncGenerator<Uint8Array>;

/** Each try has a watchdog: silence ends it, and a connection that was silent is given up. */
export function exchangeOver(parts: ExchangeParts): Exchange {
  const { connection, wires, closing, log } = parts;
  return async function* (request, { identity, timing }, signal) {
    const what = `${connection.server}, asked to ${describe(request)},`;
    using dog = watchdog(signal, timing.headMs, what);
    using _stop = abortedBy(closing, dog);
    let lease: Lease | undefined;
    let ended = false;
    try {
      dog.signal.throwIfAborted();
      lease = await wires.take(timing.purpose, identity.certificate);
      dog.signal.throwIfAborted();
      const answer = await lease.wire.send(`${connection.server}${request.path}`, {
        method: request.method,
        headers: headersOf(request, identity, parts),
        signal: dog.signal,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      dog.touch(timing.readMs);
      yield* bytesOf(answer, request, dog);
      ended = true;
    } catch (error) {
      ended = error instanceof ApiError;
      const expired = dog.expired();
      const closed = closing.aborted;
      const facts = { request, connection, signal, timing, expired, closed };
      const { thrown, connectionIsDead } = failureOf(error, facts);
      if (connectionIsDead && lease !== undefined) {
        lease.retire();
        log?.debug("The connection to the API server is replaced", { error: thrown });
      }
      throw thrown;
    } finally {
      dog.abort(endOfRequest);
      if (!ended && lease?.wire.keepsAborted) lease.retire();
      lease?.[Symbol.dispose]();
    }
  };
}

/** An abort after the end changes nothing of what was read; it frees what the wire holds. */
const endOfRequest = new Error("the request has ended");

/** Hands the abort of `closing` on, until disposed. */
export function abortedBy(
  closing: AbortSignal,
  target: { abort(reason: unknown): void },
): Disposable {
  const stop = () => target.abort(closing.reason);
  if (closing.aborted) stop();
  else closing.addEventListener("abort", stop, { once: true });
  return { [Symbol.dispose]: () => closing.removeEventListener("abort", stop) };
}

function headersOf(
  request: Request,
  { authorization }: Identity,
  { connection, userAgent }: ExchangeParts,
): Record<string, string> {
  return {
    ...connection.headers,
    "user-agent": userAgent,
    accept: request.accept ?? "application/json",
    ...(authorization === undefined ? {} : { authorization }),
    ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
  };
}

async function* bytesOf(answer: WireAnswer, request: Request, dog: Watchdog) {
  if (answer.status < 200 || answer.status > 299) throw await refusal(answer, request, dog.signal);
  yield beginning;
  if (answer.body === null) return;
  for await (const chunk of chunks(answer.body, dog.signal)) {
    dog.pause();
    yield chunk;
    dog.touch();
  }
}

const beginning = new Uint8Array();

const refusalLimitBytes = 1 << 20;

async function refusal(
  answer: WireAnswer,
  request: Request,
  signal: AbortSignal,
): Promise<ApiError> {
  const { status, statusText, headers } = answer;
  let body = "";
  try {
    if (answer.body !== null) body = await readText(chunks(answer.body, signal), refusalLimitBytes);
  } catch (error) {
    // The code alone says enough; but an abort or a timeout stays one.
    signal.throwIfAborted();
    body = error instanceof TooLargeError ? "(a long text)" : "(the text was cut off)";
  }
  return refused(request, { status, statusText, body, retryAfter: headers.get("retry-after") });
}
