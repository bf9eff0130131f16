import type { KubeObject, ObjectMeta } from "./object.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

interface Named {
  readonly name: string;
}

/** Where a volume's data lies, as far as a stored pod must know it. */
interface Volume extends Named {
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: Readonly<Record<string, unknown>>;
  readonly csi?: { readonly driver: string };
  readonly hostPath?: { readonly path: string };
}

interface Status extends Named {
  readonly state?: object;
}

/** What `trimPod` keeps of a pod. */
export interface TrimmedPod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly volumes?: readonly Volume[];
    readonly initContainers?: readonly Named[];
    readonly containers: readonly Named[];
  };
  readonly status?: {
    readonly phase?: PodPhase;
    readonly initContainerStatuses?: readonly Status[];
  };
}

/** On a static pod's mirror: the name kubelet gives the pod's folder instead of the UID. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * A copy with what a node agent reads of pods on its node: names, labels, node, volumes, phase, the
 * states of init containers; of annotations only the mirror's. A fifth or less of what comes.
 */
export function trimPod({ metadata, spec, status = {} }: TrimmedPod): TrimmedPod {
  return {
    metadata: trimMeta(metadata),
    spec: defined<TrimmedPod["spec"]>({
      nodeName: spec.nodeName,
      volumes: spec.volumes?.map(trimVolume),
      initContainers: spec.initContainers?.map(({ name }) => ({ name })),
      containers: spec.containers.map(({ name }) => ({ name })),
    }),
    status: defined<NonNullable<TrimmedPod["status"]>>({
      phase: status.phase,
      initContainerStatuses: status.initContainerStatuses
        ?.map(({ name, state }) => defined<Status>({ name, state })),
    }),
  };
}

/** A pod without a phase, as it stands just after creation, is Pending. */
export function podPhase(pod: { readonly status?: { readonly phase?: PodPhase } }): PodPhase {
  return pod.status?.phase ?? "Pending";
}

function trimMeta(meta: ObjectMeta): ObjectMeta {
  const mirror = meta.annotations?.[mirrorAnnotation];
  const kept: { readonly [K in keyof ObjectMeta]: ObjectMeta[K] | undefined } = {
    name: meta.name,
    namespace: meta.namespace,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    deletionTimestamp: meta.deletionTimestamp,
    labels: meta.labels,
    annotations: mirror === undefined ? undefined : { [mirrorAnnotation]: mirror },
  };
  return defined<ObjectMeta>(kept);
}

function trimVolume({ name, persistentVolumeClaim: claim, ...volume }: Volume): Volume {
  const { ephemeral, csi, hostPath } = volume;
  return defined<Volume>({
    name,
    persistentVolumeClaim: claim && { claimName: claim.claimName },
    ephemeral: ephemeral && {},
    csi: csi && { driver: csi.driver },
    hostPath: hostPath && { path: hostPath.path },
  });
}

/** The record without the fields that are undefined. */
function defined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
