export interface TempFolder extends Disposable, AsyncDisposable {
  readonly path: string;
}

/** A new folder, removed with all that is in it when it goes out of scope (`using`). */
export function tempFolder(purpose = "test"): TempFolder {
  const path = Deno.makeTempDirSync({ prefix: `longshore-${purpose}-` });
  return {
    path,
    [Symbol.dispose]: () => removeFolder(path),
    [Symbol.asyncDispose]: () => Promise.resolve(removeFolder(path)),
  };
}

function removeFolder(path: string) {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
