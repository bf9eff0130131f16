import type { Movable } from "./kind.ts";

/** Without the fields that no step reads; the bookkeeping of field owners is most of an object. */
export function trimMovable<
  T extends Movable & { readonly status?: { readonly node?: string } },
>(object: T): T {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { deletionTimestamp, labels, annotations, finalizers, ownerReferences } = object.metadata;
  const kept = { name, namespace, uid, resourceVersion, creationTimestamp };
  const optional = { deletionTimestamp, labels, annotations, finalizers, ownerReferences };
  const { phase, node, startTimestamp } = object.status ?? {};
  const status = present({ phase, node, startTimestamp });
  return {
    metadata: present({ ...kept, ...optional }),
    spec: object.spec,
    ...(Object.keys(status).length > 0 && { status }),
  } as T; // of its kind's members only the status has lost some, and those are optional
}

/** The members that are not undefined. */
function present<T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
