/** A disk of its own that is soon full. Undefined, and said so, where mounting is not allowed. */
export async function smallDisk(path: string, megabytes: number): Promise<Disposable | undefined> {
  await Deno.mkdir(path, { recursive: true });
  const args = ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path];
  const { success, stderr } = await new Deno.Command("mount", { args }).output();
  if (success) {
    return {
      [Symbol.dispose]: () => void new Deno.Command("umount", { args: ["-l", path] }).outputSync(),
    };
  }
  const why = new TextDecoder().decode(stderr).trim();
  console.error(`SKIPPED: what a full disk does, because none can be mounted: ${why}`);
}
