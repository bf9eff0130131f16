/**
 * The sign that a volume is restored, `<volume>/.velero/<uid of the restore>`: the restored pod's init
 * container waits for it. What the snapshot brought into the volume is hostile, so nothing that it
 * may have put at this name is kept or followed.
 */
import { join } from "node:path";
import { messageOf, MovementError } from "../base/error.ts";
import type { Log } from "../base/log.ts";

const folderName = ".velero";
const folderMode = 0o755;
/** The waiting container may run as any user. */
const fileMode = 0o644;

/** Removes what is at the folder's name, then makes folder and file. Throws `MovementError`. */
export async function writeDoneFile(volume: string, uid: string, log: Log): Promise<void> {
  requirePlainName(uid);
  const folder = join(volume, folderName);
  await removeFormer(folder, log);
  await attempt(`make the folder "${folder}" for the done file`, () => makeFolder(folder));
  const file = join(folder, uid);
  await attempt(`write the done file "${file}"`, () => makeFile(file));
}

/** A uid that is no plain file name would be a way out of the volume. */
export function requirePlainName(uid: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(uid)) return;
  throw new MovementError(
    "OwnerMissing",
    `The uid ${JSON.stringify(uid)} of the restore is not a plain name, so no done file is ` +
      "written for it; restore again",
  );
}

/** A link is removed itself, never what it names. */
async function removeFormer(folder: string, log: Log): Promise<void> {
  try {
    await Deno.remove(folder, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    log.warn("A former done folder cannot be removed", { folder, error });
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await Deno.mkdir(folder, { mode: folderMode });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const { isDirectory, mode } = await Deno.lstat(folder);
  if (!isDirectory) throw new Error("something that is not a folder has this name");
  if (((mode ?? 0) & 0o777) !== folderMode) await Deno.chmod(folder, folderMode);
}

async function makeFile(file: string): Promise<void> {
  // Made anew or not at all: a link at this name is not written through.
  using made = await Deno.open(file, { write: true, createNew: true, mode: fileMode });
  const { mode } = await made.stat();
  if (((mode ?? 0) & 0o777) !== fileMode) await Deno.chmod(file, fileMode);
}

async function attempt(what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (cause) {
    throw new MovementError(
      "DoneFileError",
      `Cannot ${what}: ${
        messageOf(cause)
      }; the data is restored, but the pod waits for this file: ` +
        "check the volume and restore again",
      { cause },
    );
  }
}
