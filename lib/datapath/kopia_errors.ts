import type { Reason } from "../base/reason.ts";
import type { ChildExit } from "./child_process.ts";
import { parseManifest, type SnapshotManifest } from "./snapshot_manifest.ts";
import { redact, storeRule } from "./store_errors.ts";

export interface KopiaFailure {
  readonly reason: Reason;
  /** A sentence for the object's status; without secrets. */
  readonly message: string;
  /** A complete snapshot that was saved although some of the volume could not be read. */
  readonly snapshotID?: string;
}

export interface FailureFacts {
  /** As it follows "Cannot ": `back up "/host_pods/…"`. */
  readonly doing: string;
  /** Our own folder on the node: what fails there is not the store's fault. */
  readonly folder: string;
  /** Values that no text may show. */
  readonly secrets: readonly string[];
}

/** Texts that only the side of the repository produces. */
const storeSide =
  /PutBlob|GetBlob|ListBlobs|DeleteBlob|write error: |pack data blob|writ(?:e|ing) pack|flush error|open repository|open storage|connecting to repository|connect to storage|storage config|index blob|format (?:blob|manager)|unable to write content/;

/** The folder itself, not a file in it; the second form when it goes while it is read. */
const rootError =
  /unable to get local filesystem entry|^upload error: .*(no such file|permission denied|input\/output error|file handle)/;

/** Kopia does without a cache that cannot be written. */
const cacheWarning = /^unable to add \S+ to \w+: /;

const entryError = /Error when processing "(.*)": (.*)/;

/**
 * Whether a line of a running `snapshot create` says that the store is lost or full: kopia would try
 * each further file in vain, minutes each.
 */
export function isStoreLost(line: string): boolean {
  return isStoreSide(line) && /despite \d+ retries|no space left on device/.test(line);
}

/** What an unsuccessful end of kopia means. */
export function explainFailure(exit: ChildExit, facts: FailureFacts): KopiaFailure {
  const { reason, message, ...saved } = explain(exit, facts);
  return { reason, message: redact(message, facts.secrets), ...saved };
}

const moreMemory = "raise the agent's memory limit, or set ParallelFilesUpload to a smaller number";

function explain(exit: ChildExit, facts: FailureFacts): KopiaFailure {
  const failed = (reason: Reason, cause: string, advice?: string): KopiaFailure => ({
    reason,
    message: `Cannot ${facts.doing}: ${cause}${advice === undefined ? "" : `; ${advice}`}`,
  });
  if (exit.outOfMemory) {
    return failed(
      "KopiaOutOfMemory",
      "the kernel killed kopia for want of memory",
      moreMemory,
    );
  }
  if (exit.signal !== undefined) {
    return failed("KopiaKilled", `kopia was ended from outside by ${exit.signal}`);
  }
  if (exit.code === 127 && exit.lines.some((line) => line.startsWith("setpriv: "))) {
    return failed("KopiaMissing", lastLine(exit), "check the kopia program in the agent's image");
  }
  if (exit.stdout === undefined) {
    return failed("KopiaFailed", "kopia printed more than 16 MiB on its standard output");
  }
  return crash(exit, failed) ?? storeFailure(exit, facts.folder, failed) ??
    volumeFailure(exit, facts, failed) ?? failed("KopiaFailed", lastLine(exit));
}

/** A Go program that crashes ends with code 2 and says why in front of the traces and registers. */
function crash({ code, lines }: ChildExit, failed: Failed): KopiaFailure | undefined {
  if (code !== 2) return undefined;
  const line = lines.find((line) => /^(panic|fatal error|runtime|SIG[A-Z]+): /.test(line));
  if (line === undefined) return undefined;
  return /out of memory|cannot allocate memory/.test(line)
    ? failed("KopiaOutOfMemory", `kopia crashed: ${line}`, moreMemory)
    : failed("KopiaFailed", `kopia crashed: ${lastCause(line)}`, "back up again");
}

type Failed = (reason: Reason, cause: string, advice?: string) => KopiaFailure;

function isStoreSide(line: string): boolean {
  return storeSide.test(line) && !cacheWarning.test(line);
}

function storeFailure(exit: ChildExit, folder: string, failed: Failed): KopiaFailure | undefined {
  const line = exit.lines.findLast(isStoreSide);
  const rule = line === undefined ? undefined : storeRule(line);
  if (line === undefined || rule === undefined) return undefined;
  const cause = lastCause(line);
  if (rule.reason === "RepositoryFull" && line.includes(`${folder}/`)) {
    return failed("NodeDiskFull", cause, `free space on the node under "${folder}"`);
  }
  return failed(rule.reason, cause, rule.advice);
}

function volumeFailure(
  exit: ChildExit,
  { doing }: FailureFacts,
  failed: Failed,
): KopiaFailure | undefined {
  const root = exit.lines.find((line) => rootError.test(line));
  if (root !== undefined) {
    const gone = /no such file or directory/.test(root);
    return gone
      ? failed("HostPathMissing", lastCause(root), "the volume's folder is not there any more")
      : failed("VolumeReadError", lastCause(root));
  }
  const complete = exit.lines.at(-1)?.startsWith("Found ") ?? false;
  const manifest = parseManifest(exit.stdout ?? "");
  const first = firstUnreadable(exit, manifest);
  if (first === undefined) return undefined;
  const others = Math.max((manifest?.failedCount ?? countEntryErrors(exit)) - 1, 0);
  const more = others === 0 ? "" : ` (and ${others} other${others === 1 ? "" : "s"})`;
  const saved = complete && manifest !== undefined && manifest.incomplete === undefined;
  const rest = saved ? `; the rest was saved as snapshot ${manifest.id}` : "";
  return {
    reason: "VolumeReadError",
    message: `Cannot ${doing}: "${first.path}" cannot be read: ${first.error}${more}${rest}`,
    ...(saved ? { snapshotID: manifest.id } : {}),
  };
}

function firstUnreadable(exit: ChildExit, manifest: SnapshotManifest | undefined) {
  const listed = manifest?.failed[0];
  if (listed !== undefined) return listed;
  for (const line of exit.lines) {
    const [, path, error] = entryError.exec(line) ?? [];
    if (path !== undefined && error !== undefined) return { path, error };
  }
}

function countEntryErrors({ lines }: ChildExit): number {
  return lines.filter((line) => entryError.test(line)).length;
}

const longestCause = 600;

/** Kopia repeats whole chains of causes; the end says what happened. */
function lastCause(line: string): string {
  const text = line.replace(/^\s*!\s*/, "").trim();
  return text.length <= longestCause ? text : `…${text.slice(-longestCause)}`;
}

function lastLine({ lines, code }: ChildExit): string {
  const last = lines.findLast((line) => /\w/.test(line));
  return last === undefined
    ? `kopia ended with exit code ${code} and said nothing`
    : lastCause(last);
}
