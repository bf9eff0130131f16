/** What a folder holds, as text lines that can be compared: kind, mode, size or target, content. */
export async function describeTree(root: string): Promise<string[]> {
  const lines: string[] = [];
  for (const path of walk(root, "")) lines.push(await describe(root, path));
  return lines.sort();
}

function* walk(root: string, path: string): Generator<string> {
  yield path;
  if (!Deno.lstatSync(root + path).isDirectory) return;
  for (const { name } of Deno.readDirSync(root + path)) yield* walk(root, `${path}/${name}`);
}

async function describe(root: string, path: string): Promise<string> {
  const { isSymlink, isDirectory, mode, size, uid, gid, mtime } = Deno.lstatSync(root + path);
  const head = `${JSON.stringify(path)} ${uid}:${gid}`;
  if (isSymlink) return `${head} -> ${Deno.readLinkSync(root + path)}`;
  const bits = ((mode ?? 0) & 0o7777).toString(8);
  if (isDirectory) return `${head} folder ${bits}`;
  const content = await Deno.readFile(root + path);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
  return `${head} file ${bits} ${size} ${mtime?.toISOString()} ${sum}`;
}
