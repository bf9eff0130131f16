import type { DataPath, MoveResult } from "../datapath/data_path.ts";
import type { KubeObject, ObjectKey, Resource } from "../kube/object.ts";
import type { Phase, Standing } from "./lifecycle.ts";

/** What the four kinds have in common, as the API server gives it. */
export interface Movable extends KubeObject {
  readonly spec?: { readonly cancel?: boolean };
  readonly status?: {
    readonly phase?: Phase;
    readonly message?: string;
    /** When it was taken. */
    readonly startTimestamp?: string | null;
  };
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

/** Asks for another look at the object with this key. */
export type Wake = (key: ObjectKey) => void;

/** How far an object is: nobody has begun it, somebody has it or had it in hand, or it has ended. */
export type Stage = "new" | "begun" | "ended";

/** Where objects stand that wait for something else of the cluster, such as their pod. */
export interface Standings<T extends Movable> {
  /** May ask the API server, and throws what that throws. */
  of(object: T, stage: Stage, signal: AbortSignal): Promise<Standing>;
  /** The object is no more, or has ended. */
  forget(key: ObjectKey): void;
  /** Keeps up with what the objects wait for, and wakes those whose standing may have changed. */
  follow(wake: Wake, signal: AbortSignal): Promise<void>;
}

/** What is special to one kind; everything else is the same for all four. */
export interface MovementKind<T extends Movable> {
  readonly resource: Resource<T>;
  /** What to do after a failure, as it ends a sentence: `back up again`. */
  readonly again: string;
  /** What agents of Velero 1.17 and later put on the kind; we only take it off. */
  readonly finalizer: string;
  /** The field with the name of the node, where the kind has one in its spec. */
  readonly nodeField?: ".spec.node";
  /** False when the object itself says that it is for another node: then it is not kept. */
  isMine(object: T, node: string): boolean;
  /** Absent: what is ours may begin at once. */
  readonly standings?: Standings<T>;
  /** What the store keeps of an object: small, and enough for every other member. */
  trim(object: T): T;
  /** Throws `MovementError` when the movement cannot be done. */
  open(object: T, signal: AbortSignal): Promise<Opened>;
}
