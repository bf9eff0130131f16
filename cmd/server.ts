import { linked, sleep } from "../lib/base/abort.ts";
import { messageOf } from "../lib/base/error.ts";
import { configureLog, type Log, logger } from "../lib/base/log.ts";
import { createMetrics, type Metrics } from "../lib/base/metrics.ts";
import { customResourceDefinitions } from "../lib/api/custom_resource_definition.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { isTransient } from "../lib/kube/api_error.ts";
import { createClient, type KubeClient } from "../lib/kube/client.ts";
import { connect, type Connection } from "../lib/kube/connection.ts";
import { createRecorder } from "../lib/kube/events.ts";
import { newWatchHealth } from "../lib/kube/watch.ts";
import { type Capabilities, readCapabilities } from "../lib/movement/capabilities.ts";
import { createMovements, type Movements } from "../lib/movement/controller.ts";
import { podVolumeBackupKind } from "../lib/movement/pod_volume_backup.ts";
import type { Command, World } from "./command.ts";
import { listenForMetrics } from "./metrics_listener.ts";
import { movementObserver } from "./movement_observer.ts";
import { setUpNode } from "./node_setup.ts";
import { openRepositories } from "./repositories.ts";
import { serverFlags, type ServerOptions, serverOptions } from "./server_options.ts";

export const command: Command = {
  name: "server",
  summary: "the node agent: moves the volumes of this node",
  description:
    "The node agent. Watches the PodVolumeBackup objects of Velero's namespace and moves " +
    "the volumes of this node with kopia. Also called as: node-agent server",
  flags: serverFlags,
  exitCodes: [
    [0, "stopped by SIGTERM or SIGINT"],
    [1, "could not start, or a second signal came"],
    [2, "wrong flags"],
  ],
  examples: [
    "NODE_NAME=worker-1 longshore server --log-format=json",
    "longshore server --kubeconfig ~/.kube/config --node-name worker-1 --host-pods /var/lib/kubelet/pods",
  ],
  async run(flags, world) {
    const options = await serverOptions(flags, world);
    configureLog({ level: options.logLevel, format: options.logFormat, write: world.out });
    try {
      await serve(options, world);
    } catch (error) {
      if (!world.signal.aborted) throw error; // told to stop before it had begun
    }
    return 0;
  },
};

async function serve(options: ServerOptions, world: World): Promise<void> {
  const log = logger("server");
  const { node, namespace } = options;
  log.info("Longshore starts", { version: world.version, node, namespace });
  for (const flag of options.unused) {
    log.warn("A flag is ignored by this release", { flag: `--${flag}` });
  }
  const connection = await connect(options.connection);
  const userAgent = `longshore/${world.version} (linux) node-agent`;
  const capabilities = await probe(connection, { userAgent, log }, world.signal);
  await using client = createClient(connection, { userAgent });
  const metrics = createMetrics();
  const setup = await setUpNode(options, { client, metrics, log }, world.signal);
  await using _listener = listenForMetrics(metrics, options.metricsAddress);
  log.info("Metrics are served", { ...options.metricsAddress });
  await using repositories = await openRepositories(options, { client, world });
  const recorder = createRecorder(client, { component: "longshore", host: node });
  await using _recorder = recorder;
  const health = newWatchHealth();
  const movements = createMovements({
    client,
    kind: podVolumeBackupKind({ client, node, hostPods: options.hostPods, repositories }),
    namespace,
    node,
    capabilities,
    concurrency: setup.concurrency,
    progressIntervalMs: options.progressIntervalMs,
    graceMs: options.graceMs,
    holder: `${node}/${crypto.randomUUID()}`,
    health,
    observe: movementObserver({ metrics, recorder, resource: podVolumeBackups, node }),
    log: logger("movement"),
  });
  sampleMovements(metrics, movements);
  await Promise.all([
    runUntilStopped(movements, { graceMs: options.graceMs, log }, world.signal),
    setup.followConfig(world.signal),
  ]);
  log.info("Longshore stops");
}

/** Movements outlive the first signal by the grace time, and a little to write what became of them. */
async function runUntilStopped(
  movements: Movements,
  { graceMs, log }: { readonly graceMs: number; readonly log: Log },
  intake: AbortSignal,
): Promise<void> {
  using work = linked(new AbortController().signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onStop = () => {
    log.info("The agent is told to stop", { cause: messageOf(intake.reason) });
    const lastMs = graceMs + 8_000;
    timer = setTimeout(
      () => work.abort(new DOMException("the grace time is over", "AbortError")),
      lastMs,
    );
  };
  if (intake.aborted) onStop(); // during the start
  else intake.addEventListener("abort", onStop, { once: true });
  try {
    await movements.run({ intake, work: work.signal });
  } finally {
    clearTimeout(timer);
  }
}

const tries = 10;

/** Reads what the installed CRD knows; ten tries, one second apart, while the API server is away. */
async function probe(
  connection: Connection,
  { userAgent, log }: { readonly userAgent: string; readonly log: Log },
  signal: AbortSignal,
): Promise<Capabilities> {
  await using client: KubeClient = createClient(connection, { userAgent, retries: 0 });
  const name = `${podVolumeBackups.plural}.${podVolumeBackups.group}`;
  for (let attempt = 1;; attempt++) {
    try {
      const definition = await client.get(customResourceDefinitions, { name }, signal);
      return readCapabilities(definition, podVolumeBackups);
    } catch (error) {
      if (signal.aborted || !isTransient(error) || attempt === tries) throw error;
      log.warn("The API server does not answer", { attempt, of: tries, error: messageOf(error) });
    }
    await sleep(1_000, signal);
  }
}

function sampleMovements(metrics: Metrics, { slots, queue }: Movements): void {
  metrics.sampled({
    name: "longshore_slots",
    help: "Slots for movements by state.",
    labels: ["state"],
    sample: () => [[{ state: "used" }, slots.used], [{ state: "waiting" }, slots.waiting]],
  });
  metrics.sampled({
    name: "longshore_queue_length",
    help: "Objects that wait to be looked at.",
    sample: () => [[{}, queue.length]],
  });
  metrics.sampled({
    name: "longshore_oldest_wait_seconds",
    help: "How long the first in line has waited for a slot; 0 when none waits.",
    sample: () => [[
      {},
      slots.waitingSinceMs === undefined ? 0 : (Date.now() - slots.waitingSinceMs) / 1_000,
    ]],
  });
}
