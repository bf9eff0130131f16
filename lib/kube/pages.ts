import { isAnswerTooLarge } from "./api_error.ts";
import type { KubeClient, ListOptions, ListPage } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";

/**
 * The pages of a list, one in memory at a time; all have the resourceVersion of the first. Where the
 * objects are so big that a page is refused, the pages get smaller. When the continue token has grown
 * too old (about 5 min) it throws an error with `isGone`: begin anew.
 */
export async function* listPages<T extends KubeObject>(
  { client, what }: { readonly client: Pick<KubeClient, "list">; readonly what: Resource<T> },
  options: Omit<ListOptions, "continue">,
  signal: AbortSignal,
): AsyncGenerator<ListPage<T>> {
  // A continue token holds the resourceVersion; the server refuses both together.
  const { resourceVersion: _first, ...rest } = options;
  let { limit = 500 } = options;
  let next: string | undefined;
  while (true) {
    const from = next === undefined ? options : { ...rest, continue: next };
    let page: ListPage<T>;
    try {
      page = await client.list(what, { ...from, limit }, signal);
    } catch (error) {
      if (limit <= 1 || !isAnswerTooLarge(error)) throw error;
      limit = Math.ceil(limit / 4);
      continue;
    }
    yield page;
    if (page.continue === undefined) return;
    next = page.continue;
  }
}

/** All objects at once: for lists known to be short. */
export async function listAll<T extends KubeObject>(
  from: { readonly client: Pick<KubeClient, "list">; readonly what: Resource<T> },
  options: Omit<ListOptions, "continue">,
  signal: AbortSignal,
): Promise<T[]> {
  const all: T[] = [];
  for await (const { items } of listPages(from, options, signal)) {
    for (const item of items) all.push(item);
  }
  return all;
}
