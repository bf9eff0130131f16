import {
  formatKey,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type ObjectName,
} from "../kube/object.ts";

/** What is remembered of an object that has not ended. */
export interface Tracked {
  readonly uid: string;
  readonly podKey: ObjectKey;
  /** Its pod was seen on this node. */
  wasHere: boolean;
  /** Its pod is on another node, and a pod never moves. */
  isForeign: boolean;
  /** An oddity of its pod was told. */
  isTold: boolean;
}

/** Objects by key, and by the pod they name. */
export interface TrackedObjects {
  of(object: KubeObject, pod: ObjectName): Tracked;
  ofPod(podKey: ObjectKey): readonly ObjectKey[];
  forget(key: ObjectKey): void;
}

export function trackObjects(): TrackedObjects {
  const objects = new Map<ObjectKey, Tracked>();
  const byPod = new Map<ObjectKey, Set<ObjectKey>>();
  const forget = (key: ObjectKey) => {
    const known = objects.get(key);
    if (known === undefined) return;
    objects.delete(key);
    const keys = byPod.get(known.podKey);
    keys?.delete(key);
    if (keys?.size === 0) byPod.delete(known.podKey);
  };
  return {
    of(object, pod) {
      const key = keyOf(object);
      const { uid = "" } = object.metadata;
      const known = objects.get(key);
      if (known?.uid === uid) return known;
      forget(key); // made anew under its name
      const podKey = formatKey(pod);
      const tracked = { uid, podKey, wasHere: false, isForeign: false, isTold: false };
      objects.set(key, tracked);
      byPod.set(podKey, (byPod.get(podKey) ?? new Set()).add(key));
      return tracked;
    },
    ofPod: (podKey) => [...byPod.get(podKey) ?? []],
    forget,
  };
}
