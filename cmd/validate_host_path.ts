import { checkHostPath } from "../lib/node/host_path_check.ts";
import type { HostPathReport, HostPathVerdict } from "../lib/node/host_path.ts";
import { type Command, textOf } from "./command.ts";
import { kubeFlags } from "./flags.ts";
import { nodeOf, openCluster } from "./kube_command.ts";
import { outputFlag, writeResult } from "./output.ts";
import { formatTable } from "./table.ts";

const codes = {
  "ok": 0,
  "absent": 10,
  "unreadable": 11,
  "not-a-pods-root": 12,
  "uid-mismatch": 13,
} as const satisfies Readonly<Record<HostPathVerdict, number>>;

export const command: Command = {
  name: "validate-host-path",
  summary: "compare the folder of the node's pods with the pods that run there",
  description:
    "Looks whether the folder of the node's pods, as the agent sees it, has the folder of each " +
    "running pod, and says what to do when it has not. Run it where the agent runs, for example " +
    "in its pod. The agent does the same check when it starts.",
  flags: [
    ...kubeFlags,
    outputFlag,
    {
      name: "path",
      value: "folder",
      help: "the kubelet's folder of pods as it is seen from here",
      default: "/host_pods",
    },
    { name: "node", value: "name", help: "the node of this machine; else $NODE_NAME" },
  ],
  exitCodes: [
    [codes.ok, "ok: every running pod of the node has its folder"],
    [1, "failed: the pods could not be listed"],
    [2, "wrong flags"],
    [codes.absent, "absent: the folder does not exist; backups of pod volumes are off"],
    [codes.unreadable, "unreadable: the folder exists and cannot be read"],
    [codes["not-a-pods-root"], "not-a-pods-root: it is another folder than that of the pods"],
    [codes["uid-mismatch"], "uid-mismatch: it is a folder of pods, but some pods are missing"],
    [130, "interrupted"],
  ],
  examples: [
    "kubectl -n velero exec ds/node-agent -- longshore validate-host-path",
    "longshore validate-host-path --path /var/lib/kubelet/pods --node worker-1 -o json",
  ],
  async run(flags, world) {
    const node = nodeOf(flags, world);
    await using cluster = await openCluster(command, flags, world);
    const question = { path: textOf(flags, "path"), node, client: cluster.client };
    const report = await checkHostPath(question, world.signal);
    writeResult(report, reportText, { flags, world });
    return codes[report.verdict];
  },
};

/** The report for people. */
export function reportText(report: HostPathReport): string {
  const { path, node, verdict, message, hint, entries, podsChecked, missing } = report;
  const facts = [
    `verdict       ${verdict}`,
    `path          ${path}`,
    `node          ${node}`,
    `folders       ${entries.length}`,
    `pods checked  ${podsChecked}`,
    `pods missing  ${missing.length}`,
  ];
  const rows = missing.map(({ namespace, name, uid, mirror, folder }) => [
    ...[namespace, name, uid, mirror ? "yes" : "no"],
    `${path.replace(/\/$/, "")}/${folder}`,
  ]);
  return [
    `${facts.join("\n")}\n`,
    `${sentence(message)}\n${hint === undefined ? "" : `${sentence(hint)}\n`}`,
    formatTable(["namespace", "pod", "uid", "mirror", "expected folder"], rows),
  ].filter((part) => part !== "").join("\n");
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
