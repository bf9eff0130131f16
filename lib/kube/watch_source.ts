import type { PartsOptions } from "./client.ts";
import type { ListPart } from "./list_items.ts";
import type { ObjectKey } from "./object.ts";

/** An event with the resourceVersion a watch can go on from after it. */
export type SourceEvent<T> =
  & { readonly resourceVersion: string }
  & (
    | { readonly type: "set"; readonly object: T }
    | { readonly type: "gone"; readonly key: ObjectKey }
    | { readonly type: "bookmark" }
    /** The server has begun to answer; the version is the one that was asked for. */
    | { readonly type: "opened" }
  );

export type SourceList = Pick<PartsOptions, "resourceVersion">;

export interface SourceWatch {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly readDeadlineMs: number;
}

/** Where objects come from; see `kubeSource`. Both streams may fail at any point. */
export interface WatchSource<T> {
  /** For log lines: `pods in namespace "velero"`. */
  readonly name: string;
  list(options: SourceList, signal: AbortSignal): AsyncIterable<ListPart<T>>;
  watch(options: SourceWatch, signal: AbortSignal): AsyncIterable<SourceEvent<T>>;
}
