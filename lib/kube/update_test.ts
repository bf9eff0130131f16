import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { ApiError } from "./api_error.ts";
import type { KubeClient, Patch } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";
import { claim, update, writeUntilDone } from "./update.ts";

interface Thing extends KubeObject {
  readonly spec?: { readonly done: boolean; readonly list?: readonly number[] };
}
const things: Resource<Thing> = {
  group: "g",
  version: "v1",
  plural: "things",
  kind: "Thing",
  namespaced: true,
};
const never = new AbortController().signal;
const name = { namespace: "s", name: "a" };

function apiError(status: number, reason: string): ApiError {
  const attempt = { verb: "patch", resource: "things.g", scope: `namespace "s"` };
  return new ApiError({ ...attempt, status, reason, detail: `${status} ${reason}` });
}

/** Reads a version higher each time; refuses the first writes by the errors. */
function refusing(errors: Error[]) {
  const patches: Patch[] = [];
  let version = 1;
  const client: Pick<KubeClient, "get" | "patch"> = {
    get: <T extends KubeObject>() =>
      Promise.resolve({ metadata: { ...name, resourceVersion: String(version++) } } as T),
    patch: <T extends KubeObject>(_: Resource<T>, patch: Patch) => {
      patches.push(patch);
      const error = errors.shift();
      return error ? Promise.reject(error) : Promise.resolve({ metadata: name } as KubeObject as T);
    },
  };
  return { client: client as KubeClient, patches };
}

Deno.test("an update reads again after a conflict and guards each try by the version it read", async () => {
  const conflict = apiError(409, "Conflict");
  const { client, patches } = refusing([conflict, conflict]);
  const change = (thing: Thing) => ({
    metadata: { annotations: { seen: thing.metadata.resourceVersion ?? "" } },
    spec: { done: true },
  });
  await update(client, { resource: things, name, change }, never);
  deepEqual(
    patches,
    ["1", "2", "3"].map((resourceVersion) => ({
      ...name,
      body: {
        metadata: { annotations: { seen: resourceVersion }, resourceVersion },
        spec: { done: true },
      },
    })),
  );
});

Deno.test("an update with nothing to do sends nothing and answers what it read", async () => {
  const { client, patches } = refusing([]);
  const read = await update(client, { resource: things, name, change: () => undefined }, never);
  equal(read.metadata.resourceVersion, "1");
  deepEqual(patches, []);
});

Deno.test("an update ends with the signal while others keep being faster", async () => {
  const end = new AbortController();
  const { client } = refusing(Array.from({ length: 1_000 }, () => apiError(409, "Conflict")));
  let tries = 0;
  const change = () => {
    if (++tries === 2) end.abort(new Error("enough"));
    return { spec: { done: true } };
  };
  await rejects(update(client, { resource: things, name, change }, end.signal), {
    message: "enough",
  });
  equal(tries, 2);
});

Deno.test("an update throws what is no conflict", async () => {
  for (const error of [apiError(404, "NotFound"), apiError(409, "AlreadyExists")]) {
    const { client } = refusing([error]);
    const change = () => ({ spec: { done: true } });
    await rejects(update(client, { resource: things, name, change }, never), error);
  }
});

Deno.test("a claim is sent once; a conflict or a missing object answers false", async () => {
  const object: Thing = { metadata: { ...name, resourceVersion: "7" } };
  const wish = { resource: things, object, patch: { spec: { done: true } } };
  for (const error of [apiError(409, "Conflict"), apiError(404, "NotFound")]) {
    const { client, patches } = refusing([error]);
    equal(await claim(client, wish, never), false);
    equal(patches.length, 1);
  }
  const { client, patches } = refusing([]);
  deepEqual(await claim(client, wish, never), { metadata: name });
  deepEqual(patches[0]?.body, { spec: { done: true }, metadata: { resourceVersion: "7" } });
  const forbidden = refusing([apiError(403, "Forbidden")]);
  await rejects(claim(forbidden.client, wish, never), { status: 403 });
});

Deno.test("a claim of an object without its version is refused instead of sent unguarded", async () => {
  const { client, patches } = refusing([]);
  const object: Thing = { metadata: name };
  await rejects(
    claim(client, { resource: things, object, patch: { spec: { done: true } } }, never),
    { message: /resourceVersion/ },
  );
  deepEqual(patches, []);
});

Deno.test("a write that must not be lost is repeated through failures that pass, logged once", async () => {
  const warnings: string[] = [];
  const quiet = () => {};
  const log = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (sentence: string, fields = {}) => void warnings.push(sentence + JSON.stringify(fields)),
  };
  const options = { what: "the status of a", retry: { firstMs: 1, maxMs: 1 }, log };
  const failures = [
    apiError(503, "ServiceUnavailable"),
    apiError(503, "ServiceUnavailable"),
    apiError(0, "Unreachable"),
    new DOMException("took longer", "TimeoutError"),
  ];
  const write = () => {
    const failure = failures.shift();
    return failure ? Promise.reject(failure) : Promise.resolve("written");
  };
  equal(await writeUntilDone(write, never, options), "written");
  equal(warnings.length, 3);
  match(warnings[0]!, /the status of a.*503/);

  const gone = () => Promise.reject(apiError(404, "NotFound"));
  await rejects(writeUntilDone(gone, never, options), { status: 404 });
});

Deno.test("a write that must not be lost ends with the signal", async () => {
  const end = new AbortController();
  const write = () => Promise.reject(apiError(503, "ServiceUnavailable"));
  const options = { what: "it", retry: { firstMs: 60_000, maxMs: 60_000 } };
  const writing = writeUntilDone(write, end.signal, options);
  await new Promise((resolve) => setTimeout(resolve, 1));
  end.abort(new Error("enough"));
  await rejects(writing, { message: "enough" });
});
