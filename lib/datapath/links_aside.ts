import { lchown } from "node:fs/promises";
import { messageOf, MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";
import { type FolderReader, openFolderReader } from "./folder_entries.ts";

/** The symbolic links and special files of a folder, taken away for a while. */
export interface LinksAside {
  /** Puts those back whose place is free; may be called again. */
  putBack(): Promise<void>;
}

interface Link {
  readonly path: string;
  readonly leadsTo: string;
  readonly uid: number;
  readonly gid: number;
}

/** A device, pipe or socket, or a link that cannot be made anew. */
interface Special {
  readonly path: string;
  readonly leadsTo?: never;
}

type PutBack = () => Promise<void>;

const log = logger("restore");

/**
 * Removes all symbolic links below a folder. Kopia follows those that it meets where the snapshot has
 * a folder or a file, also out of the volume, and writes there as root. Links of the snapshot are made
 * anew by kopia; the others come back by `putBack`. So do devices and pipes, into which kopia would write
 * what the snapshot has as a file of their name. Throws `MovementError` VolumeWriteError
 * or HostPathMissing.
 */
export async function setLinksAside(root: string, signal: AbortSignal): Promise<LinksAside> {
  const aside: PutBack[] = [];
  const putBack = async () => {
    for (const back of aside.splice(0)) await back();
  };
  try {
    using reader = openFolderReader();
    const walk = { reader, device: await deviceOf(root) };
    const found = await Array.fromAsync(linksBelow(root, walk));
    for (const entry of found) {
      signal.throwIfAborted();
      aside.push(entry.leadsTo === undefined ? await rename(entry) : await remove(entry));
    }
  } catch (cause) {
    await putBack();
    signal.throwIfAborted();
    if (cause instanceof Deno.errors.NotFound) {
      const message = `"${root}" or a folder in it is not there any more; restore again`;
      throw new MovementError("HostPathMissing", message, { cause });
    }
    throw new MovementError(
      "VolumeWriteError",
      `Cannot take the links and special files of "${root}" aside: ${
        messageOf(cause)
      }; check the volume and ` +
        "what it holds already",
      { cause },
    );
  }
  return { putBack };
}

interface Walk {
  readonly reader: FolderReader;
  /** What lies on another one is not the volume's. */
  readonly device: number;
}

async function* linksBelow(folder: string, walk: Walk): AsyncGenerator<Link | Special> {
  for await (const entry of walk.reader.entries(folder)) {
    if (entry.name === undefined) {
      if (entry.kind === "file") continue; // kopia writes into it, which is what is wanted
      throw new Error(
        `"${folder}/${entry.shown}" has a name that is not UTF-8; rename or remove it`,
      );
    }
    const path = `${folder}/${entry.name}`;
    const kind = entry.kind === "unknown" ? await kindOf(path) : entry.kind;
    if (kind === "link") yield await linkAt(path);
    else if (kind === "special") yield { path };
    else if (kind === "folder" && await deviceOf(path) === walk.device) {
      yield* linksBelow(path, walk);
    }
  }
}

async function kindOf(path: string) {
  const { isSymlink, isDirectory, isFile } = await Deno.lstat(path);
  if (isSymlink) return "link";
  if (isDirectory) return "folder";
  return isFile ? "file" : "special";
}

async function linkAt(path: string): Promise<Link | Special> {
  const { uid, gid } = await Deno.lstat(path);
  try {
    return { path, leadsTo: await Deno.readLink(path), uid: uid ?? 0, gid: gid ?? 0 };
  } catch (error) {
    if (error instanceof Deno.errors.InvalidData) return { path }; // leads to what is not UTF-8
    throw error;
  }
}

async function deviceOf(path: string): Promise<number> {
  return (await Deno.lstat(path)).dev;
}

/** Kept beside its place, as it cannot be made anew. */
async function rename({ path }: Special): Promise<PutBack> {
  const kept = `${path.slice(0, path.lastIndexOf("/"))}/.longshore-${crypto.randomUUID()}`;
  await Deno.rename(path, kept);
  return async () => {
    try {
      if (await isThere(path)) await Deno.remove(kept); // the snapshot has something there
      else await Deno.rename(kept, path);
    } catch (error) {
      log.warn("A special file that was in the volume before is not in its place", {
        ...{ path, kept, error },
      });
    }
  };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function remove(link: Link): Promise<PutBack> {
  await Deno.remove(link.path);
  return () => restore(link);
}

async function restore({ path, leadsTo, uid, gid }: Link): Promise<void> {
  try {
    await Deno.symlink(leadsTo, path);
    await lchown(path, uid, gid);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return; // the snapshot has something there
    log.warn("A symbolic link that was in the volume before is lost", { path, leadsTo, error });
  }
}
