/** The answers of `act` for each item, in their order; at most `limit` at once. Throws the first error. */
export async function inParallel<T, R>(
  items: readonly T[],
  limit: number,
  act: (item: T) => Promise<R>,
): Promise<R[]> {
  const answers = new Array<R>(items.length);
  let next = 0;
  const workers = Array.from({ length: Math.min(limit, items.length) }, async () => {
    for (let at = next++; at < items.length; at = next++) {
      answers[at] = await act(items[at] as T); // the index is below the length
    }
  });
  await Promise.all(workers);
  return answers;
}
