import { lchownSync, lstatSync } from "node:fs";
import { join } from "node:path";

const bigFileMegabytes = 256;
const smallFiles = 1_000;

/** Fills a folder with what a backup must not lose: sizes, modes, owners, times, links, odd names. */
export async function fillVolume(folder: string): Promise<void> {
  const path = (name: string) => join(folder, name);
  for (const name of ["empty", "logs", "many", "private/keys"]) {
    await Deno.mkdir(path(name), { recursive: true });
  }
  await Deno.writeTextFile(path("README.txt"), "The volume of the demo.\n");
  await Deno.writeTextFile(path("nothing"), "");
  await Deno.writeTextFile(path("logs/Grüße, mit Leerzeichen.log"), "one line\n".repeat(1_000));
  await Deno.writeTextFile(path("private/keys/id"), "not a real key\n", { mode: 0o600 });
  await Deno.writeTextFile(path("run.sh"), "#!/bin/sh\necho ahoy\n", { mode: 0o755 });
  await Deno.symlink("logs/Grüße, mit Leerzeichen.log", path("latest.log"));
  await Deno.symlink("/nowhere/to/be/found", path("dangling"));
  await writeRandom(path("database.bin"), bigFileMegabytes);
  for (let index = 0; index < smallFiles; index++) {
    Deno.writeTextFileSync(path(`many/${index}.json`), JSON.stringify({ index }));
  }
  await Deno.chmod(path("private"), 0o700);
  await Deno.chmod(path("nothing"), 0o440);
  if (Deno.uid() === 0) {
    await Deno.chown(path("private/keys/id"), 1_000, 1_001);
    lchownSync(path("dangling"), 1_002, 1_002);
  }
  await Deno.utime(path("README.txt"), 1_000_000_000.25, 1_000_000_000.25);
}

async function writeRandom(path: string, megabytes: number) {
  using file = await Deno.open(path, { create: true, write: true });
  const block = new Uint8Array(1_048_576);
  for (let done = 0; done < megabytes; done++) {
    // The API gives at most 64 KiB at once.
    for (let at = 0; at < block.length; at += 65_536) {
      crypto.getRandomValues(block.subarray(at, at + 65_536));
    }
    for (let at = 0; at < block.length;) at += await file.write(block.subarray(at));
  }
}

export interface Comparison {
  readonly entries: number;
  readonly bytes: number;
  /** A line for each difference. */
  readonly differences: readonly string[];
}

/** Compares names, kinds, content, mode, owner, modification time and link targets. */
export async function compareFolders(left: string, right: string): Promise<Comparison> {
  const differences: string[] = [];
  let entries = 0;
  let bytes = 0;
  for (const name of names(left, right)) {
    entries++;
    const [a, b] = [factsOf(join(left, name)), factsOf(join(right, name))];
    const differing = Object.keys({ ...a, ...b }).filter((fact) => a?.[fact] !== b?.[fact]);
    if (a === undefined || b === undefined) {
      differences.push(`${name}: only in the ${a ? "volume" : "restored folder"}`);
    } else if (differing.length > 0) {
      const texts = differing.map((fact) => `${fact} ${a[fact]} became ${b[fact]}`);
      differences.push(`${name}: ${texts.join(", ")}`);
    } else if (a["kind"] === "file") {
      bytes += Number(a["size"]);
      if (!await equalContent(join(left, name), join(right, name))) {
        differences.push(`${name}: the content differs`);
      }
    }
  }
  return { entries, bytes, differences };
}

function names(...folders: readonly string[]): string[] {
  const found = new Set(["."]);
  const walk = (root: string, below: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(join(root, below))) {
      found.add(join(below, name));
      if (isDirectory) walk(root, join(below, name));
    }
  };
  for (const folder of folders) walk(folder, ".");
  return [...found].sort();
}

function factsOf(path: string): Record<string, string> | undefined {
  const info = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (info === undefined) return undefined;
  const kind = info.isDirectory() ? "folder" : info.isSymbolicLink() ? "link" : "file";
  return {
    kind,
    mode: (Number(info.mode) & 0o7777).toString(8),
    owner: `${info.uid}:${info.gid}`,
    // kopia gives a folder the time of the newest file below it.
    ...(kind === "folder" ? {} : { modified: `${info.mtimeNs} ns` }),
    ...(kind === "file" ? { size: String(info.size) } : {}),
    ...(kind === "link" ? { target: Deno.readLinkSync(path) } : {}),
  };
}

async function equalContent(left: string, right: string): Promise<boolean> {
  const hash = async (path: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
  return await hash(left) === await hash(right);
}
