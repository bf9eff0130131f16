import type { LabelSelector } from "../kube/labels.ts";
import { configFindings } from "./config_findings.ts";
import type { Finding, Parsed, Position } from "../base/finding.ts";
import { integer, listOf, mapOf, type ReadField, type Reading, record } from "./json_fields.ts";
import { text, toggle } from "./json_fields.ts";
import { type JsonNode, JsonSyntaxError, parseJsonText } from "./json_text.ts";

/**
 * The node agent's configuration as Velero 1.15 to 1.18 define it; the comments name the release
 * that brought a key. Values stand as they were written: `configFindings` judges them.
 */
export interface NodeAgentConfig {
  readonly loadConcurrency?: LoadConcurrency;
  /** Nodes on which mover pods may run. */
  readonly loadAffinity?: readonly LoadAffinity[];
  /** How the claim made from a snapshot looks, by the storage class of the source claim. */
  readonly backupPVC?: Readonly<Record<string, BackupClaim>>;
  /** 1.16 */
  readonly restorePVC?: RestoreClaim;
  /** Requests and limits of mover pods. */
  readonly podResources?: PodResources;
  /** 1.17; of mover pods. */
  readonly priorityClassName?: string;
  /** 1.17; pods that move pod volumes run privileged. */
  readonly privilegedFsBackup?: boolean;
  /** 1.18 */
  readonly cachePVC?: CacheClaim;
  /** 1.18; of mover pods. */
  readonly podLabels?: Readonly<Record<string, string>>;
  /** 1.18; of mover pods. */
  readonly podAnnotations?: Readonly<Record<string, string>>;
}

export interface LoadConcurrency {
  /** Movements at once on a node that no rule matches. */
  readonly globalConfig?: number;
  readonly perNodeConfig?: readonly NodeRule[];
  /** 1.17; volumes that may be prepared and wait, in the whole cluster; 0 and less: no limit. */
  readonly prepareQueueLength?: number;
}

export interface NodeRule {
  /** Absent or empty: every node. */
  readonly nodeSelector?: LabelSelector;
  readonly number?: number;
}

export interface LoadAffinity {
  readonly nodeSelector?: LabelSelector;
  /** 1.17; only for volumes of this class. */
  readonly storageClass?: string;
}

export interface BackupClaim {
  readonly storageClass?: string;
  readonly readOnly?: boolean;
  /** No SELinux relabeling of a read-only volume. */
  readonly spcNoRelabeling?: boolean;
  /** 1.17 */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RestoreClaim {
  /** Do not wait until a pod consumes a claim with delayed binding. */
  readonly ignoreDelayBinding?: boolean;
}

/** Quantities; "0" is no request or no limit. */
export interface PodResources {
  readonly cpuRequest?: string;
  readonly memoryRequest?: string;
  readonly cpuLimit?: string;
  readonly memoryLimit?: string;
  /** 1.18 */
  readonly ephemeralStorageRequest?: string;
  readonly ephemeralStorageLimit?: string;
}

/** A volume for the uploader's cache of a restore. */
export interface CacheClaim {
  readonly storageClass?: string;
  /** Restores of less data do without. */
  readonly residentThresholdInMB?: number;
}

const texts = mapOf(text, "");

// The operator stays a text here: an unknown one spoils its rule, not the whole document.
const selector = record<LabelSelector>({
  matchLabels: texts,
  matchExpressions: listOf(
    requirement,
    { key: "", operator: "Exists" },
  ),
});

function requirement(node: JsonNode, path: string, reading: Reading) {
  const read = record<{ key: string; operator: string; values: readonly string[] }>({
    key: text,
    operator: text,
    values: listOf(text, ""),
  })(node, path, reading);
  if (read === undefined) return undefined;
  type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];
  return { key: "", operator: "(none)", ...read } as Requirement;
}

const config: ReadField<NodeAgentConfig> = record<NodeAgentConfig>({
  loadConcurrency: record<LoadConcurrency>({
    globalConfig: integer,
    perNodeConfig: listOf(record<NodeRule>({ nodeSelector: selector, number: integer }), {}),
    prepareQueueLength: integer,
  }),
  loadAffinity: listOf(record<LoadAffinity>({ nodeSelector: selector, storageClass: text }), {}),
  backupPVC: mapOf(
    record<BackupClaim>({
      storageClass: text,
      readOnly: toggle,
      spcNoRelabeling: toggle,
      annotations: texts,
    }),
    {},
  ),
  restorePVC: record<RestoreClaim>({ ignoreDelayBinding: toggle }),
  podResources: record<PodResources>({
    cpuRequest: text,
    memoryRequest: text,
    cpuLimit: text,
    memoryLimit: text,
    ephemeralStorageRequest: text,
    ephemeralStorageLimit: text,
  }),
  priorityClassName: text,
  privilegedFsBackup: toggle,
  cachePVC: record<CacheClaim>({ storageClass: text, residentThresholdInMB: integer }),
  podLabels: texts,
  podAnnotations: texts,
});

/**
 * Reads the document. A syntax error or a wrong type anywhere leaves no value, as in the original;
 * all wrong types are found at once.
 */
export function parseNodeAgentConfig(document: string): Parsed<NodeAgentConfig> {
  const findings: Finding[] = [];
  const places = new Map<string, Position>();
  try {
    const value = config(parseJsonText(document), "", { findings, places }) ?? {};
    findings.push(...configFindings(value).map((finding) => placed(finding, places)));
    findings.sort((a, b) => lineOf(a) - lineOf(b));
    return findings.some(({ severity }) => severity === "error")
      ? { ok: false, findings }
      : { ok: true, value, findings };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const message = `this is not JSON: ${error.message}`;
    return { ok: false, findings: [{ severity: "error", ...error.at, message }] };
  }
}

function lineOf({ line = 0 }: Finding): number {
  return line;
}

/** With the place of the value, or of the nearest one around it that was written. */
function placed(finding: Finding, places: ReadonlyMap<string, Position>): Finding {
  for (
    let path = finding.path ?? "";
    path !== "";
    path = path.replace(/(\.|\[)[^.[]*$|^.[^.[]*$/, "")
  ) {
    const place = places.get(path);
    if (place !== undefined) return { ...finding, ...place };
  }
  return finding;
}
