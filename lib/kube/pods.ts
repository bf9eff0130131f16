import type { KubeObject, ObjectMeta, Resource } from "./object.ts";

/** The part of a pod's volume that says where its data lies. */
export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  /** Generic ephemeral volume: its claim is called "<pod>-<volume>". */
  readonly ephemeral?: Readonly<Record<string, unknown>>;
  readonly csi?: { readonly driver: string };
  readonly hostPath?: { readonly path: string };
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly running?: { readonly startedAt?: string };
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: {
      readonly exitCode: number;
      readonly reason?: string;
      readonly message?: string;
    };
  };
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

/** The fields of a pod we read; a stored one has no others. */
export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly PodVolume[];
    readonly initContainers?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly phase?: PodPhase;
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export const pods: Resource<Pod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

/** On a static pod's mirror: the name kubelet gives the pod's folder instead of the UID. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** A copy with the fields we read and nothing else: a fifth or less of what the server sends. */
export function trimPod(pod: Pod): Pod {
  const { spec = {}, status = {} } = pod;
  return defined<Pod>({
    metadata: trimMeta(pod.metadata),
    spec: defined<NonNullable<Pod["spec"]>>({
      nodeName: spec.nodeName,
      volumes: spec.volumes?.map(trimVolume),
      initContainers: spec.initContainers?.map(({ name }) => ({ name })),
    }),
    status: defined<NonNullable<Pod["status"]>>({
      phase: status.phase,
      initContainerStatuses: status.initContainerStatuses
        ?.map(({ name, state }) => defined<ContainerStatus>({ name, state })),
    }),
  });
}

/** A pod without a phase, as it stands just after creation, is Pending. */
export function podPhase(pod: Pod): PodPhase {
  return pod.status?.phase ?? "Pending";
}

/** The pod's folder below kubelet's pods folder. */
export function podFolder(pod: Pod): string | undefined {
  return pod.metadata.annotations?.[mirrorAnnotation] ?? pod.metadata.uid;
}

function trimMeta(meta: ObjectMeta): ObjectMeta {
  const mirror = meta.annotations?.[mirrorAnnotation];
  return defined<ObjectMeta>({
    name: meta.name,
    namespace: meta.namespace,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    deletionTimestamp: meta.deletionTimestamp,
    labels: meta.labels,
    annotations: mirror === undefined ? undefined : { [mirrorAnnotation]: mirror },
  });
}

function trimVolume(volume: PodVolume): PodVolume {
  const { persistentVolumeClaim: claim, csi, hostPath } = volume;
  return defined<PodVolume>({
    name: volume.name,
    persistentVolumeClaim: claim && { claimName: claim.claimName },
    ephemeral: volume.ephemeral && {},
    csi: csi && { driver: csi.driver },
    hostPath: hostPath && { path: hostPath.path },
  });
}

/** The record without the fields that are undefined. */
function defined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
