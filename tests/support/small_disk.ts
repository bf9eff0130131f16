/**
 * A disk of its own that is soon full, or takes nothing at all. Undefined, and said so, where mounting
 * is not allowed.
 */
export async function smallDisk(
  path: string,
  megabytes: number,
  { access = "rw" }: { readonly access?: "rw" | "ro" } = {},
): Promise<Disposable | undefined> {
  await Deno.mkdir(path, { recursive: true });
  const args = ["-t", "tmpfs", "-o", `size=${megabytes}m,${access}`, "tmpfs", path];
  const { success, stderr } = await new Deno.Command("mount", { args }).output();
  if (success) {
    return {
      [Symbol.dispose]: () => void new Deno.Command("umount", { args: ["-l", path] }).outputSync(),
    };
  }
  const why = new TextDecoder().decode(stderr).trim();
  console.error(`SKIPPED: what a full or read-only disk does, because none can be mounted: ${why}`);
}
