/** The rules of manifests/, in force on a control plane: what they do not grant is refused. */
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../lib/kube/object.ts";
import type { ControlPlane } from "./control_plane.ts";
import { writeKubeconfig } from "./kubeconfig.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Grant {
  /** Everything in Velero's namespace is put there. */
  readonly namespace?: string;
  /** Of the service account; the default is that of the manifest. */
  readonly account?: string;
  /** Changes the rules of both roles; the default leaves them as they are. */
  readonly change?: (rules: readonly Rule[]) => readonly Rule[];
}

type Subject = { readonly kind: string; readonly name: string; readonly namespace?: string };
type Part = KubeObject & {
  readonly rules?: readonly Rule[];
  readonly roleRef?: Subject;
  readonly subjects?: readonly Subject[];
};

const manifests = new URL("../../manifests/", import.meta.url);

/** The objects of a manifest, in its order. */
export async function readManifest<T extends KubeObject>(name: string): Promise<T[]> {
  const text = await Deno.readTextFile(new URL(name, manifests));
  return parseAllDocuments(text).map((document) => document.toJS() as T);
}

/**
 * Makes accounts, roles and bindings of a manifest with one service account, and a kubeconfig with a token
 * of it, whose path it answers.
 */
export async function grant(
  controlPlane: ControlPlane,
  manifest: "rbac.yaml" | "mark-stale-rbac.yaml",
  { namespace = "velero", account, change = (rules) => rules }: Grant = {},
): Promise<string> {
  const parts = await readManifest<Part>(manifest);
  const name = account ?? parts[0]?.metadata.name ?? "";
  const folder = await controlPlane.serviceAccount(namespace, name); // and its namespace
  for (const part of parts) {
    if (part.kind === "ServiceAccount") continue;
    const { roleRef, rules } = part;
    await controlPlane.call("POST", pathOf(part, namespace), {
      ...part,
      metadata: { ...part.metadata, name, ...(part.metadata.namespace && { namespace }) },
      ...(rules && { rules: change(rules) }),
      ...(roleRef && { roleRef: { ...roleRef, name } }),
      ...(roleRef && { subjects: [{ kind: "ServiceAccount", name, namespace }] }),
    });
  }
  const token = await Deno.readTextFile(`${folder}/token`);
  const { server, caFile } = controlPlane;
  return await writeKubeconfig(`${folder}/kubeconfig`, { server, caFile, user: { token } });
}

function pathOf({ kind = "", metadata }: Part, namespace: string): string {
  const where = metadata.namespace === undefined ? "" : `namespaces/${namespace}/`;
  return `/apis/rbac.authorization.k8s.io/v1/${where}${kind.toLowerCase()}s`;
}
