declare const brand: unique symbol;

/** "namespace/name", or "name" for a cluster-scoped object. */
export type ObjectKey = string & { readonly [brand]: "ObjectKey" };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The metadata we read. Times are RFC 3339 texts. */
export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** One kind of object as the API server addresses it. `T` is only for the compiler. */
export interface Resource<T extends KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly type?: T;
}

/** Which object: without a namespace a cluster-scoped one. */
export interface ObjectName {
  readonly namespace?: string;
  readonly name: string;
}

export function keyOf(object: KubeObject): ObjectKey {
  return formatKey(object.metadata);
}

export function formatKey({ namespace, name }: ObjectName): ObjectKey {
  return (namespace === undefined ? name : `${namespace}/${name}`) as ObjectKey;
}

export function parseKey(key: ObjectKey): ObjectName {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
