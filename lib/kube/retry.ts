import { backoffMs } from "../base/backoff.ts";
import type { ApiError } from "./api_error.ts";

/**
 * Whether a call may be sent again when it may have been done already. "always": reads, deletes and
 * writes that name a resourceVersion (the worst is a conflict with oneself). "unsent": other writes,
 * which are repeated only when the server has surely not begun them.
 */
export type Repeatable = "always" | "unsent";

export interface Repetition {
  readonly repeatable: Repeatable;
  /** Tries that have failed before this one. */
  readonly attempt: number;
  readonly retries: number;
  /** The first delay; it doubles. */
  readonly firstMs: number;
}

const longestWishMs = 30_000;

/** How long to wait before the call is sent again; undefined when it must not be. */
export function repeatAfterMs(error: ApiError, repetition: Repetition): number | undefined {
  const { attempt, retries, firstMs } = repetition;
  if (attempt >= retries || !mayRepeat(error, repetition)) return undefined;
  const ownMs = backoffMs(attempt, { firstMs, maxMs: 8_000 });
  return Math.max(ownMs, Math.min(error.retryAfterMs ?? 0, longestWishMs));
}

function mayRepeat(error: ApiError, { repeatable, attempt }: Repetition): boolean {
  const harmless = repeatable === "always";
  switch (error.status) {
    case 0:
      if (error.reason === "Unreachable") return true;
      // A timeout has cost its 30 s already: once more, on a new connection.
      if (error.reason === "Timeout") return harmless && attempt === 0;
      return harmless && ["ConnectionLost", "InvalidAnswer"].includes(error.reason);
    case 429:
    case 503:
      // With Retry-After the server says that it has not begun the call.
      return harmless || error.retryAfterMs !== undefined;
    case 500:
    case 502:
    case 504:
      return harmless;
    default:
      return false;
  }
}
