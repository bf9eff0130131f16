import type { Reason } from "../base/reason.ts";
import type { ChildExit } from "./child_process.ts";
import { restoreText } from "./kopia_restore_progress.ts";
import type { RepositorySession } from "./repository_session.ts";

export interface RestoreFacts {
  readonly session: RepositorySession;
  readonly snapshotID: string;
  readonly targetPath: string;
}

export interface RestoreFailure {
  readonly reason: Reason;
  /** A sentence for the object's status; without secrets. */
  readonly message: string;
}

interface Rule {
  readonly matches: (line: string, facts: RestoreFacts) => boolean;
  readonly reason: Reason;
  readonly advice: string;
}

const inVolume = (pattern: RegExp): Rule["matches"] => (line, { targetPath }) =>
  line.includes(targetPath) && pattern.test(line);

/** What a failure of `snapshot restore` means beside those of any command; the first counts. */
const rules: readonly Rule[] = [
  {
    matches: (line, { snapshotID }) =>
      line.includes(`unable to open object: ${snapshotID}: `) ||
      /no snapshots? (?:contain|match)|manifest not found/.test(line),
    reason: "SnapshotMissing",
    advice: "the repository has no such snapshot, its backup was perhaps deleted; restore another",
  },
  {
    matches: (line) =>
      /BLOB not found|content \S+ not found|object not found|checksum|corrupt|decrypt/i.test(line),
    reason: "SnapshotDamaged",
    advice: "the repository has lost data of this snapshot; restore another backup",
  },
  {
    matches: inVolume(/no space left on device|disk quota exceeded/),
    reason: "VolumeFull",
    advice: "the volume is too small for the snapshot; enlarge it and restore again",
  },
  {
    matches: inVolume(/no such file or directory|stale file handle/),
    reason: "HostPathMissing",
    advice: "the volume's folder is not there any more; restore again",
  },
  {
    matches: inVolume(/./),
    reason: "VolumeWriteError",
    advice: "check the volume and what it holds already",
  },
];

/** What an unsuccessful end of `snapshot restore` means; `doing` follows "Cannot ". */
export function explainRestore(
  exit: ChildExit,
  doing: string,
  facts: RestoreFacts,
): RestoreFailure {
  const lines = exit.lines.map(restoreText).filter((line) => line.trim() !== "");
  const known = facts.session.explain({ ...exit, lines }, doing);
  const message = known.message.replace("ParallelFilesUpload", "ParallelFilesDownload")
    .replace(/; back up again$/, "; restore again");
  if (known.reason !== "KopiaFailed" || exit.code !== 1) return { reason: known.reason, message };
  const line = lines.at(-1) ?? "";
  const rule = rules.find(({ matches }) => matches(line, facts));
  if (rule === undefined) return { reason: "KopiaFailed", message };
  return { reason: rule.reason, message: `${message}; ${rule.advice}` };
}
