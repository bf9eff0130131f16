import type { ObjectKey } from "../kube/object.ts";

/** Room for one movement. Disposing it twice frees it once. */
export type Slot = Disposable;

/** Where the objects of one kind ask for slots. */
export interface SlotLine {
  /**
   * A slot for the key, or undefined: then the key waits, and is woken when its turn has come. Served
   * in the order in which the objects were made (`arrivedMs`, whole seconds from the API server), then
   * in the order of asking, over all kinds: nobody overtakes those that wait longer.
   */
  take(key: ObjectKey, arrivedMs: number): Slot | undefined;
  /** The key does not want a slot any more. */
  forget(key: ObjectKey): void;
}

/** The slots of a node, which all kinds of movements share. */
export interface SlotPool {
  /** `wake` is called with a key of this line when its turn has come. */
  line(wake: (key: ObjectKey) => void): SlotLine;
  readonly used: number;
  /** How many keys wait. */
  readonly waiting: number;
  /** When the first in line asked first, in milliseconds of the clock; undefined when none waits. */
  readonly waitingSinceMs: number | undefined;
}

export interface SlotOptions {
  /** Movements at once, at least 1. */
  readonly limit: number;
  readonly nowMs?: () => number;
}

interface Waiter {
  readonly key: ObjectKey;
  readonly arrivedMs: number;
  readonly sinceMs: number;
  readonly wake: (key: ObjectKey) => void;
}

export function slotPool({ limit, nowMs = Date.now }: SlotOptions): SlotPool {
  const queue: Waiter[] = []; // in order of arrival
  let used = 0;

  const wakeFirst = () => {
    const first = queue[0];
    if (first !== undefined && used < limit) first.wake(first.key);
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
  const line = (wake: (key: ObjectKey) => void): SlotLine => {
    const waiting = new Map<ObjectKey, Waiter>();
    const join = (key: ObjectKey, arrivedMs: number) => {
      if (waiting.has(key)) return;
      const waiter = { key, arrivedMs, sinceMs: nowMs(), wake };
      waiting.set(key, waiter);
      const behind = queue.findLastIndex((other) => other.arrivedMs <= arrivedMs);
      queue.splice(behind + 1, 0, waiter);
    };
    const leave = (key: ObjectKey) => {
      const waiter = waiting.get(key);
      if (waiter === undefined) return;
      waiting.delete(key);
      queue.splice(queue.indexOf(waiter), 1);
    };
    const isFirst = (key: ObjectKey) => queue[0] !== undefined && queue[0] === waiting.get(key);
    return {
      take(key, arrivedMs) {
        join(key, arrivedMs);
        if (used >= limit || !isFirst(key)) return undefined;
        leave(key);
        const taken = slot();
        wakeFirst();
        return taken;
      },
      forget(key) {
        const wasFirst = isFirst(key);
        leave(key);
        if (wasFirst) wakeFirst();
      },
    };
  };
  return {
    line,
    get used() {
      return used;
    },
    get waiting() {
      return queue.length;
    },
    get waitingSinceMs() {
      return queue[0]?.sinceMs;
    },
  };
}
