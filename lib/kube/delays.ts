const longestTimerMs = 2 ** 31 - 1;

interface Delay<K> {
  readonly key: K;
  readonly at: number;
}

export interface DelayedKeys<K> {
  readonly length: number;
  /** Makes the key due after `ms`, unless it is due earlier already. */
  set(key: K, ms: number): void;
  clear(): void;
}

/**
 * Calls `due` with each key when its time has come: one timer for all, none when no key waits.
 * The times lie in a heap; an entry whose time is no longer the key's is stale.
 */
export function delayedKeys<K>(now: () => number, due: (key: K) => void): DelayedKeys<K> {
  const times = new Map<K, number>();
  let heap: Delay<K>[] = [];
  const isStale = ({ key, at }: Delay<K>) => times.get(key) !== at;
  const ring = () => {
    const time = now();
    for (let first = heap[0]; first !== undefined && first.at <= time; first = heap[0]) {
      pop(heap);
      if (isStale(first)) continue;
      times.delete(first.key);
      due(first.key);
    }
    arm();
  };
  const clock = alarm(now, ring);
  const arm = () => {
    for (let first = heap[0]; first !== undefined && isStale(first); first = heap[0]) pop(heap);
    clock.set(heap[0]?.at);
  };
  return {
    get length() {
      return times.size;
    },
    set(key, ms) {
      const at = now() + ms;
      const before = times.get(key);
      if (before !== undefined && before <= at) return;
      times.set(key, at);
      push(heap, { key, at });
      if (heap.length > 2 * times.size + 64) {
        // An ascending array is a heap.
        heap = heap.filter((delay) => !isStale(delay)).sort((a, b) => a.at - b.at);
      }
      arm();
    },
    clear() {
      times.clear();
      heap = [];
      arm();
    },
  };
}

/** One timer; it may ring too early, never too late, and is off after it. */
function alarm(now: () => number, ring: () => void) {
  let armed: { readonly id: ReturnType<typeof setTimeout>; readonly at: number } | undefined;
  return {
    set(at: number | undefined) {
      if (at === armed?.at) return;
      clearTimeout(armed?.id);
      armed = undefined;
      if (at === undefined) return;
      const ms = Math.min(longestTimerMs, Math.max(1, Math.ceil(at - now())));
      const id = setTimeout(() => {
        armed = undefined;
        ring();
      }, ms);
      armed = { id, at };
    },
  };
}

function push<K>(heap: Delay<K>[], delay: Delay<K>): void {
  let child = heap.length;
  heap.push(delay);
  while (child > 0) {
    const parent = (child - 1) >> 1;
    const above = heap[parent] as Delay<K>;
    if (above.at <= delay.at) break;
    heap[child] = above;
    child = parent;
  }
  heap[child] = delay;
}

function pop<K>(heap: Delay<K>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let parent = 0;
  while (true) {
    let child = 2 * parent + 1;
    if (child >= heap.length) break;
    const right = heap[child + 1];
    if (right !== undefined && right.at < (heap[child] as Delay<K>).at) child++;
    const below = heap[child] as Delay<K>;
    if (last.at <= below.at) break;
    heap[parent] = below;
    parent = child;
  }
  heap[parent] = last;
}
