import { orAbort } from "../base/abort.ts";
import { messageOf } from "../base/error.ts";
import { ApiError } from "./api_error.ts";

/** When the API server was last heard, beside what the watches hear. */
export interface Pulse {
  /** `Date.now()` at its last answer to a question; 0 before the first. */
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
  readonly ask: () => Promise<unknown>;
  /** `Date.now()` at the last sign of life that others have seen. */
  readonly heardMs: () => number;
  /** Silence after which it asks (default 20 s). */
  readonly quietMs?: number;
}

/**
 * Asks the API server for a sign of life when nobody has had one for a while, one question at a time.
 * A connection whose other end has vanished says nothing, and a watch notices that only when its
 * bookmark, due each minute, does not come. The function waits for the answer as long as the signal
 * lets it, and throws nothing but the signal's reason; the question goes on without it.
 */
export function pulseTaker(
  { pulse, ask, heardMs, quietMs = 20_000 }: PulseOptions,
): (patience: AbortSignal) => Promise<void> {
  let asking: Promise<void> | undefined;
  const question = async () => {
    try {
      await ask().catch(passRefusal);
      pulse.lastHeardMs = Date.now();
      pulse.lastError = undefined;
    } catch (error) {
      pulse.lastError = messageOf(error);
    } finally {
      asking = undefined;
    }
  };
  return async (patience) => {
    const heardAgoMs = Date.now() - Math.max(pulse.lastHeardMs, heardMs());
    if (heardAgoMs < quietMs && pulse.lastError === undefined) return;
    asking ??= question();
    await orAbort(asking, patience);
  };
}

function passRefusal(error: unknown): void {
  const isRefusal = error instanceof ApiError && error.status >= 400 && error.status < 500;
  if (!isRefusal) throw error;
}
