/** What `mark-stale` found and did, for programs and for people. */
import { formatDuration } from "../lib/base/duration.ts";
import type { StaleFacts } from "../lib/movement/stale.ts";
import type { StaleKind } from "../lib/movement/stale_kinds.ts";
import type { Marked, Marking } from "../lib/movement/stale_marking.ts";
import { formatTable } from "./table.ts";

export interface StaleRow {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly decision: "fail" | "report" | "leave";
  readonly reason: string;
  /** A sentence. */
  readonly why: string;
  readonly evidence: {
    readonly phase: string;
    readonly node: string;
    readonly nodeState: string;
    readonly podState: string;
    readonly ownerState: string;
    readonly owner: string;
    readonly agent: string;
    readonly ageSeconds: number;
  };
  readonly result: Marking["result"];
  readonly error?: string;
}

export interface StaleReport {
  readonly objects: readonly StaleRow[];
  /** Kinds that this cluster does not have. */
  readonly absentKinds: readonly string[];
  readonly summary: {
    /** Nobody will finish them. */
    readonly stale: number;
    readonly marked: number;
    readonly canceled: number;
    /** With --dry-run: what would be written. */
    readonly planned: number;
    readonly reported: number;
    readonly left: number;
    /** Changed by somebody meanwhile, and so left alone. */
    readonly changed: number;
    readonly errors: number;
  };
}

export function staleReport(
  marked: readonly Marked[],
  absent: readonly StaleKind[],
): StaleReport {
  const objects = marked.map(rowOf);
  const count = (test: (row: StaleRow) => boolean) => objects.filter(test).length;
  return {
    objects,
    absentKinds: absent.map(({ resource }) => resource.kind),
    summary: {
      stale: count(({ decision }) => decision === "fail"),
      marked: count(({ result }) => result === "marked"),
      canceled: count(({ result }) => result === "canceled"),
      planned: count(({ result }) => result === "planned"),
      reported: count(({ decision }) => decision === "report"),
      left: count(({ decision }) => decision === "leave"),
      changed: count(({ result }) => result === "changed"),
      errors: count(({ result }) => result === "error"),
    },
  };
}

function rowOf({ kind, object, facts, decided, marking }: Marked): StaleRow {
  const { namespace = "", name } = object.metadata;
  return {
    kind: kind.resource.kind,
    namespace,
    name,
    ...decided,
    evidence: evidenceOf(facts),
    ...marking,
  };
}

function evidenceOf(facts: StaleFacts): StaleRow["evidence"] {
  const { phase, node = "", nodeState, target, owner, ageMs } = facts;
  return {
    phase,
    node,
    nodeState,
    podState: target,
    ownerState: owner.phase ?? owner.state,
    owner: owner.name ?? "",
    agent: agentOf(facts),
    ageSeconds: Math.max(0, Math.round(ageMs / 1_000)),
  };
}

function agentOf({ agent: { runningSinceMs, down, ending }, hostingPod }: StaleFacts): string {
  if (hostingPod === "running") return "hosting pod";
  if (ending > 0) return "ending";
  const [first] = runningSinceMs.toSorted((a, b) => a - b);
  if (first !== undefined) {
    return `running since ${new Date(first).toISOString().replace(/\.\d+Z$/, "Z")}`;
  }
  return down > 0 ? "not running" : "none";
}

const heads = ["kind", "name", "decision", "reason", "phase", "node", "pod", "owner", "age"];

export function staleText({ objects, absentKinds, summary }: StaleReport): string {
  const rows = objects.map(({ kind, name, decision, reason, evidence, result, why, error }) => [
    ...[kind, name, decision, reason, evidence.phase, evidence.node || "-", evidence.podState],
    ...[evidence.ownerState, formatDuration(evidence.ageSeconds * 1_000), resultOf(result)],
    error ?? why,
  ]);
  const absent = absentKinds.map((kind) => `${kind} is not installed in this cluster.\n`).join("");
  return `${formatTable([...heads, "result", "why"], rows)}${absent}${sumUp(summary)}\n`;
}

function resultOf(result: Marking["result"]): string {
  switch (result) {
    case "none":
      return "-";
    case "planned":
      return "would be written";
    case "marked":
      return "marked Failed";
    case "canceled":
      return "asked to cancel";
    case "changed":
      return "changed meanwhile";
    case "uncancelable":
      return "cannot be canceled";
    case "error":
      return "error";
    default:
      return result satisfies never;
  }
}

function sumUp(
  { stale, marked, canceled, planned, reported, left, changed, errors }: StaleReport["summary"],
): string {
  const parts = [
    `${stale} stale`,
    `${marked} marked`,
    ...(planned > 0 ? [`${planned} would be written`] : []),
    ...(canceled > 0 ? [`${canceled} asked to cancel`] : []),
    ...(reported > 0 ? [`${reported} of an ended Backup or Restore`] : []),
    ...(left > 0 ? [`${left} left alone`] : []),
    ...(changed > 0 ? [`${changed} changed meanwhile`] : []),
    ...(errors > 0 ? [`${errors} could not be written`] : []),
  ];
  return parts.join(", ");
}
