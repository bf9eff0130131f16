/** Flags that several commands share, and how their texts become values. */
import type { Flag } from "./command.ts";
import { type LogFormat, logLevels } from "../lib/base/log.ts";

export const logFormats = ["text", "json"] as const satisfies readonly LogFormat[];

export const logFlags: readonly Flag[] = [
  {
    name: "log-level",
    value: "level",
    help: "shows this level and graver ones",
    default: "info",
    choices: logLevels,
  },
  {
    name: "log-format",
    value: "format",
    help: "form of a log line",
    default: "text",
    choices: logFormats,
  },
];

export const kubeFlags: readonly Flag[] = [
  {
    name: "kubeconfig",
    value: "file",
    help:
      "kubeconfig to use; else $KUBECONFIG, else the pod's service account, else ~/.kube/config",
  },
  { name: "kubecontext", value: "name", help: "context of the kubeconfig; else its current one" },
  {
    name: "namespace",
    short: "n",
    value: "name",
    help:
      "Velero's namespace; else ~/.config/velero/config.json, else $VELERO_NAMESPACE, else velero",
  },
];

/** Flags that the original accepts and that mean nothing here. */
export const toleratedFlags: readonly Flag[] = [
  ...["add-dir-header", "alsologtostderr", "colorized", "logtostderr", "one-output", "skip-headers"]
    .concat("skip-log-headers")
    .map((name): Flag => ({ name, help: "", hidden: true })),
  ...["features", "log-backtrace-at", "log-dir", "log-file", "log-file-max-size", "stderrthreshold"]
    .concat("vmodule")
    .map((name): Flag => ({ name, value: "value", help: "", hidden: true })),
  { name: "v", short: "v", value: "level", help: "", hidden: true },
];
