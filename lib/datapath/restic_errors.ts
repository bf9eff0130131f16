import type { Reason } from "../base/reason.ts";
import type { ChildExit } from "./child_process.ts";
import { parseMessage } from "./restic_messages.ts";
import { redact, storeRule } from "./store_errors.ts";

export interface ResticFailure {
  readonly reason: Reason;
  /** A sentence for the object's status; without secrets. */
  readonly message: string;
}

export interface ResticFacts {
  /** As it follows "Cannot ". */
  readonly doing: string;
  /** Our own folder on the node: what fails there is not the store's fault. */
  readonly folder: string;
  /** Values that no text may show. */
  readonly secrets: readonly string[];
}

interface Rule {
  readonly pattern: RegExp;
  readonly reason: Reason;
  readonly advice: string;
}

/** Restic's exit codes since 0.17, and what older versions say. */
const rules: readonly (Rule & { readonly code: number })[] = [
  {
    code: 10,
    pattern: /repository does not exist|Is there a repository at the following location/,
    reason: "RepositoryNotInitialized",
    advice:
      "nothing is at the place that the BackupRepository names; check the bucket, the prefix " +
      "and the credentials, and that the Velero server could make the repository",
  },
  {
    code: 11,
    pattern: /already locked/,
    reason: "RepositoryLocked",
    advice:
      "somebody else works on it alone, such as the server's maintenance, or was killed less " +
      "than half an hour ago; try again later",
  },
  {
    code: 12,
    pattern: /wrong password or no key found/,
    reason: "RepositoryPassword",
    advice: 'the password in Secret "velero-repo-credentials" is not the one that the repository ' +
      "was made with; put the right one back",
  },
];

const snapshotRules: readonly Rule[] = [
  {
    pattern: /no matching ID found|no snapshot found|failed to find snapshot/,
    reason: "SnapshotMissing",
    advice: "the repository has no such snapshot, its backup was perhaps deleted; restore another",
  },
  {
    pattern:
      /ciphertext verification failed|not found in repository|invalid data returned|pack .* corrupt/,
    reason: "SnapshotDamaged",
    advice: "the repository has lost data of this snapshot; restore another backup",
  },
];

const moreMemory = "raise the agent's memory limit";

/** Whether restic found the repository locked by another one. */
export function isLocked(exit: ChildExit): boolean {
  return rule(exit)?.reason === "RepositoryLocked";
}

/** What an unsuccessful end of restic means. */
export function explainRestic(exit: ChildExit, facts: ResticFacts): ResticFailure {
  const { reason, message } = find(exit, facts);
  return { reason, message: redact(`Cannot ${facts.doing}: ${message}`, facts.secrets) };
}

function find(exit: ChildExit, { folder }: ResticFacts): ResticFailure {
  const { code, signal, outOfMemory, lines } = exit;
  if (outOfMemory) {
    const message = `the kernel killed restic for want of memory; ${moreMemory}`;
    return { reason: "ResticOutOfMemory", message };
  }
  if (signal !== undefined || code === 130) {
    const by = signal ?? "a signal";
    return { reason: "ResticKilled", message: `restic was ended from outside by ${by}` };
  }
  if (code === 127 && lines.some((line) => line.startsWith("setpriv: "))) {
    const message = `${lastText(exit)}; check the restic program in the agent's image`;
    return { reason: "ResticMissing", message };
  }
  if (code === 2 && lines.some((line) => /^(panic|fatal error|runtime): /.test(line))) {
    return crash(lines);
  }
  const text = lastText(exit);
  const known = rule(exit) ?? snapshotRules.find(({ pattern }) => pattern.test(text));
  if (known !== undefined) {
    return { reason: known.reason, message: `${text}; ${known.advice}` };
  }
  return itemFailure(exit) ?? storeFailure(exit, { text, folder });
}

function rule({ code, lines }: ChildExit) {
  const text = lines.join("\n");
  return rules.find((rule) => rule.code === code) ??
    (code === 1 ? rules.find(({ pattern }) => pattern.test(text)) : undefined);
}

function crash(lines: readonly string[]): ResticFailure {
  const line = lines.find((line) => /^(panic|fatal error|runtime): /.test(line)) ?? "";
  return /out of memory|cannot allocate memory/.test(line)
    ? { reason: "ResticOutOfMemory", message: `restic crashed: ${line}; ${moreMemory}` }
    : { reason: "ResticFailed", message: `restic crashed: ${line}` };
}

/** A file of the volume that could not be read or written. */
function itemFailure({ lines }: ChildExit): ResticFailure | undefined {
  const errors = lines.map(parseMessage).filter((message) => message?.type === "error");
  const [first] = errors;
  if (first === undefined) return undefined;
  const others = errors.length - 1;
  const more = others === 0 ? "" : ` (and ${others} other${others === 1 ? "" : "s"})`;
  if (!first.inRestore) {
    const message = `"${first.item}" cannot be read: ${first.message}${more}`;
    return { reason: "VolumeReadError", message };
  }
  const full = /no space left on device|disk quota exceeded/.test(first.message);
  const message = `"${first.item}": ${first.message}${more}`;
  return full
    ? { reason: "VolumeFull", message: `${message}; enlarge the volume and restore again` }
    : { reason: "VolumeWriteError", message: `${message}; check the volume and what it holds` };
}

function storeFailure(
  exit: ChildExit,
  { text, folder }: { readonly text: string; readonly folder: string },
): ResticFailure {
  const found = storeRule(text);
  if (found === undefined || exit.code === 0) return { reason: "ResticFailed", message: text };
  if (found.reason === "RepositoryFull" && text.includes(`${folder}/`)) {
    return { reason: "NodeDiskFull", message: `${text}; free space on the node under "${folder}"` };
  }
  return { reason: found.reason, message: `${text}; ${found.advice}` };
}

const longestText = 600;

function lastText({ lines, code }: ChildExit): string {
  const texts = lines.map((line) => {
    const message = parseMessage(line);
    if (message === undefined) return line;
    return message.type === "exit" ? message.message : "";
  });
  const last = texts.findLast((text) => /\w/.test(text))?.replace(/^Fatal: /, "").trim();
  if (last === undefined) return `restic ended with exit code ${code} and said nothing`;
  return last.length <= longestText ? last : `…${last.slice(-longestText)}`;
}
