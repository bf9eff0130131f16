import { lchown } from "node:fs/promises";
import { messageOf, MovementError } from "../base/error.ts";
import { logger } from "../base/log.ts";

/** The symbolic links of a folder, taken away for a while. */
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

const log = logger("restore");

/**
 * Removes all symbolic links below a folder. Kopia follows those that it meets where the snapshot has
 * a folder or a file, also out of the volume, and writes there as root. Links of the snapshot are made
 * anew by kopia; the others come back by `putBack`. Throws `MovementError` VolumeWriteError
 * or HostPathMissing.
 */
export async function setLinksAside(root: string, signal: AbortSignal): Promise<LinksAside> {
  const links: Link[] = [];
  const putBack = async () => {
    for (const link of links.splice(0)) await restore(link);
  };
  try {
    for await (const link of linksBelow(root, await deviceOf(root))) {
      signal.throwIfAborted();
      await Deno.remove(link.path);
      links.push(link);
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
      `Cannot take the symbolic links of "${root}" aside: ${
        messageOf(cause)
      }; check the volume and ` +
        "what it holds already",
      { cause },
    );
  }
  return { putBack };
}

/** What lies on another device is not the volume's. */
async function* linksBelow(folder: string, device: number): AsyncGenerator<Link> {
  for await (const { name, isSymlink, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isSymlink) {
      const { uid, gid } = await Deno.lstat(path);
      yield { path, leadsTo: await Deno.readLink(path), uid: uid ?? 0, gid: gid ?? 0 };
    } else if (isDirectory && await deviceOf(path) === device) {
      yield* linksBelow(path, device);
    }
  }
}

async function deviceOf(path: string): Promise<number> {
  return (await Deno.lstat(path)).dev;
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
