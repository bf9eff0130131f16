import { UsageError } from "../lib/base/error.ts";
import { formatFinding, isFault } from "../lib/base/finding.ts";
import { type Command, type CommandWorld, type FlagValues, textOf } from "./command.ts";
import {
  type ConcurrencyQuestion,
  concurrencyReport,
  readConfigFile,
} from "./concurrency_report.ts";
import { explainText } from "./concurrency_text.ts";
import { kubeFlags } from "./flags.ts";
import { type Cluster, nodeOf, openCluster } from "./kube_command.ts";
import { outputFlag, outputOf, writeResult } from "./output.ts";
import { listenAddress } from "./server_options.ts";

export const command: Command = {
  name: "concurrency",
  summary: "how many movements a node runs at once, and why",
  description:
    "Tells how many movements a node runs at once by the node agent's configuration. With " +
    "--explain it tells every rule, what else the configuration comes to, its faults, and " +
    "whether the running agent uses it. Without --configmap or --config-file it takes the " +
    "ConfigMap that the DaemonSet node-agent names.",
  flags: [
    ...kubeFlags,
    outputFlag,
    { name: "explain", help: "tell every rule, setting and fault, not just the number" },
    { name: "node", value: "name", help: "the node that is asked about; else $NODE_NAME" },
    { name: "all-nodes", help: "the plan of the whole cluster, as a table" },
    { name: "configmap", value: "name", help: "the ConfigMap in Velero's namespace" },
    {
      name: "config-file",
      value: "file",
      help: "a configuration in a file, to try it out on the cluster",
    },
    {
      name: "metrics-address",
      value: "address",
      help: "where the agents serve /metrics: :port at their pods' addresses, or host:port of one",
      default: ":8085",
    },
  ],
  exitCodes: [
    [0, "told, and the configuration is in order"],
    [1, "failed: the cluster or the file could not be read"],
    [2, "wrong flags"],
    [4, "told, but the configuration has a fault or an agent runs with another one"],
    [130, "interrupted"],
  ],
  examples: [
    "longshore concurrency --explain --node worker-1",
    "longshore concurrency --all-nodes -o json",
    "longshore concurrency --explain --node worker-1 --config-file new.json",
  ],
  async run(flags, world) {
    const node = askedNode(flags, world);
    const agentAddress = listenAddress(textOf(flags, "metrics-address"));
    if (node === undefined && agentAddress.hostname !== "") {
      throw new UsageError("--metrics-address with a host is one agent's: pass --node with it");
    }
    const path = textOf(flags, "config-file");
    const configFile = path === "" ? undefined : await readConfigFile(path);
    await using cluster = await openCluster(command, flags, world);
    const report = await concurrencyReport(
      { ...questionOf(flags, cluster), node, agentAddress, ...(configFile && { configFile }) },
      world.signal,
    );
    const [only] = report.nodes;
    const isBrief = flags.explain === undefined && node !== undefined && only !== undefined;
    writeResult(report, isBrief ? () => `${only.number}\n` : explainText, { flags, world });
    if (isBrief && outputOf(flags) === "text") {
      for (const finding of report.findings.filter(isFault)) {
        world.err(`${finding.severity}: ${formatFinding(finding)}\n`);
      }
    }
    return report.fault ? 4 : 0;
  },
};

function askedNode(flags: FlagValues, world: CommandWorld): string | undefined {
  if (flags["all-nodes"] === undefined) return nodeOf(flags, world, "--all-nodes");
  if (flags.node === undefined) return undefined;
  throw new UsageError("--node and --all-nodes do not go together");
}

type Where = Pick<ConcurrencyQuestion, "client" | "namespace" | "configMap">;

function questionOf(flags: FlagValues, { client, namespace }: Cluster): Where {
  const configMap = textOf(flags, "configmap");
  return {
    client,
    namespace,
    ...(configMap !== "" && { configMap }),
  };
}
