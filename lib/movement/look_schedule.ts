import type { ObjectKey } from "../kube/object.ts";

/**
 * When to ask the API server for pods that the watch does not know. Most are on other nodes, whose
 * agents see to them: so not before some seconds, never more than about one a second, and less and
 * less often. With many nodes and many restores the calls stay few.
 */
export interface LookSchedule {
  /** Milliseconds until the key may be looked at; 0 now. The first call plans the first look. */
  untilDueMs(key: ObjectKey): number;
  /** Plans the next look, and answers the milliseconds until then. */
  postpone(key: ObjectKey): number;
  forget(key: ObjectKey): void;
}

export interface LookScheduleOptions {
  readonly nowMs?: () => number;
  /** A number from 0 up to 1. */
  readonly random?: () => number;
}

const firstMs = 5_000;
const apartMs = 1_000;
const longestMs = 300_000;

interface Plan {
  dueMs: number;
  delayMs: number;
}

export function lookSchedule(
  { nowMs = () => performance.now(), random = Math.random }: LookScheduleOptions = {},
): LookSchedule {
  const plans = new Map<ObjectKey, Plan>();
  let lastFirstMs = -Infinity;
  const planFirst = (key: ObjectKey): number => {
    const now = nowMs();
    const dueMs = Math.max(now + firstMs * (1 + random()), lastFirstMs + apartMs);
    lastFirstMs = dueMs;
    plans.set(key, { dueMs, delayMs: firstMs });
    return dueMs - now;
  };
  return {
    untilDueMs(key) {
      const known = plans.get(key);
      return known === undefined ? planFirst(key) : Math.max(0, known.dueMs - nowMs());
    },
    postpone(key) {
      const { delayMs: before = firstMs } = plans.get(key) ?? {};
      const delayMs = Math.min(before * 2, longestMs);
      const waitMs = delayMs * (0.5 + random() / 2);
      plans.set(key, { dueMs: nowMs() + waitMs, delayMs });
      return waitMs;
    },
    forget: (key) => void plans.delete(key),
  };
}
