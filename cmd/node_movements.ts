/** The movements of this node, of every kind whose CRD is installed, over the same slots. */
import { logger } from "../lib/base/log.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../lib/api/pod_volume_restore.ts";
import type { Repositories } from "../lib/datapath/repositories.ts";
import type { KubeClient } from "../lib/kube/client.ts";
import type { Recorder } from "../lib/kube/events.ts";
import type { Capabilities } from "../lib/movement/capabilities.ts";
import { createMovements, type Movements } from "../lib/movement/controller.ts";
import type { Movable, MovementKind } from "../lib/movement/kind.ts";
import { podVolumeBackupKind } from "../lib/movement/pod_volume_backup.ts";
import { podVolumeRestoreKind } from "../lib/movement/pod_volume_restore.ts";
import { type SlotPool, slotPool } from "../lib/movement/slots.ts";
import type { InstalledCrds } from "./crd_probe.ts";
import { addWatch, type Watches } from "./health.ts";
import { type MovementMetrics, movementMetrics } from "./movement_metrics.ts";
import { movementObserver } from "./movement_observer.ts";
import type { ServerOptions } from "./server_options.ts";

export interface NodeMovementsOptions {
  readonly options: ServerOptions;
  readonly client: KubeClient;
  readonly metrics: Metrics;
  readonly recorder: Recorder;
  readonly repositories: Repositories;
  readonly crds: InstalledCrds;
  readonly watches: Watches;
  /** Movements at once, at least 1. */
  readonly concurrency: number;
}

/** What all kinds have in common. */
interface Shared extends NodeMovementsOptions {
  readonly slots: SlotPool;
  readonly ofMovements: MovementMetrics;
  readonly holder: string;
}

export function nodeMovements(needs: NodeMovementsOptions): Pick<Movements, "run"> {
  const { options, client, metrics, repositories, crds, concurrency } = needs;
  const { node, namespace, hostPods, legacyMetrics: legacy } = options;
  const kinds = [podVolumeBackups.kind, podVolumeRestores.kind];
  const shared: Shared = {
    ...needs,
    slots: slotPool({ limit: concurrency }),
    ofMovements: movementMetrics(metrics, { node, namespace, kinds, legacy }),
    holder: `${node}/${crypto.randomUUID()}`,
  };
  const place = { client, node, hostPods, repositories };
  const { backups, restores } = crds;
  const running: Movements[] = [];
  if (!("skew" in backups)) {
    running.push(movementsOf(shared, podVolumeBackupKind(place), backups));
  }
  if (!("skew" in restores)) {
    const log = logger("movement");
    const health = addWatch(needs.watches, "pods");
    running.push(
      movementsOf(shared, podVolumeRestoreKind({ ...place, health, log }), restores),
    );
  }
  sample(shared, running);
  return {
    run: async (signals) => void await Promise.all(running.map(({ run }) => run(signals))),
  };
}

function movementsOf<T extends Movable>(
  shared: Shared,
  kind: MovementKind<T>,
  capabilities: Capabilities,
): Movements {
  const { client, options, recorder, ofMovements, slots, holder } = shared;
  const { node, namespace, progressIntervalMs, graceMs } = options;
  const { resource } = kind;
  return createMovements({
    ...{ client, kind, namespace, node, capabilities, slots, progressIntervalMs, graceMs, holder },
    health: addWatch(shared.watches, resource.plural),
    observe: movementObserver({
      ...{ metrics: ofMovements, recorder, resource, node },
    }),
    log: logger("movement"),
  });
}

function sample({ metrics, slots, watches }: Shared, running: readonly Movements[]): void {
  metrics.sampled({
    name: "longshore_slots",
    help: "Slots for movements by state.",
    labels: ["state"],
    sample: () => [[{ state: "used" }, slots.used], [{ state: "waiting" }, slots.waiting]],
  });
  metrics.sampled({
    name: "longshore_queue_length",
    help: "Objects that wait to be looked at.",
    sample: () => [[{}, running.reduce((sum, { queue }) => sum + queue.length, 0)]],
  });
  metrics.sampled({
    name: "longshore_oldest_wait_seconds",
    help: "How long the first in line has waited for a slot; 0 when none waits.",
    sample: () => [[{}, secondsSince(slots.waitingSinceMs)]],
  });
  metrics.sampled({
    name: "longshore_watch_age_seconds",
    help: "Since a watch last gave a sign of life; a quiet one gives one about every 60 s.",
    labels: ["watch"],
    sample: () =>
      [...watches].filter(([, { lastActivityMs }]) => lastActivityMs > 0)
        .map(([watch, { lastActivityMs }]) => [{ watch }, secondsSince(lastActivityMs)]),
  });
}

function secondsSince(ms: number | undefined): number {
  return ms === undefined ? 0 : (Date.now() - ms) / 1_000;
}
