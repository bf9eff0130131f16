import { linked } from "../lib/base/abort.ts";
import { messageOf } from "../lib/base/error.ts";
import { configureLog, type Log, logger } from "../lib/base/log.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import { createClient } from "../lib/kube/client.ts";
import { connect } from "../lib/kube/connection.ts";
import { createRecorder } from "../lib/kube/events.ts";
import type { Movements } from "../lib/movement/controller.ts";
import type { Command, World } from "./command.ts";
import { probeCrds } from "./crd_probe.ts";
import { reportSkew } from "./crd_skew.ts";
import { followDataMovements } from "./data_movements.ts";
import type { Watches } from "./health.ts";
import { openHeart } from "./heart.ts";
import { podVoice } from "./pod_voice.ts";
import { listenForMetrics } from "./metrics_listener.ts";
import { nodeMovements } from "./node_movements.ts";
import { setUpNode } from "./node_setup.ts";
import { openRepositories } from "./repositories.ts";
import { serverFlags, type ServerOptions, serverOptions } from "./server_options.ts";

export const command: Command = {
  name: "server",
  summary: "the node agent: moves the volumes of this node",
  description:
    "The node agent. Watches the PodVolumeBackup and PodVolumeRestore objects of Velero's " +
    "namespace and moves the volumes of this node with kopia. Also called as: node-agent server",
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
  const crds = await probeCrds({ connection, userAgent, log }, world.signal);
  await using client = createClient(connection, { userAgent });
  const metrics = createMetrics();
  const watches: Watches = new Map();
  const recorder = createRecorder(client, { component: "longshore", host: node });
  await using _recorder = recorder;
  const voice = podVoice({ ...options, client, recorder, log });
  await reportSkew(crds, { metrics, voice, log }, world.signal);
  const setup = await setUpNode(options, { client, metrics, watches, log }, world.signal);
  await using heart = openHeart(watches, { connection, userAgent, namespace });
  const vitals = { watches, heart, intake: world.signal };
  await using _listener = listenForMetrics({ metrics, vitals }, options.metricsAddress);
  log.info("Metrics are served", { ...options.metricsAddress });
  await using repositories = await openRepositories(options, {
    ...{ client, world, concurrency: setup.concurrency },
  });
  const movements = nodeMovements({
    ...{ options, client, metrics, recorder, repositories, crds, watches },
    concurrency: setup.concurrency,
  });
  await Promise.all([
    runUntilStopped(movements, { graceMs: options.graceMs, log }, world.signal),
    setup.followConfig(world.signal),
    followDataMovements({ client, recorder, log, namespace, node }, world.signal),
  ]);
  log.info("Longshore stops");
}

/** Movements outlive the first signal by the grace time, and a little to write what became of them. */
async function runUntilStopped(
  movements: Pick<Movements, "run">,
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
