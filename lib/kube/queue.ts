import { backoffMs, type BackoffOptions } from "../base/backoff.ts";
import { delayedKeys } from "./delays.ts";

export interface QueueOptions {
  /** Delays of `retry`; by default 5 ms, doubling up to one minute. */
  readonly retry?: BackoffOptions;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** A key that is being worked on. Disposing it says that the pass has ended. */
export interface Work<K> extends Disposable {
  readonly key: K;
}

export interface WorkQueue<K> {
  /** Keys that wait for a worker now; delayed ones do not count. */
  readonly length: number;
  /** Keys whose time has not come. */
  readonly delayedLength: number;
  add(key: K): void;
  /** Adds the key after `ms`; of several times for one key the earliest wins. */
  addAfter(key: K, ms: number): void;
  /** Adds the key after its back-off and answers how often it has failed in a row. */
  retry(key: K): number;
  /** The key succeeded: its back-off starts anew. */
  forget(key: K): void;
  /** The key that waits longest, or undefined once the queue is closed. Waits until there is one. */
  next(signal: AbortSignal): Promise<Work<K> | undefined>;
  /** Ends all waits and drops what waits; later adds are ignored. */
  close(): void;
}

/**
 * Keys in the order they came. A key is never worked on twice at once: added in the meantime it runs
 * once more afterwards. Delays share one timer, and an idle queue has none.
 */
export function workQueue<K>(options: QueueOptions = {}): WorkQueue<K> {
  const { retry = { firstMs: 5, maxMs: 60_000 }, now = () => performance.now() } = options;
  const line = handOut<K>();
  const delays = delayedKeys<K>(now, line.add);
  const failures = new Map<K, number>();
  let closed = false;
  const addAfter = (key: K, ms: number) => {
    if (closed) return;
    if (ms > 0) delays.set(key, ms);
    else line.add(key);
  };
  return {
    get length() {
      return line.length;
    },
    get delayedLength() {
      return delays.length;
    },
    add: (key) => addAfter(key, 0),
    addAfter,
    retry: (key) => {
      const failed = failures.get(key) ?? 0;
      failures.set(key, failed + 1);
      addAfter(key, backoffMs(failed, retry));
      return failed + 1;
    },
    forget: (key) => void failures.delete(key),
    next: (signal) => closed ? Promise.resolve(undefined) : line.next(signal),
    close: () => {
      closed = true;
      delays.clear();
      line.close();
    },
  };
}

/** The keys that wait for a worker, those in work, and the workers that wait for a key. */
function handOut<K>() {
  const ready = fifo<K>();
  const waiting = new Set<K>();
  const active = new Set<K>();
  const again = new Set<K>();
  const workers = waitingWorkers<Work<K> | undefined>();

  const add = (key: K) => {
    if (active.has(key)) {
      again.add(key);
    } else if (!waiting.has(key)) {
      waiting.add(key);
      ready.push(key);
      if (workers.length > 0) workers.give(take());
    }
  };
  const take = (): Work<K> => {
    const key = ready.shift() as K;
    waiting.delete(key);
    active.add(key);
    return { key, [Symbol.dispose]: () => end(key) };
  };
  const end = (key: K) => {
    if (active.delete(key) && again.delete(key)) add(key);
  };
  return {
    get length() {
      return ready.length;
    },
    add,
    next(signal: AbortSignal): Promise<Work<K> | undefined> {
      if (signal.aborted) return Promise.reject(signal.reason);
      return ready.length > 0 ? Promise.resolve(take()) : workers.wait(signal);
    },
    close() {
      ready.clear();
      waiting.clear();
      again.clear();
      while (workers.length > 0) workers.give(undefined);
    },
  };
}

/** Those who wait for a value, served in the order they came. */
function waitingWorkers<T>() {
  const line = new Set<(value: T) => void>();
  return {
    get length() {
      return line.size;
    },
    give(value: T) {
      for (const receive of line) {
        line.delete(receive);
        return receive(value);
      }
    },
    wait: (signal: AbortSignal): Promise<T> =>
      new Promise((resolve, reject) => {
        const receive = (value: T) => {
          signal.removeEventListener("abort", onAbort);
          resolve(value);
        };
        const onAbort = () => {
          line.delete(receive);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        line.add(receive);
      }),
  };
}

/** A first-in first-out list; a Set's first element is not found in constant time after removals. */
function fifo<K>() {
  let items: K[] = [];
  let head = 0;
  return {
    get length() {
      return items.length - head;
    },
    push: (key: K) => void items.push(key),
    shift(): K | undefined {
      const key = items[head++];
      if (head > 1_024 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return key;
    },
    clear() {
      items = [];
      head = 0;
    },
  };
}
