export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Share of each delay that is drawn by chance, 0 to 1 (default 0.2). */
  readonly jitter?: number;
  /** For tests: a number from 0 up to 1. */
  readonly random?: () => number;
}

/** The delay before try `attempt` (0 is the first repetition): doubling, capped, with jitter. */
export function backoffMs(attempt: number, options: BackoffOptions): number {
  const { firstMs, maxMs, jitter = 0.2, random = Math.random } = options;
  const delay = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 30));
  return delay * (1 - jitter * random());
}
