/** The core Kubernetes objects, with the fields that Longshore reads; optional where the API omits them. */
import type { KubeObject, Resource } from "../kube/object.ts";

export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PodSpec {
  /** Absent until the pod is scheduled. */
  readonly nodeName?: string;
  readonly volumes?: readonly PodVolume[];
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

/** One volume; its source is the one member beside `name`. */
export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  /** An inline CSI volume, without a claim. */
  readonly csi?: { readonly driver: string };
  readonly emptyDir?: { readonly medium?: string };
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly secret?: { readonly secretName?: string };
  readonly configMap?: { readonly name?: string };
  readonly projected?: Readonly<Record<string, unknown>>;
  readonly downwardAPI?: Readonly<Record<string, unknown>>;
  readonly ephemeral?: Readonly<Record<string, unknown>>;
  readonly nfs?: { readonly server: string; readonly path: string };
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  readonly phase?: PodPhase;
  /** When the kubelet took it on. */
  readonly startTime?: string;
  readonly podIP?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatus {
  readonly name: string;
  /** The one member that is present tells the state. */
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: {
      readonly exitCode: number;
      readonly reason?: string;
      readonly message?: string;
    };
  };
}

export const pods: Resource<Pod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

export type VolumeMode = "Filesystem" | "Block";

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec: {
    /** The bound PersistentVolume; absent or empty until then. */
    readonly volumeName?: string;
    readonly volumeMode?: VolumeMode;
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly phase?: "Pending" | "Bound" | "Lost" };
}

export const persistentVolumeClaims: Resource<PersistentVolumeClaim> = {
  group: "",
  version: "v1",
  plural: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
};

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly hostPath?: { readonly path: string; readonly type?: string };
    /** Absent means Filesystem. */
    readonly volumeMode?: VolumeMode;
    readonly accessModes?: readonly string[];
    readonly capacity?: Readonly<Record<string, string>>;
    readonly storageClassName?: string;
    readonly persistentVolumeReclaimPolicy?: string;
    readonly claimRef?: {
      readonly kind?: string;
      readonly namespace?: string;
      readonly name?: string;
      readonly uid?: string;
    };
  };
  readonly status?: { readonly phase?: string };
}

export const persistentVolumes: Resource<PersistentVolume> = {
  group: "",
  version: "v1",
  plural: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
};

/** The name is the driver's; only that it exists is of interest. */
export interface CSIDriver extends KubeObject {
  readonly spec: { readonly attachRequired?: boolean };
}

export const csiDrivers: Resource<CSIDriver> = {
  group: "storage.k8s.io",
  version: "v1",
  plural: "csidrivers",
  kind: "CSIDriver",
  namespaced: false,
};

export interface Secret extends KubeObject {
  readonly type?: string;
  /** The values are base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Accepted when writing; the API server never returns it. */
  readonly stringData?: Readonly<Record<string, string>>;
}

export const secrets: Resource<Secret> = {
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
};

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  /** The values are base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export const configMaps: Resource<ConfigMap> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

/** A node is read for its labels, and for what it says about its distribution. */
export interface Node extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: { readonly osImage?: string; readonly kubeletVersion?: string };
  };
}

export const nodes: Resource<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}

export const namespaces: Resource<Namespace> = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

/** Which object something refers to. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** A core event, in the form that kubectl and the original write. Times are RFC 3339 texts. */
export interface Event extends KubeObject {
  readonly involvedObject: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** One word in upper camel case. */
  readonly reason: string;
  readonly message: string;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly count?: number;
}

export const events: Resource<Event> = {
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};
