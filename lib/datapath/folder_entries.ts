/** What lies in a folder, by the names' bytes. */
export interface FolderEntry {
  /** Undefined where it is not UTF-8: no function of Deno can name it then, or even tells of it. */
  readonly name: string | undefined;
  /** For messages. */
  readonly shown: string;
  /** Unknown: the file system does not say. */
  readonly kind: "folder" | "file" | "link" | "special" | "unknown";
}

/** Reads folders; disposing it unloads the C library. */
export interface FolderReader extends Disposable {
  /** All but "." and "..". Throws what `Deno.lstat` throws where the folder is not there. */
  entries(path: string): AsyncGenerator<FolderEntry>;
}

const closeOnExec = 0o2000000;
const bufferBytes = 64 * 1_024;

/**
 * `Deno.readDir` leaves out names that are not UTF-8, without a word. This asks the C library, off
 * the main thread, as a network file system may not answer.
 */
export function openFolderReader(): FolderReader {
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32", nonblocking: true },
    getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize", nonblocking: true },
    close: { parameters: ["i32"], result: "i32" },
  });
  const { open, getdents64, close } = libc.symbols;
  return {
    async *entries(path) {
      const file = await open(new TextEncoder().encode(`${path}\0`), closeOnExec);
      if (file < 0) throw await whyNot(path);
      try {
        const buffer = new Uint8Array(bufferBytes);
        let length: number;
        while ((length = Number(await getdents64(file, buffer, BigInt(bufferBytes)))) > 0) {
          yield* parseEntries(buffer.subarray(0, length));
        }
        if (length < 0) throw await whyNot(path);
      } finally {
        close(file);
      }
    },
    [Symbol.dispose]: () => libc.close(),
  };
}

/** The C library's error number does not reach us; asked again, Deno mostly meets the same. */
async function whyNot(path: string): Promise<Error> {
  try {
    for await (const _ of Deno.readDir(path)) break;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  return new Error(`"${path}" cannot be read`);
}

const kinds: Readonly<Record<number, FolderEntry["kind"]>> = {
  0: "unknown",
  4: "folder",
  8: "file",
  10: "link",
};

/** The kernel's `linux_dirent64`: inode and offset of 8 bytes, length of 2, type of 1, name. */
function* parseEntries(bytes: Uint8Array): Generator<FolderEntry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const end = at + view.getUint16(at + 16, true);
    const start = at + 19;
    const name = bytes.slice(start, bytes.indexOf(0, start));
    const kind = kinds[view.getUint8(at + 18)] ?? "special";
    const shown = new TextDecoder().decode(name);
    if (shown !== "." && shown !== "..") yield { name: textOf(name), shown, kind };
    at = end;
  }
}

function textOf(name: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(name);
  } catch {
    return undefined;
  }
}
