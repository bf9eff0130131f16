import type { DataPath, MoveResult } from "../datapath/data_path.ts";
import type { KubeObject, Resource } from "../kube/object.ts";
import type { Phase } from "./lifecycle.ts";

/** What the four kinds have in common, as the API server gives it. */
export interface Movable extends KubeObject {
  readonly spec?: { readonly cancel?: boolean };
  readonly status?: { readonly phase?: Phase; readonly message?: string };
}

/** A movement made ready: the way is open, and the kind knows what its result will say. */
export interface Opened extends AsyncDisposable {
  readonly path: DataPath;
  /** Status fields beside phase, message, times and progress, for a completed movement. */
  result(moved: MoveResult): Readonly<Record<string, unknown>>;
  /** Annotations that a completed movement leaves on its object. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Takes back what was stored for an object that is gone. */
  discard(snapshotID: string, signal: AbortSignal): Promise<void>;
}

/** What is special to one kind; everything else is the same for all four. */
export interface MovementKind<T extends Movable> {
  readonly resource: Resource<T>;
  /** What agents of Velero 1.17 and later put on the kind; we only take it off. */
  readonly finalizer: string;
  /** True when a New object is for the agent of this node. */
  isMine(object: T, node: string): boolean;
  /** What the store keeps of an object: small, and enough for every other member. */
  trim(object: T): T;
  /** Throws `MovementError` when the movement cannot be done. */
  open(object: T, signal: AbortSignal): Promise<Opened>;
}
