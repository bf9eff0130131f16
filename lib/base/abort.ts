/** Waits `ms`, or throws the signal's reason as soon as it is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer[Symbol.dispose]();
      reject(signal.reason);
    };
    const timer = alarm(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** A signal of one's own that follows others. */
export interface Linked extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/**
 * A signal that is aborted with the first of its parents, or by its owner. `AbortSignal.any` is no
 * substitute: on Deno 2.7 a derived signal that nobody holds is collected together with its
 * listeners, and the abort is lost. Here the parents' listeners hold the child. Disposing it unhooks
 * it.
 */
export function linked(...parents: readonly AbortSignal[]): Linked {
  const child = new AbortController();
  const links = parents.map((parent) => ({ parent, follow: () => child.abort(parent.reason) }));
  for (const { parent, follow } of links) {
    if (parent.aborted) follow();
    else parent.addEventListener("abort", follow, { once: true });
  }
  return {
    signal: child.signal,
    abort: (reason) => child.abort(reason),
    [Symbol.dispose]() {
      for (const { parent, follow } of links) parent.removeEventListener("abort", follow);
    },
  };
}

/** `linked`, aborted with a TimeoutError "<what> took longer than <n> s" after `ms`. */
export function deadline(parent: AbortSignal, ms: number, what: string): Linked {
  const child = linked(parent);
  const timer = alarm(
    ms,
    () => child.abort(new DOMException(`${what} took longer than ${ms / 1000} s`, "TimeoutError")),
  );
  return {
    signal: child.signal,
    abort: child.abort,
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      child[Symbol.dispose]();
    },
  };
}

/**
 * The promise's outcome, or the signal's reason when it is aborted first. What the promise then does
 * is ignored: use it only for waits, never for work that holds something.
 */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

const longestTimerMs = 2 ** 31 - 1;

/** Calls `run` after `ms`; a timer of more than 24 days would ring at once, so a long time is cut up. */
function alarm(ms: number, run: () => void): Disposable {
  let timer: ReturnType<typeof setTimeout>;
  const arm = (leftMs: number) => {
    const partMs = Math.min(leftMs, longestTimerMs);
    timer = setTimeout(() => leftMs > partMs ? arm(leftMs - partMs) : run(), partMs);
  };
  arm(ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
