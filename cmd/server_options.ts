import { parseDuration } from "../lib/base/duration.ts";
import { ConfigError, messageOf, UsageError } from "../lib/base/error.ts";
import type { LogFormat, LogLevel } from "../lib/base/log.ts";
import type { ConnectOptions } from "../lib/kube/connection.ts";
import { type Flag, type FlagValues, textOf, type World } from "./command.ts";
import { kubeFlags, logFlags, toleratedFlags } from "./flags.ts";
import { connectOptions, namespaceOf } from "./kube_command.ts";

/** What `server` was told, parsed. */
export interface ServerOptions {
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly namespace: string;
  readonly node: string;
  /** Of the pod that the agent runs in, if it does: $POD_NAME, else $HOSTNAME. */
  readonly podName?: string;
  readonly connection: ConnectOptions;
  readonly metricsAddress: ListenAddress;
  readonly resourceTimeoutMs: number;
  readonly progressIntervalMs: number;
  readonly graceMs: number;
  /** The folder with a folder for each pod of the node. */
  readonly hostPods: string;
  /** Absent: search PATH. */
  readonly kopia?: string;
  /** Absent: search PATH. */
  readonly restic?: string;
  /** The ConfigMap of the node agent's configuration; absent: the defaults. */
  readonly nodeAgentConfigMap?: string;
  /** It was named by the flag's other spelling, --node-agent-config. */
  readonly hasMisspeltConfigMap: boolean;
  /** A configuration that cannot be used ends the start. */
  readonly strictConfig: boolean;
  /** Also the metrics of the original whose series grow with each backup. */
  readonly legacyMetrics: boolean;
  /** Flags that were given and do nothing yet, for a warning each. */
  readonly unused: readonly string[];
}

export interface ListenAddress {
  /** "" is every address. */
  readonly hostname: string;
  readonly port: number;
}

const later = "; read from a later release on, accepted and ignored now";

export const serverFlags: readonly Flag[] = [
  ...kubeFlags,
  ...logFlags,
  {
    name: "node-name",
    value: "name",
    help: "the node this agent is for; else $NODE_NAME",
  },
  {
    name: "metrics-address",
    value: "address",
    help: "where to serve /metrics, as host:port or :port",
    default: ":8085",
  },
  {
    name: "legacy-metrics",
    help: "also the original's latency metrics, whose series grow with each backup",
  },
  {
    name: "resource-timeout",
    value: "duration",
    help: "longest wait for a backup repository to be ready",
    default: "10m",
  },
  {
    name: "grace",
    value: "duration",
    help:
      "how long running movements may go on after SIGTERM; keep it 10s below the pod's grace period",
    default: "20s",
  },
  {
    name: "progress-interval",
    value: "duration",
    help: "shortest time between two writes of an object's progress",
    default: "10s",
  },
  {
    name: "host-pods",
    value: "folder",
    help: "the kubelet's folder of pods as the agent sees it",
    default: "/host_pods",
  },
  { name: "kopia", value: "file", help: "the kopia program; else the first one in $PATH" },
  { name: "restic", value: "file", help: "the restic program; else the first one in $PATH" },
  {
    name: "data-mover-prepare-timeout",
    value: "duration",
    help: `longest time a data movement may be prepared${later}`,
    default: "30m",
  },
  {
    name: "node-agent-configmap",
    value: "name",
    help: "ConfigMap of the node agent, in Velero's namespace; read once, at the start",
  },
  { name: "node-agent-config", value: "name", help: "", hidden: true },
  {
    name: "strict-config",
    help: "do not start with a ConfigMap that cannot be used; else the defaults are taken",
  },
  {
    name: "backup-repository-configmap",
    value: "name",
    help: `ConfigMap of the repositories${later}`,
  },
  ...toleratedFlags,
];

/** Throws `UsageError` for a value that does not parse, `ConfigError` for what the pod must set. */
export async function serverOptions(flags: FlagValues, world: World): Promise<ServerOptions> {
  const node = textOf(flags, "node-name") || world.env("NODE_NAME") || "";
  duration(flags, "data-mover-prepare-timeout");
  const options = {
    logLevel: textOf(flags, "log-level") as LogLevel, // one of the flag's choices
    logFormat: textOf(flags, "log-format") as LogFormat,
    namespace: await namespaceOf(flags, world),
    node,
    connection: connectOptions(flags, world),
    metricsAddress: listenAddress(textOf(flags, "metrics-address")),
    resourceTimeoutMs: duration(flags, "resource-timeout"),
    progressIntervalMs: duration(flags, "progress-interval"),
    graceMs: duration(flags, "grace"),
    hostPods: textOf(flags, "host-pods"),
    hasMisspeltConfigMap: textOf(flags, "node-agent-config") !== "",
    strictConfig: flags["strict-config"] !== undefined,
    legacyMetrics: flags["legacy-metrics"] !== undefined,
    unused: ["backup-repository-configmap"].filter((name) => textOf(flags, name) !== ""),
  };
  if (node === "") {
    throw new ConfigError(
      "The node's name is not known: set NODE_NAME in the pod (fieldRef spec.nodeName) or pass --node-name",
    );
  }
  const kopia = textOf(flags, "kopia");
  const podName = world.env("POD_NAME") || world.env("HOSTNAME");
  const restic = textOf(flags, "restic");
  const nodeAgentConfigMap = textOf(flags, "node-agent-configmap") ||
    textOf(flags, "node-agent-config");
  return {
    ...options,
    ...(podName && { podName }),
    ...(kopia !== "" && { kopia }),
    ...(restic !== "" && { restic }),
    ...(nodeAgentConfigMap !== "" && { nodeAgentConfigMap }),
  };
}

/** `host:port`, `[v6]:port` or `:port`, which is every address. */
export function listenAddress(text: string): ListenAddress {
  const [, host = "", digits = ""] = text.match(/^(.*):(\d{1,5})$/) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535) {
    throw new UsageError(
      `--metrics-address "${text}" is not an address; write host:port or :port, for example :8085`,
    );
  }
  return { hostname: host.replace(/^\[|\]$/g, ""), port };
}

/** 20 days: a timer of 2^31 ms or more would end at once. */
const longestMs = 20 * 86_400_000;

function duration(flags: FlagValues, name: string): number {
  try {
    const ms = parseDuration(textOf(flags, name));
    if (ms >= 0) return Math.min(ms, longestMs);
  } catch (error) {
    throw new UsageError(`--${name}: ${messageOf(error)}`);
  }
  throw new UsageError(`--${name}: a duration below zero makes no sense here`);
}
