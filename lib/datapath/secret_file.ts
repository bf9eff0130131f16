/** A file that only we can read; disposing it removes it. */
export interface SecretFile extends AsyncDisposable {
  readonly path: string;
}

/** Writes a secret for a program that wants it as a file, under a name of its own. */
export async function secretFile(folder: string, text: string): Promise<SecretFile> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const path = `${folder}/${crypto.randomUUID()}`;
  await Deno.writeTextFile(path, text, { mode: 0o600, createNew: true });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await Deno.remove(path).catch((error: unknown) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    },
  };
}
