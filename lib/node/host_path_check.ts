import { sleep } from "../base/abort.ts";
import { messageOf } from "../base/error.ts";
import { type Node, nodes, type Pod, pods } from "../api/core.ts";
import { annotations } from "../api/names.ts";
import type { KubeClient } from "../kube/client.ts";
import { listPages } from "../kube/pages.ts";
import { knownPodsFolders } from "./distribution.ts";
import type { ExpectedPod, FolderFacts, HostPathFacts } from "./host_path.ts";
import { type HostPathReport, judgeHostPath, mayPass } from "./host_path.ts";

export interface HostPathQuestion {
  /** The folder that holds a folder for each pod of the node. */
  readonly path: string;
  readonly node: string;
  readonly client: Pick<KubeClient, "get" | "list">;
}

/**
 * Compares the folder with the node's running pods. Where the folder cannot be read no pod is asked
 * for. Throws `ApiError` when the pods cannot be listed.
 */
export async function checkHostPath(
  question: HostPathQuestion,
  signal: AbortSignal,
): Promise<HostPathReport> {
  const { path, node } = question;
  const folder = await readFolder(path);
  const expected = folder.state === "read" ? await runningPods(question, signal) : [];
  const facts: HostPathFacts = { path, node, folder, pods: expected };
  const report = judgeHostPath(facts);
  if (report.verdict === "ok") return report;
  const nodeObject = await nodeOf(question, signal);
  const elsewhere = await otherPodsFolders(path);
  return judgeHostPath({ ...facts, elsewhere, ...(nodeObject && { nodeObject }) });
}

const rechecks = 4;
const recheckMs = 500;

/** `checkHostPath`, looked at again a few times while only pods that begin or end are missing. */
export async function settledHostPath(
  question: HostPathQuestion,
  signal: AbortSignal,
): Promise<HostPathReport> {
  let report = await checkHostPath(question, signal);
  for (let at = 0; at < rechecks && mayPass(report, Date.now()); at++) {
    await sleep(recheckMs, signal);
    report = await checkHostPath(question, signal);
  }
  return report;
}

async function readFolder(path: string): Promise<FolderFacts> {
  const folders: string[] = [];
  let others = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) folders.push(name);
      else others++;
    }
    return { state: "read", folders, others };
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { state: "absent" }
      : { state: "unreadable", cause: messageOf(error) };
  }
}

async function runningPods(
  { node, client }: HostPathQuestion,
  signal: AbortSignal,
): Promise<ExpectedPod[]> {
  const fieldSelector = `spec.nodeName=${node},status.phase=Running`;
  const expected: ExpectedPod[] = [];
  for await (const { items } of listPages({ client, what: pods }, { fieldSelector }, signal)) {
    for (const pod of items) expected.push(expectedPod(pod));
  }
  return expected;
}

function expectedPod({ metadata, status }: Pod): ExpectedPod {
  const { namespace = "", name, uid = "", deletionTimestamp } = metadata;
  const mirror = metadata.annotations?.[annotations.mirrorPod];
  const startedAt = status?.startTime ?? metadata.creationTimestamp;
  return {
    ...{ namespace, name, uid },
    mirror: mirror !== undefined,
    folder: mirror ?? uid,
    ...(startedAt !== undefined && { startedAt }),
    ending: deletionTimestamp !== undefined,
  };
}

/** Only for a hint: without it there is one less. */
async function nodeOf(
  { node, client }: HostPathQuestion,
  signal: AbortSignal,
): Promise<Node | undefined> {
  try {
    return await client.get(nodes, { name: node }, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

async function otherPodsFolders(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of knownPodsFolders) {
    if (folder === path) continue;
    if (await Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false)) {
      found.push(folder);
    }
  }
  return found;
}
