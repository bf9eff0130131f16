import { deadline, linked, orAbort, sleep } from "../base/abort.ts";
import type { Log } from "../base/log.ts";
import { ApiError, isNotFound, unanswered } from "./api_error.ts";
import type { Connection } from "./connection.ts";
import { type Identity, identitySource } from "./credentials.ts";
import { abortedBy, exchangeOver, type Request, type Timing } from "./exchange.ts";
import { clientClosed } from "./failure.ts";
import { repeatAfterMs } from "./retry.ts";
import { readText, TooLargeError } from "./stream.ts";
import { openWire } from "./wire.ts";
import { wirePool } from "./wire_pool.ts";

export interface TransportOptions {
  readonly userAgent: string;
  readonly log?: Log;
  /** For the head of the answer, and then between its pieces. */
  readonly requestDeadlineMs: number;
  readonly answerLimitBytes: number;
  readonly retries: number;
  readonly retryFirstMs: number;
}

export interface StreamOptions {
  /** Longest silence; then the stream throws a TimeoutError. */
  readonly readDeadlineMs: number;
}

export interface Transport extends AsyncDisposable {
  /** Sends, and sends again as `repeatAfterMs` allows. `parse` sees the whole text of a 2xx answer. */
  call<R>(request: Request, parse: (text: string) => R, signal: AbortSignal): Promise<R>;
  /** The bytes of a 2xx answer as they come, on the connection of the calls. Is never repeated. */
  read(request: Request, signal: AbortSignal): AsyncGenerator<Uint8Array>;
  /** The same on a connection of its own. */
  stream(request: Request, options: StreamOptions, signal: AbortSignal): AsyncGenerator<Uint8Array>;
}

/** The connections to one API server: who we are there, deadlines and repetitions. */
export function openTransport(connection: Connection, options: TransportOptions): Transport {
  const { requestDeadlineMs: deadlineMs } = options;
  const closing = new AbortController();
  const wires = wirePool((purpose, certificate) => openWire(connection, purpose, certificate));
  const send = authorized(connection, { ...options, wires, closing: closing.signal });
  const callTiming: Timing = { purpose: "call", headMs: deadlineMs, readMs: deadlineMs };
  const read = (request: Request, signal: AbortSignal) => send(request, callTiming, signal);
  return {
    read,
    call: repeated(read, { ...options, server: connection.server, closing: closing.signal }),
    stream(request, { readDeadlineMs }, signal) {
      const headMs = Math.min(deadlineMs, readDeadlineMs);
      return send(request, { purpose: "watch", headMs, readMs: readDeadlineMs }, signal);
    },
    [Symbol.asyncDispose]() {
      closing.abort(new Error("the client was closed"));
      wires.close();
      return Promise.resolve();
    },
  };
}

type Send = (request: Request, timing: Timing, signal: AbortSignal) => AsyncGenerator<Uint8Array>;
type SendParts = Pick<Parameters<typeof exchangeOver>[0], "wires" | "closing" | "userAgent"> & {
  readonly log?: Log;
  readonly requestDeadlineMs: number;
};

/** A 401 asks once for another identity: a token may have been replaced a moment ago. */
function authorized(connection: Connection, parts: SendParts): Send {
  const identities = identitySource(connection);
  const exchange = exchangeOver({ ...parts, connection, log: parts.log });

  return async function* (request, timing, signal) {
    const identity = await identify(request, identities.current, signal) ?? {};
    try {
      return yield* exchange(request, { identity, timing }, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const renewed = await identify(request, () => identities.renewed(identity), signal);
      if (renewed === undefined) throw error;
      yield* exchange(request, { identity: renewed, timing }, signal);
    }
  };

  async function identify(
    request: Request,
    ask: () => Promise<Identity | undefined>,
    signal: AbortSignal,
  ): Promise<Identity | undefined> {
    signal.throwIfAborted();
    // Longer than for a server: a plugin may ask a person.
    using limit = deadline(signal, 4 * parts.requestDeadlineMs, "Getting them");
    using _stop = abortedBy(parts.closing, limit);
    try {
      return await orAbort(ask(), limit.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (parts.closing.aborted) throw clientClosed(request);
      const detail = `there are no credentials for ${connection.server}`;
      throw unanswered(request, "CredentialsUnavailable", { detail, cause });
    }
  }
}

type Read = (request: Request, signal: AbortSignal) => AsyncGenerator<Uint8Array>;
type RepeatParts = Omit<TransportOptions, "userAgent" | "requestDeadlineMs"> & {
  readonly server: string;
  readonly closing: AbortSignal;
};

/** Whole answers, asked for again where `repeatAfterMs` allows it. */
function repeated(read: Read, parts: RepeatParts): Transport["call"] {
  const { retries, retryFirstMs: firstMs, log, closing } = parts;
  return async function (request, parse, signal) {
    for (let attempt = 0;; attempt++) {
      try {
        return await callOnce(request, parse, signal);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // The first try may have deleted it and lost its answer.
        if (attempt > 0 && request.method === "DELETE" && isNotFound(error)) return parse("");
        const { repeatable } = request;
        const waitMs = repeatAfterMs(error, { repeatable, attempt, retries, firstMs });
        if (waitMs === undefined) throw error;
        log?.debug("A call to the API server is repeated", { error, waitMs, attempt: attempt + 1 });
        await pause(waitMs, signal);
      }
    }
  };

  async function callOnce<R>(
    request: Request,
    parse: (text: string) => R,
    signal: AbortSignal,
  ): Promise<R> {
    let text: string;
    try {
      text = await readText(read(request, signal), parts.answerLimitBytes);
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      const detail = `the answer has ${error.message}, which is not read`;
      throw unanswered(request, "AnswerTooLarge", { detail });
    }
    try {
      return parse(text);
    } catch {
      const detail = `${parts.server} sent an answer that is no JSON or not whole`;
      throw unanswered(request, "InvalidAnswer", { detail });
    }
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    using wait = linked(signal, closing);
    try {
      await sleep(ms, wait.signal);
    } catch {
      signal.throwIfAborted(); // else the client was closed: the next try says so
    }
  }
}
