import { messageOf } from "../base/error.ts";
import { linked } from "../base/abort.ts";
import type { Log } from "../base/log.ts";

export interface Progress {
  readonly bytesDone: number;
  readonly totalBytes: number;
}

/** Reports progress beside the movement, which never waits for the API server. */
export interface ProgressReporter extends AsyncDisposable {
  /** Sends it, unless the last write is too recent or one is under way. */
  offer(progress: Progress): void;
}

export interface ProgressOptions {
  readonly send: (progress: Progress, signal: AbortSignal) => Promise<void>;
  /** The shortest time between two writes; the claim counts as the first. */
  readonly intervalMs: number;
  readonly signal: AbortSignal;
  readonly nowMs?: () => number;
  readonly log: Log;
}

/** Disposing it ends the write under way, so that no report follows the result. */
export function progressReporter(options: ProgressOptions): ProgressReporter {
  const { send, intervalMs, signal, nowMs = () => performance.now(), log } = options;
  const own = linked(signal);
  let writing: Promise<void> | undefined;
  let lastMs = nowMs();
  return {
    offer(progress) {
      if (writing !== undefined || nowMs() - lastMs < intervalMs) return;
      lastMs = nowMs();
      writing = send(progress, own.signal)
        .catch((error: unknown) =>
          log.debug("Progress is not reported", { error: messageOf(error) })
        )
        .finally(() => writing = undefined);
    },
    async [Symbol.asyncDispose]() {
      own.abort(new DOMException("the movement has ended", "AbortError"));
      await writing;
      own[Symbol.dispose]();
    },
  };
}
