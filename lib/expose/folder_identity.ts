/**
 * Whether a path still names the folder that it named: a volume that is unmounted leaves the folder
 * it was mounted on, and what is written there fills the node's own disk.
 */
import { messageOf, MovementError } from "../base/error.ts";

/** Differs for any two folders that exist at one time. */
export type FolderIdentity = `${number}:${number}`;

/** Throws `MovementError` HostPathMissing when there is nothing. */
export async function folderIdentity(path: string): Promise<FolderIdentity> {
  try {
    const { dev, ino } = await Deno.lstat(path);
    return `${dev}:${ino ?? 0}`;
  } catch (cause) {
    throw new MovementError(
      "HostPathMissing",
      `Cannot look at the volume "${path}": ${messageOf(cause)}; restore again`,
      { cause },
    );
  }
}

/** Throws `MovementError` HostPathMissing when another folder is there now, or none. */
export async function requireSameFolder(path: string, identity: FolderIdentity): Promise<void> {
  if (await folderIdentity(path) === identity) return;
  throw new MovementError(
    "HostPathMissing",
    `The volume at "${path}" was unmounted or replaced while it was restored, so a part of its ` +
      "data is not in it; restore again",
  );
}
