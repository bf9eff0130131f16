/** What CNS keeps about a volume, and how it stands in XML: the order of elements is the schema's. */
import { childOf, childrenOf, textAt, type XmlNode } from "./xml.ts";
import { element, optional, typed, type XmlElement } from "./xml_writer.ts";

/** A Kubernetes object that another one refers to. Empty texts are left out. */
export interface CnsReference {
  readonly entityType: string;
  readonly entityName: string;
  readonly namespace: string;
  readonly clusterId: string;
}

/** One Kubernetes object of a volume. */
export interface CnsEntity extends CnsReference {
  readonly labels: Readonly<Record<string, string>>;
  readonly references: readonly CnsReference[];
}

/** A Kubernetes cluster that a volume belongs to. */
export interface CnsCluster {
  readonly clusterId: string;
  readonly user: string;
  readonly flavor: string;
  readonly distribution: string;
}

/** `remove` takes away what it is on: an entity or the cluster's association. */
export type Removable<T> = T & { readonly remove?: true };

/** What is to be set for one volume; entities and clusters that are not named stay. */
export interface CnsUpdate {
  readonly volumeId: string;
  /** Of a BLOCK volume at most one entity of each type for each cluster. */
  readonly entities: readonly Removable<CnsEntity>[];
  readonly cluster: Removable<CnsCluster>;
}

export interface CnsVolume {
  readonly volumeId: string;
  readonly name: string;
  /** `BLOCK` or `FILE`. */
  readonly type: string;
  readonly datastoreUrl: string;
  readonly healthStatus: string;
  readonly clusters: readonly CnsCluster[];
  readonly entities: readonly CnsEntity[];
}

/** All that are given must hold; of each list one. */
export interface CnsFilter {
  readonly volumeIds?: readonly string[];
  readonly names?: readonly string[];
  readonly containerClusterIds?: readonly string[];
}

/** One volume's part of an update, without the elements that this vCenter does not know. */
export function updateElement(
  { volumeId, entities, cluster }: CnsUpdate,
  unknownElements: ReadonlySet<string>,
): XmlElement {
  return element(
    "updateSpecs",
    element("volumeId", element("id", volumeId)),
    element(
      "metadata",
      clusterElement("containerCluster", cluster, unknownElements),
      entities.map((entity) => entityElement(entity, unknownElements)),
      unknownElements.has("containerClusterArray")
        ? undefined
        : clusterElement("containerClusterArray", cluster, unknownElements),
    ),
  );
}

/** With the place of a page in the answer. */
export function filterElement(
  { volumeIds = [], names = [], containerClusterIds = [] }: CnsFilter,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): XmlElement {
  return typed(
    "filter",
    "CnsQueryFilter",
    volumeIds.map((id) => element("volumeIds", element("id", id))),
    names.map((name) => element("names", name)),
    containerClusterIds.map((id) => element("containerClusterIds", id)),
    element("cursor", element("offset", `${offset}`), element("limit", `${limit}`)),
  );
}

/** A volume as CNS tells it; entities of other kinds than Kubernetes' have empty texts. */
export function volumeOf(node: XmlNode): CnsVolume {
  const metadata = childOf(node, "metadata");
  const clusters = childrenOf(metadata, "containerClusterArray");
  const single = childrenOf(metadata, "containerCluster");
  return {
    volumeId: textAt(node, "volumeId", "id"),
    name: textAt(node, "name"),
    type: textAt(node, "volumeType"),
    datastoreUrl: textAt(node, "datastoreUrl"),
    healthStatus: textAt(node, "healthStatus"),
    // Old versions have no array.
    clusters: (clusters.length > 0 ? clusters : single).map(clusterOf),
    entities: childrenOf(metadata, "entityMetadata").map(entityOf),
  };
}

function clusterElement(
  name: string,
  { clusterId, user, flavor, distribution, remove }: Removable<CnsCluster>,
  unknown: ReadonlySet<string>,
): XmlElement {
  const known = (of: string, text: string) => unknown.has(of) ? undefined : optional(of, text);
  return element(
    name,
    element("clusterType", "KUBERNETES"),
    element("clusterId", clusterId),
    element("vSphereUser", user),
    known("clusterFlavor", flavor),
    known("clusterDistribution", distribution),
    remove ? element("delete", "true") : undefined,
  );
}

function entityElement(
  { remove, labels, references, ...entity }: Removable<CnsEntity>,
  unknown: ReadonlySet<string>,
): XmlElement {
  const { entityName, entityType, namespace, clusterId } = entity;
  // Sorted, so that equal requests are equal texts.
  const sorted = Object.entries(labels).sort(([one], [other]) => one < other ? -1 : 1);
  return typed(
    "entityMetadata",
    "CnsKubernetesEntityMetadata",
    element("entityName", entityName),
    sorted.map(([key, value]) => element("labels", element("key", key), element("value", value))),
    remove ? element("delete", "true") : undefined,
    unknown.has("clusterId") ? undefined : optional("clusterId", clusterId),
    element("entityType", entityType),
    optional("namespace", namespace),
    unknown.has("referredEntity") ? undefined : references.map(referenceElement),
  );
}

function referenceElement(one: CnsReference): XmlElement {
  return element(
    "referredEntity",
    element("entityType", one.entityType),
    element("entityName", one.entityName),
    optional("namespace", one.namespace),
    optional("clusterId", one.clusterId),
  );
}

function clusterOf(node: XmlNode): CnsCluster {
  return {
    clusterId: textAt(node, "clusterId"),
    user: textAt(node, "vSphereUser"),
    flavor: textAt(node, "clusterFlavor"),
    distribution: textAt(node, "clusterDistribution"),
  };
}

function entityOf(node: XmlNode): CnsEntity {
  const labels = childrenOf(node, "labels").map((label) =>
    [textAt(label, "key"), textAt(label, "value")] as const
  );
  return {
    ...referenceOf(node),
    labels: Object.fromEntries(labels),
    references: childrenOf(node, "referredEntity").map(referenceOf),
  };
}

function referenceOf(node: XmlNode): CnsReference {
  return {
    entityType: textAt(node, "entityType"),
    entityName: textAt(node, "entityName"),
    namespace: textAt(node, "namespace"),
    clusterId: textAt(node, "clusterId"),
  };
}
