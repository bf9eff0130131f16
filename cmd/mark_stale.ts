import { parseDuration } from "../lib/base/duration.ts";
import { messageOf, UsageError } from "../lib/base/error.ts";
import { type StaleKind, staleKinds } from "../lib/movement/stale_kinds.ts";
import { type MarkingOptions, markStale } from "../lib/movement/stale_marking.ts";
import { searchStale, type StaleQuestion } from "../lib/movement/stale_search.ts";
import { type Command, type FlagValues, textOf, type World } from "./command.ts";
import { kubeFlags } from "./flags.ts";
import { type Cluster, nodeOf, openCluster } from "./kube_command.ts";
import { staleReport, staleText } from "./mark_stale_report.ts";
import { outputFlag, writeResult } from "./output.ts";

export const command: Command = {
  name: "mark-stale",
  summary: "end objects that nobody will ever finish, or show them",
  description:
    "Looks at the unfinished PodVolumeBackups and PodVolumeRestores of a node or of all, and makes " +
    "those Failed that nobody will finish: whose node or pod is gone, or whose agent does not run " +
    "or was started after it took them. An agent is known by its pod in Velero's namespace. What " +
    "a living agent has in hand is left alone, and so is what is in doubt. Objects whose Backup " +
    "or Restore has ended are shown. Works without an agent; a second run finds nothing.",
  flags: [
    ...kubeFlags,
    outputFlag,
    {
      name: "node",
      value: "name",
      help: "objects of this node, which may be gone; else $NODE_NAME",
    },
    { name: "all-nodes", help: "objects of all nodes, and those of none" },
    {
      name: "kind",
      value: "kinds",
      help: "only these, separated by commas: podvolumebackups (pvb), podvolumerestores (pvr)",
    },
    { name: "dry-run", help: "show what would be done, and change nothing" },
    {
      name: "older-than",
      value: "duration",
      help: "leave alone what was taken, or made, less than this ago",
      default: "0s",
    },
    {
      name: "cancel",
      help: "ask what belongs to an ended Backup or Restore to cancel, where its CRD knows that",
    },
  ],
  exitCodes: [
    [0, "nothing is stale, or all that was is marked"],
    [1, "failed: the cluster could not be read"],
    [2, "wrong flags"],
    [3, "some could not be marked"],
    [4, "with --dry-run: something is stale"],
    [130, "interrupted: what was marked until then stays marked"],
  ],
  examples: [
    "longshore mark-stale --all-nodes --dry-run",
    "longshore mark-stale --node worker-1 --older-than 1h",
    "longshore mark-stale --all-nodes --kind pvr -o json",
  ],
  async run(flags, world) {
    const asked = askedFor(flags, world);
    await using cluster = await openCluster(command, flags, world);
    const answer = await searchStale(questionOf(asked, cluster), world.signal);
    const options = markingOptions(flags, cluster);
    const marked = await markStale(answer.candidates, options, world.signal);
    const report = staleReport(marked, answer.absent);
    writeResult(report, staleText, { flags, world });
    if (report.summary.errors > 0) return 3;
    return options.dryRun === "dry-run" && report.summary.planned > 0 ? 4 : 0;
  },
};

type Asked = Pick<StaleQuestion, "node" | "kinds" | "olderThanMs">;

function askedFor(flags: FlagValues, world: World): Asked {
  const isAll = flags["all-nodes"] !== undefined;
  if (isAll && flags.node !== undefined) {
    throw new UsageError("--node and --all-nodes do not go together");
  }
  return {
    node: isAll ? undefined : nodeOf(flags, world, "--all-nodes"),
    kinds: kindsOf(textOf(flags, "kind")),
    olderThanMs: olderThan(textOf(flags, "older-than")),
  };
}

function questionOf(asked: Asked, { client, namespace }: Cluster): StaleQuestion {
  return { ...asked, client, namespace, nowMs: Date.now() };
}

function markingOptions(flags: FlagValues, { client }: Cluster): MarkingOptions {
  return {
    client,
    dryRun: flags["dry-run"] === undefined ? "write" : "dry-run",
    cancel: flags.cancel === undefined ? "report-only" : "cancel",
    now: () => new Date(),
  };
}

function kindsOf(text: string): readonly StaleKind[] {
  const words = text.toLowerCase().split(",").map((word) => word.trim()).filter((word) =>
    word !== ""
  );
  if (words.length === 0) return staleKinds;
  return words.map((word) => {
    const found = staleKinds.find(({ short, resource: { kind, plural } }) =>
      [short, plural, kind.toLowerCase()].includes(word)
    );
    if (found !== undefined) return found;
    const known = staleKinds.map(({ short, resource }) => `${resource.plural} (${short})`);
    throw new UsageError(`--kind: "${word}" is not one of ${known.join(", ")}`);
  });
}

function olderThan(text: string): number {
  try {
    const ms = parseDuration(text);
    if (ms >= 0) return ms;
  } catch (error) {
    throw new UsageError(`--older-than: ${messageOf(error)}`);
  }
  throw new UsageError("--older-than: a duration below zero makes no sense here");
}
