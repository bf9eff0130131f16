import { linked } from "../base/abort.ts";
import { isAnswerTooLarge } from "./api_error.ts";
import type { KubeClient, ListOptions, ListPage } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";

interface ListSource<T extends KubeObject> {
  readonly client: Pick<KubeClient, "list">;
  readonly what: Resource<T>;
}

/**
 * The pages of a list; all have the resourceVersion of the first. While the caller works on a page
 * the next one is on its way, so that at most two are in memory. Where the objects are so big that a
 * page is refused, the pages get smaller. When the continue token has grown too old (about 5 min) it
 * throws an error with `isGone`: begin anew.
 */
export async function* listPages<T extends KubeObject>(
  source: ListSource<T>,
  options: Omit<ListOptions, "continue">,
  signal: AbortSignal,
): AsyncGenerator<ListPage<T>> {
  using own = linked(signal);
  const ask = pageAsker(source, options, own.signal);
  let coming: Promise<ListPage<T>> | undefined = ask(undefined);
  try {
    while (coming !== undefined) {
      const page: ListPage<T> = await coming;
      coming = page.continue === undefined ? undefined : ask(page.continue);
      coming?.catch(() => {}); // it is thrown when its turn comes
      yield page;
    }
  } finally {
    own.abort(new DOMException("the list is not read to its end", "AbortError"));
    await coming?.catch(() => {});
  }
}

/** Asks for the page behind a continue token; remembers how big a page may be. */
function pageAsker<T extends KubeObject>(
  { client, what }: ListSource<T>,
  options: Omit<ListOptions, "continue">,
  signal: AbortSignal,
) {
  // A continue token holds the resourceVersion; the server refuses both together.
  const { resourceVersion: _first, ...rest } = options;
  let { limit = 500 } = options;
  return async (next: string | undefined): Promise<ListPage<T>> => {
    const from = next === undefined ? options : { ...rest, continue: next };
    while (true) {
      try {
        return await client.list(what, { ...from, limit }, signal);
      } catch (error) {
        if (limit <= 1 || !isAnswerTooLarge(error)) throw error;
        limit = Math.ceil(limit / 4);
      }
    }
  };
}

/** All objects at once: for lists known to be short. */
export async function listAll<T extends KubeObject>(
  from: ListSource<T>,
  options: Omit<ListOptions, "continue">,
  signal: AbortSignal,
): Promise<T[]> {
  const all: T[] = [];
  for await (const { items } of listPages(from, options, signal)) {
    for (const item of items) all.push(item);
  }
  return all;
}
