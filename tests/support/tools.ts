export type ToolName =
  | ("etcd" | "kube-apiserver" | "kopia" | "restic" | "versitygw" | "cnssim")
  | "velero-v1.15.2";

/** The path of a server or program of the tests; built on first use, with progress on stderr. */
export async function tool(name: ToolName): Promise<string> {
  const command = new Deno.Command(new URL("../tools/tool", import.meta.url).pathname, {
    args: [name],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error(`tests/tools/tool could not make "${name}"; its output is above`);
  return new TextDecoder().decode(stdout).trim();
}

/**
 * Whether tests that need these programs must be skipped: for `ignore` of a test. Never true in CI
 * (variable `CI` set), where a missing program is an error.
 */
export async function toolsMissing(...names: readonly ToolName[]): Promise<boolean> {
  try {
    for (const name of names) await tool(name);
    return false;
  } catch (error) {
    if (Deno.env.get("CI")) throw error;
    console.error(`SKIPPED: tests that need ${names.join(", ")}: ${(error as Error).message}`);
    return true;
  }
}
