/** Says where people look that an installed CRD lacks something: log, metric, event. */
import { ConfigError } from "../lib/base/error.ts";
import type { Log } from "../lib/base/log.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../lib/api/pod_volume_restore.ts";
import { crdName, type InstalledCrds, type Probed } from "./crd_probe.ts";
import type { PodVoice } from "./pod_voice.ts";

export interface SkewNeeds {
  readonly metrics: Metrics;
  /** Speaks about the agent's own pod. */
  readonly voice: PodVoice;
  readonly log: Log;
}

const restart = "then restart the agent";

/** Throws `ConfigError` when no kind can be worked on: each start of the pod then looks again. */
export async function reportSkew(
  { backups, restores }: InstalledCrds,
  { metrics, voice, log }: SkewNeeds,
  signal: AbortSignal,
): Promise<void> {
  const gauge = metrics.gauge({
    name: "longshore_crd_skew",
    help: "1 when a CRD is missing or lacks a phase or field; the agent's log says which.",
    labels: ["crd"],
  });
  const all = [[crdName(podVolumeBackups), backups], [
    crdName(podVolumeRestores),
    restores,
  ]] as const;
  for (const [crd, probed] of all) {
    const told = textOf(crd, probed);
    gauge.set({ crd }, told === undefined ? 0 : 1);
    if (told === undefined) continue;
    if ("skew" in probed) {
      log.error("A kind is not worked on: its CRD lacks what is needed", { crd, skew: told });
    } else log.warn("A CRD lacks something", { crd, skew: told });
    await voice({ type: "Warning", reason: "CrdSkew", message: told }, signal);
  }
  if ("skew" in backups && "skew" in restores) {
    throw new ConfigError(`No kind can be worked on. ${backups.skew}. ${restores.skew}`);
  }
}

function textOf(crd: string, probed: Probed): string | undefined {
  if ("skew" in probed) return `${probed.skew}, ${restart}`;
  if (probed.lacks.length === 0) return undefined;
  const remedy = `install the CRDs of Velero 1.15 to 1.18, ${restart}`;
  return `The CRD "${crd}" lacks something: ${probed.lacks.join("; ")}; ${remedy}`;
}
