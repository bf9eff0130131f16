import { orAbort } from "../base/abort.ts";
import { MovementError } from "../base/error.ts";

const folderOnly = 0o200000;
const closeOnExec = 0o2000000;

/**
 * Returns when all that was written to the file system of a folder is on its disk: one call for any
 * number of files. Throws `MovementError` VolumeWriteError where something could not be written, and
 * the signal's reason; the system may then still be writing.
 */
export async function syncFileSystem(folder: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await orAbort(sync(folder), signal);
}

async function sync(folder: string): Promise<void> {
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32", nonblocking: true },
    syncfs: { parameters: ["i32"], result: "i32", nonblocking: true },
    close: { parameters: ["i32"], result: "i32" },
  });
  const { open, syncfs, close } = libc.symbols;
  try {
    const file = await open(new TextEncoder().encode(`${folder}\0`), folderOnly | closeOnExec);
    if (file < 0) throw notWritten(folder, "the folder cannot be opened any more");
    const failed = await syncfs(file) !== 0;
    close(file);
    if (failed) throw notWritten(folder, "the system met a write error");
  } finally {
    libc.close();
  }
}

function notWritten(folder: string, cause: string): MovementError {
  return new MovementError(
    "VolumeWriteError",
    `Cannot bring what was restored to "${folder}" to its disk: ${cause}; check the volume, its ` +
      "space and the node's kernel log, then restore again",
  );
}
