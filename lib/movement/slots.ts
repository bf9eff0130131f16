import type { ObjectKey } from "../kube/object.ts";

/** Room for one movement. Disposing it twice frees it once. */
export type Slot = Disposable;

export interface SlotPool {
  /**
   * A slot for the key, or undefined: then the key waits, and `wake` is called with it when its turn
   * has come. Served in the order in which the objects were made (`arrivedMs`, whole seconds from the
   * API server), then in the order of asking: nobody overtakes those that wait longer.
   */
  take(key: ObjectKey, arrivedMs: number): Slot | undefined;
  /** The key does not want a slot any more. */
  forget(key: ObjectKey): void;
  readonly used: number;
  /** How many keys wait. */
  readonly waiting: number;
  /** When the first in line asked first, in milliseconds of the clock; undefined when none waits. */
  readonly waitingSinceMs: number | undefined;
}

export interface SlotOptions {
  /** Movements at once, at least 1. */
  readonly limit: number;
  readonly wake: (key: ObjectKey) => void;
  readonly nowMs?: () => number;
}

interface Waiter {
  readonly key: ObjectKey;
  readonly arrivedMs: number;
  readonly sinceMs: number;
}

export function slotPool({ limit, wake, nowMs = Date.now }: SlotOptions): SlotPool {
  const line: Waiter[] = []; // in order of arrival
  const waiting = new Set<ObjectKey>();
  let used = 0;

  const wakeFirst = () => {
    const first = line[0];
    if (first !== undefined && used < limit) wake(first.key);
  };
  const leave = (key: ObjectKey) => {
    if (waiting.delete(key)) line.splice(line.findIndex((waiter) => waiter.key === key), 1);
  };
  const join = (key: ObjectKey, arrivedMs: number) => {
    if (waiting.has(key)) return;
    waiting.add(key);
    const behind = line.findLastIndex((waiter) => waiter.arrivedMs <= arrivedMs);
    line.splice(behind + 1, 0, { key, arrivedMs, sinceMs: nowMs() });
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
    take(key, arrivedMs) {
      join(key, arrivedMs);
      if (used >= limit || line[0]?.key !== key) return undefined;
      leave(key);
      const taken = slot();
      wakeFirst();
      return taken;
    },
    forget(key) {
      const wasFirst = line[0]?.key === key;
      leave(key);
      if (wasFirst) wakeFirst();
    },
    get used() {
      return used;
    },
    get waiting() {
      return line.length;
    },
    get waitingSinceMs() {
      return line[0]?.sinceMs;
    },
  };
}
