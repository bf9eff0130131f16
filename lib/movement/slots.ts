import type { ObjectKey } from "../kube/object.ts";

/** Room for one movement. Disposing it twice frees it once. */
export type Slot = Disposable;

export interface SlotPool {
  /**
   * A slot for the key, or undefined: then the key waits, and `wake` is called with it when its turn
   * has come. First come, first served: a newcomer does not overtake those that wait.
   */
  take(key: ObjectKey): Slot | undefined;
  /** The key does not want a slot any more. */
  forget(key: ObjectKey): void;
  readonly used: number;
  /** How many keys wait. */
  readonly waiting: number;
  /** When the key that waits longest began to, in milliseconds of the clock; undefined when none does. */
  readonly waitingSinceMs: number | undefined;
}

export interface SlotOptions {
  /** Movements at once, at least 1. */
  readonly limit: number;
  readonly wake: (key: ObjectKey) => void;
  readonly nowMs?: () => number;
}

export function slotPool({ limit, wake, nowMs = Date.now }: SlotOptions): SlotPool {
  const waiters = new Map<ObjectKey, number>(); // in order of arrival, with the time of it
  let used = 0;

  const first = () => waiters.keys().next().value;
  const wakeFirst = () => {
    const key = first();
    if (key !== undefined && used < limit) wake(key);
  };
  const slot = (): Slot => {
    let held = true;
    used++;
    return {
      [Symbol.dispose]() {
        if (!held) return;
        held = false;
        used--;
        wakeFirst();
      },
    };
  };
  return {
    take(key) {
      const head = first();
      if (used < limit && (head === undefined || head === key)) {
        waiters.delete(key);
        const taken = slot();
        wakeFirst();
        return taken;
      }
      if (!waiters.has(key)) waiters.set(key, nowMs());
      return undefined;
    },
    forget(key) {
      const wasFirst = first() === key;
      if (waiters.delete(key) && wasFirst) wakeFirst();
    },
    get used() {
      return used;
    },
    get waiting() {
      return waiters.size;
    },
    get waitingSinceMs() {
      return waiters.values().next().value;
    },
  };
}
