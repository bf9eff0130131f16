import { snapshotNames } from "../api/names.ts";
import { MovementError } from "../base/error.ts";
import type { RepositorySession } from "./repository_session.ts";
import { parseManifests } from "./snapshot_manifest.ts";

/** Deletes a snapshot by kopia's manifest id; one that does not exist is no error. */
export async function deleteSnapshot(
  session: RepositorySession,
  snapshotID: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ["snapshot", "delete", snapshotID, "--delete"];
  try {
    await session.run({ args, doing: `delete snapshot "${snapshotID}"` }, signal);
  } catch (error) {
    const gone = error instanceof MovementError && error.message.includes("no snapshots matched");
    if (!gone) throw error;
  }
}

export interface CheckpointsOf {
  readonly sourcePath: string;
  /** Milliseconds since 1970; older checkpoints may belong to others. */
  readonly since: number;
}

/** Deletes the incomplete snapshots that kopia wrote on the way for a source. */
export async function deleteCheckpoints(
  session: RepositorySession,
  { sourcePath, since }: CheckpointsOf,
  signal: AbortSignal,
): Promise<void> {
  const source = `${snapshotNames.owner}:${sourcePath}`;
  const args = ["snapshot", "list", source, "--incomplete", "--json"];
  const list = await session.run({ args, doing: `list the snapshots of "${sourcePath}"` }, signal);
  const left = parseManifests(list).filter(({ incomplete, startTime }) =>
    incomplete !== undefined && Date.parse(startTime) >= since
  );
  for (const { id } of left) await deleteSnapshot(session, id, signal);
}
