import { orAbort } from "../base/abort.ts";
import { keyOf, type KubeObject, type ObjectKey } from "./object.ts";
import type { WatchChange } from "./watch.ts";

/** What its readers see: the objects as the watch last told. */
export interface StoreReader<T extends KubeObject> {
  /** The first list is complete; before that an object that is missing here may exist. */
  readonly synced: boolean;
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  /** Resolves when the store is synced. */
  whenSynced(signal: AbortSignal): Promise<void>;
}

export interface Store<T extends KubeObject> extends StoreReader<T> {
  /**
   * Takes a change in and answers the keys that changed by it. A reset answers what was added,
   * removed or has another resourceVersion, and replaces all at once: no reader sees a half list.
   */
  apply(change: WatchChange<T>): readonly ObjectKey[];
}

/** An empty store; it has one writer, the one that follows the watch. */
export function createStore<T extends KubeObject>(): Store<T> {
  let objects = new Map<ObjectKey, T>();
  let synced = false;
  const firstList = Promise.withResolvers<void>();
  const replaceAll = (listed: readonly T[]): ObjectKey[] => {
    const before = objects;
    objects = new Map(listed.map((object) => [keyOf(object), object]));
    synced = true;
    firstList.resolve();
    const changed = [...objects].filter(([key, object]) => !isSame(before.get(key), object));
    const removed = [...before.keys()].filter((key) => !objects.has(key));
    return [...changed.map(([key]) => key), ...removed];
  };
  return {
    get synced() {
      return synced;
    },
    get size() {
      return objects.size;
    },
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    whenSynced: (signal) => orAbort(firstList.promise, signal),
    apply(change) {
      switch (change.type) {
        case "reset":
          return replaceAll(change.objects);
        case "set": {
          const key = keyOf(change.object);
          if (isSame(objects.get(key), change.object)) return [];
          objects.set(key, change.object);
          return [key];
        }
        case "gone":
          return objects.delete(change.key) ? [change.key] : [];
        default:
          return change satisfies never;
      }
    },
  };
}

function isSame(before: KubeObject | undefined, after: KubeObject): boolean {
  if (before === undefined || before === after) return before === after;
  const { uid, resourceVersion } = before.metadata;
  return resourceVersion !== undefined && resourceVersion === after.metadata.resourceVersion &&
    uid === after.metadata.uid;
}
