import { messageOf, MovementError } from "../base/error.ts";
import type { Reason } from "../base/reason.ts";

export interface MoveResult {
  /** kopia's manifest id, 32 hex digits. */
  readonly snapshotID: string;
  /** The size of the snapshot's files. */
  readonly sizeBytes: number;
}

/** A stream ends with exactly one of completed, canceled or failed. */
export type DataPathEvent =
  | { readonly type: "progress"; readonly bytesDone: number; readonly totalBytes: number }
  | { readonly type: "completed"; readonly result: MoveResult }
  | { readonly type: "canceled" }
  | {
    readonly type: "failed";
    readonly reason: Reason;
    readonly message: string;
    /** A snapshot that was saved all the same. */
    readonly snapshotID?: string;
  };

/** Moving bytes: a resource and a stream. Disposing it ends the child process and its files. */
export interface DataPath extends AsyncDisposable {
  /** Starts the movement. May be called once. Aborting the signal ends it like `cancel`. */
  events(signal: AbortSignal): AsyncIterable<DataPathEvent>;
  /** Asks for an early end; the stream then ends with `canceled`. */
  cancel(): void;
}

/** What was thrown, as the end of the stream. */
export function failedBy(error: unknown): Extract<DataPathEvent, { readonly type: "failed" }> {
  const reason = error instanceof MovementError ? error.reason : "InternalError";
  return { type: "failed", reason, message: messageOf(error) };
}
