/** Kubernetes distributions by what a node says of itself, and where each keeps its pods. */
import type { Node } from "../api/core.ts";
import type { HostPathFacts, HostPathVerdict } from "./host_path.ts";

export interface Distribution {
  readonly name: string;
  /** The kubelet's folder of pods on the node; absent where there is none to mount. */
  readonly pods?: string;
  /** What is special about it. */
  readonly note?: string;
}

const usual = "/var/lib/kubelet/pods";

type Knows = (node: Node) => boolean;

const known: readonly (Distribution & { readonly is: Knows })[] = [
  {
    name: "a virtual cluster",
    note:
      "its pods run on the nodes of the host cluster under other UIDs, so their volumes cannot be " +
      "read from inside: run the node agent in the host cluster, or have the virtual cluster map " +
      "host paths",
    is: hasPrefix("vcluster.loft.sh/"),
  },
  { name: "k3s", pods: usual, is: kubeletHas("+k3s") },
  {
    name: "RKE2",
    pods: usual,
    note: 'a kubelet-arg "root-dir" in its configuration moves it',
    is: kubeletHas("+rke2"),
  },
  { name: "k0s", pods: "/var/lib/k0s/kubelet/pods", is: kubeletHas("+k0s") },
  {
    name: "MicroK8s",
    pods: "/var/snap/microk8s/common/var/lib/kubelet/pods",
    is: hasPrefix("microk8s.io/"),
  },
  {
    name: "OpenShift",
    pods: usual,
    note: "there the agent's container must be privileged, and its service account allowed to be",
    is: (node) =>
      hasPrefix("node.openshift.io/")(node) ||
      osIs(/CoreOS.*OpenShift|Red Hat Enterprise Linux CoreOS/)(node),
  },
  {
    name: "PKS",
    pods: "/var/vcap/data/kubelet/pods",
    is: (node) => hasPrefix("pks-system/")(node) || hasPrefix("bosh.")(node),
  },
  { name: "RancherOS", pods: "/opt/rke/var/lib/kubelet/pods", is: osIs(/RancherOS/) },
];

/** Every place of the list above, for a look whether one exists. */
export const knownPodsFolders: readonly string[] = [
  ...new Set(known.flatMap(({ pods }) => pods ?? [])),
];

/** What the node looks like; undefined when nothing tells. */
export function distributionOf(node: Node): Distribution | undefined {
  const found = known.find(({ is }) => is(node));
  if (found === undefined) return undefined;
  const { is: _, ...distribution } = found;
  return distribution;
}

/** What to do about a verdict other than ok, in a sentence or two without a full stop at the end. */
export function hostPathHint(
  verdict: Exclude<HostPathVerdict, "ok">,
  facts: HostPathFacts,
): string {
  const distribution = facts.nodeObject && distributionOf(facts.nodeObject);
  const parts = [
    firstStep(verdict, facts, distribution),
    ...elsewhere(facts),
    ...(distribution?.note === undefined ? [] : [`${distribution.name}: ${distribution.note}`]),
  ];
  return parts.join(". ");
}

function firstStep(
  verdict: Exclude<HostPathVerdict, "ok">,
  facts: HostPathFacts,
  distribution: Distribution | undefined,
): string {
  const { path, folder } = facts;
  switch (verdict) {
    case "absent":
    case "not-a-pods-root": {
      const inner = folder.state === "read" && folder.folders.includes("pods");
      if (inner) {
        return `It looks like the kubelet's own folder: mount its sub-folder "pods" at "${path}"`;
      }
      return mount(facts, distribution);
    }
    case "unreadable":
      return `The agent must run as root, with "${path}" mounted readable from the node`;
    case "uid-mismatch":
      return isStrange(facts)
        ? "The folders there are of other pods: it is another cluster's or another node's folder, a " +
          "left-over of an earlier kubelet, or this is a virtual cluster"
        : `Check that "${path}" is mounted with mountPropagation HostToContainer and belongs to this ` +
          "node's kubelet; a pod that has just started or ended may be missing for a moment";
    default:
      return verdict satisfies never;
  }
}

function mount({ path }: HostPathFacts, distribution: Distribution | undefined): string {
  const place = distribution === undefined
    ? `"${usual}" on most distributions`
    : distribution.pods === undefined
    ? undefined
    : `"${distribution.pods}" on ${distribution.name}, which this node looks like`;
  return place === undefined
    ? `No folder of this node can be mounted at "${path}"`
    : `Let the agent's volume host-pods be the folder "pods" of the kubelet's root folder (${place}), ` +
      `mounted at "${path}"`;
}

function elsewhere({ elsewhere = [] }: HostPathFacts): string[] {
  return elsewhere.length === 0
    ? []
    : [`On this machine there is ${elsewhere.map((path) => `"${path}"`).join(" and ")}`];
}

/** None of the pods has its folder, though others do. */
function isStrange({ folder, pods }: HostPathFacts): boolean {
  if (folder.state !== "read") return false;
  return !pods.some((pod) => folder.folders.includes(pod.folder));
}

function kubeletHas(mark: string): Knows {
  return ({ status }) => status?.nodeInfo?.kubeletVersion?.includes(mark) ?? false;
}

function osIs(pattern: RegExp): Knows {
  return ({ status }) => pattern.test(status?.nodeInfo?.osImage ?? "");
}

/** Of a label or an annotation. */
function hasPrefix(prefix: string): Knows {
  return ({ metadata: { labels = {}, annotations = {} } }) =>
    [...Object.keys(labels), ...Object.keys(annotations)].some((key) => key.startsWith(prefix));
}
