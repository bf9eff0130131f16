/** What the folder of the node's pods must be, decided over facts; `host_path_check.ts` reads them. */
import type { Node } from "../api/core.ts";
import { hostPathHint } from "./distribution.ts";

export interface HostPathFacts {
  readonly path: string;
  readonly node: string;
  readonly folder: FolderFacts;
  /** The Running pods of the node; empty when the folder could not be read. */
  readonly pods: readonly ExpectedPod[];
  /** Absent when it could not be read or was not needed. */
  readonly nodeObject?: Node;
  /** Folders of pods that exist elsewhere on this machine. */
  readonly elsewhere?: readonly string[];
}

export type FolderFacts =
  | { readonly state: "absent" }
  | { readonly state: "unreadable"; readonly cause: string }
  /** Names; a symbolic link is no folder. */
  | { readonly state: "read"; readonly folders: readonly string[]; readonly others: number };

export interface ExpectedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** A static pod: its folder has the name that the mirror annotation gives. */
  readonly mirror: boolean;
  readonly folder: string;
  /** When the kubelet took it on, RFC 3339. */
  readonly startedAt?: string;
  /** It is being deleted: its folder may be gone already. */
  readonly ending: boolean;
}

export const hostPathVerdicts = [
  "ok",
  "absent",
  "unreadable",
  "not-a-pods-root",
  "uid-mismatch",
] as const;
export type HostPathVerdict = typeof hostPathVerdicts[number];

export interface HostPathReport {
  readonly path: string;
  readonly node: string;
  readonly verdict: HostPathVerdict;
  /** The verdict in a sentence, with counts and the first pods that have no folder. */
  readonly message: string;
  /** What to do; absent when all is well. */
  readonly hint?: string;
  /** The names found, sorted; none for a folder that could not be read. */
  readonly entries: readonly string[];
  readonly podsChecked: number;
  readonly missing: readonly ExpectedPod[];
}

/** The verdict, and what an operator needs to mend it. */
export function judgeHostPath(facts: HostPathFacts): HostPathReport {
  const { path, node, folder, pods } = facts;
  const entries = folder.state === "read" ? [...folder.folders].sort() : [];
  const there = new Set(entries);
  const missing = pods.filter((pod) => !there.has(pod.folder));
  const verdict = verdictOf(folder, pods.length, missing.length);
  const report = { path, node, verdict, entries, podsChecked: pods.length, missing };
  const message = messageFor(report, folder);
  return verdict === "ok"
    ? { ...report, message }
    : { ...report, message, hint: hostPathHint(verdict, facts) };
}

/** Whether the missing folders may be a matter of moments: all are of pods that begin or end. */
export function mayPass({ verdict, missing }: HostPathReport, nowMs: number): boolean {
  if (verdict !== "uid-mismatch" && verdict !== "not-a-pods-root") return false;
  return missing.every(({ startedAt, ending }) =>
    ending || (startedAt !== undefined && nowMs - Date.parse(startedAt) < momentMs)
  );
}

const momentMs = 60_000;

function verdictOf(folder: FolderFacts, checked: number, missing: number): HostPathVerdict {
  if (folder.state !== "read") return folder.state;
  if (missing === 0) return "ok";
  const isPodsRoot = missing < checked || folder.folders.some(isPodFolder);
  return isPodsRoot ? "uid-mismatch" : "not-a-pods-root";
}

/** A UID, or the hash of a static pod. */
function isPodFolder(name: string): boolean {
  return /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/.test(name);
}

type Judged = Omit<HostPathReport, "message" | "hint">;

function messageFor(
  { path, node, verdict, podsChecked, missing, entries }: Judged,
  folder: FolderFacts,
): string {
  const where = `the folder "${path}"`;
  switch (verdict) {
    case "ok":
      if (podsChecked === 0) {
        return `${where} can be read, but no running pod is known on node "${node}" to compare it ` +
          "with: is the name one of kubectl get nodes?";
      }
      return `${where} has the folders of all ${podsChecked} running pods of node "${node}"`;
    case "absent":
      return `${where} does not exist`;
    case "unreadable":
      return `${where} cannot be read: ${folder.state === "unreadable" ? folder.cause : "unknown"}`;
    case "not-a-pods-root":
      return `${where} is not the kubelet's folder of pods: none of the ${podsChecked} running pods ` +
        `of node "${node}" has a folder there (${some(missing)}); it holds ${held(entries)}`;
    case "uid-mismatch":
      return `${missing.length} of the ${podsChecked} running pods of node "${node}" have no folder ` +
        `in "${path}" (${some(missing)})`;
    default:
      return verdict satisfies never;
  }
}

const shown = 3;

function some(missing: readonly ExpectedPod[]): string {
  const named = missing.slice(0, shown)
    .map(({ namespace, name, folder }) => `${namespace}/${name} expects "${folder}"`);
  return listed(named, missing.length);
}

function held(entries: readonly string[]): string {
  if (entries.length === 0) return "no folder at all";
  return listed(entries.slice(0, shown).map((name) => `"${name}"`), entries.length);
}

function listed(first: readonly string[], count: number): string {
  return count > first.length
    ? `${first.join(", ")} and ${count - first.length} more`
    : first.join(", ");
}
