import type { DataPath } from "./data_path.ts";
import { parseMessage } from "./restic_messages.ts";
import { type LastEvent, openResticMove, type ResticEnd } from "./restic_move.ts";
import type { ResticSession } from "./restic_session.ts";

export interface ResticBackupOrder {
  /** The folder to read, as this process sees it. */
  readonly volumePath: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The snapshot to compare with; the last one of another folder is of no use to restic. */
  readonly parent?: string;
}

/**
 * A backup of a folder by `restic backup`, as Velero calls it: relative to the folder, for the host
 * "velero". An empty folder gives no snapshot: completed, with the ID "". What can be read is saved
 * although some files cannot be; the failure then names the snapshot.
 */
export function openResticBackup(session: ResticSession, order: ResticBackupOrder): DataPath {
  const doing = `back up "${order.volumePath}"`;
  const commandWith = (options: readonly string[]) => ({
    folder: order.volumePath,
    args: [
      ...["backup", ".", "--host=velero"],
      ...Object.entries(order.tags).map(([key, value]) => `--tag=${key}=${value}`),
      ...options,
    ],
  });
  return openResticMove(session, {
    doing,
    command: commandWith(order.parent === undefined ? [] : [`--parent=${order.parent}`]),
    judge: (end) => judge(end, session, doing),
    // The parent was deleted: all is read.
    instead: (last) =>
      last.type === "failed" && last.reason === "SnapshotMissing" ? commandWith([]) : undefined,
    unwanted: ({ summary }) => summary?.snapshotID,
  });
}

function judge({ exit, summary }: ResticEnd, session: ResticSession, doing: string): LastEvent {
  const snapshotID = summary?.snapshotID;
  if (exit.code === 0 && summary !== undefined && snapshotID !== undefined) {
    return { type: "completed", result: { snapshotID, sizeBytes: summary.sizeBytes } };
  }
  if (isEmpty(exit)) {
    return { type: "completed", result: { snapshotID: "", sizeBytes: 0 } };
  }
  const { reason, message } = session.explain(exit, doing);
  if (exit.code !== 3 || snapshotID === undefined) return { type: "failed", reason, message };
  const rest = `; the rest was saved as snapshot ${snapshotID}`;
  return { type: "failed", reason, message: `${message}${rest}`, snapshotID };
}

/** Also said where nothing of a volume could be read; that is no empty one. */
function isEmpty({ lines }: ResticEnd["exit"]): boolean {
  return lines.some((line) => line.includes("snapshot is empty")) &&
    !lines.some((line) => parseMessage(line)?.type === "error");
}
