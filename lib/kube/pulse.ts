import { sleep } from "../base/abort.ts";
import { messageOf } from "../base/error.ts";
import { ApiError } from "./api_error.ts";

/** When the API server was last heard: kept up to date by `keepPulse`. */
export interface Pulse {
  /** `Date.now()` at its last answer to the pulse; 0 before the first. */
  lastHeardMs: number;
  /** Why the last question had no answer, in words; undefined: it had one. */
  lastError: string | undefined;
}

export function newPulse(): Pulse {
  return { lastHeardMs: 0, lastError: undefined };
}

export interface PulseOptions {
  /** Is written to; make it by `newPulse`. */
  readonly pulse: Pulse;
  /** A small request with a deadline of its own; a refusal is an answer too. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  /** `Date.now()` at the last sign of life that others have seen. */
  readonly heardMs: () => number;
  /** Silence after which it asks (default 20 s). */
  readonly quietMs?: number;
  /** Between two tries while there is no answer (default 5 s). */
  readonly retryMs?: number;
}

/**
 * Asks the API server for a sign of life when nobody has had one for a while, until the signal, whose
 * reason it throws. A connection whose other end has vanished says nothing, and a watch notices that
 * only when its bookmark, due each minute, does not come.
 */
export async function keepPulse(options: PulseOptions, signal: AbortSignal): Promise<never> {
  const { pulse, ask, heardMs, quietMs = 20_000, retryMs = 5_000 } = options;
  while (true) {
    const heardAgoMs = Date.now() - Math.max(pulse.lastHeardMs, heardMs());
    if (heardAgoMs < quietMs && pulse.lastError === undefined) {
      await sleep(quietMs - heardAgoMs, signal);
      continue;
    }
    try {
      await ask(signal).catch(passRefusal);
      pulse.lastHeardMs = Date.now();
      pulse.lastError = undefined;
    } catch (error) {
      signal.throwIfAborted();
      pulse.lastError = messageOf(error);
      await sleep(retryMs, signal);
    }
  }
}

function passRefusal(error: unknown): void {
  const isRefusal = error instanceof ApiError && error.status >= 400 && error.status < 500;
  if (!isRefusal) throw error;
}
