import { MovementError } from "../base/error.ts";
import type { DataPath } from "./data_path.ts";
import { type LinksAside, setLinksAside } from "./links_aside.ts";
import { isSnapshotID, type LastEvent, openResticMove, type ResticEnd } from "./restic_move.ts";
import type { ResticSession } from "./restic_session.ts";

export interface ResticRestoreOrder {
  /** 8 to 64 hex digits. */
  readonly snapshotID: string;
  /** The folder to write into, as this process sees it; it must exist. */
  readonly targetPath: string;
  /** Leaves out blocks of zeros, so that holes stay holes. */
  readonly sparse?: boolean;
}

/**
 * A restore of a snapshot into a folder by `restic restore`: what the snapshot has replaces what is
 * there, other content stays. A restic older than 0.17 would follow links as kopia does. The ID must have passed `requireResticID`.
 */
export function openResticRestore(session: ResticSession, order: ResticRestoreOrder): DataPath {
  const { snapshotID, targetPath, sparse } = order;
  const doing = `restore snapshot "${snapshotID}" to "${targetPath}"`;
  let links: LinksAside | undefined;
  return openResticMove(session, {
    doing,
    async prepare(signal) {
      links = await setLinksAside(targetPath, signal);
    },
    settle: async () => await links?.putBack(),
    command: {
      folder: targetPath,
      args: ["restore", snapshotID, "--target=.", ...(sparse ? ["--sparse"] : [])],
    },
    judge: (end) => judge(end, { session, order, doing }),
  });
}

/**
 * Throws `MovementError` for what cannot be a snapshot's ID: restic would take "latest" and paths as
 * well. To be asked before there is a session, which nobody would dispose.
 */
export function requireResticID(snapshotID: string): void {
  if (isSnapshotID(snapshotID)) return;
  throw new MovementError(
    "SnapshotMissing",
    snapshotID === ""
      ? "The object does not say which snapshot; see how its backup ended, then restore another"
      : `The snapshot ID ${JSON.stringify(snapshotID)} is not one of restic's (8 to 64 hex ` +
        "digits); restore a backup that was made by restic",
  );
}

interface Restoring {
  readonly session: ResticSession;
  readonly order: ResticRestoreOrder;
  readonly doing: string;
}

function judge({ exit, summary }: ResticEnd, { session, order, doing }: Restoring): LastEvent {
  if (exit.code === 0) {
    // A restic older than 0.17 gives no summary.
    const sizeBytes = summary?.sizeBytes ?? 0;
    return { type: "completed", result: { snapshotID: order.snapshotID, sizeBytes } };
  }
  return { type: "failed", ...session.explain(exit, doing) };
}
