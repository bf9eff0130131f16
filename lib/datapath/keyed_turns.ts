import { orAbort } from "../base/abort.ts";

export interface KeyedTurns {
  /** The turn lasts until it is disposed. */
  take(key: string, signal: AbortSignal): Promise<Disposable>;
}

/** One at a time for each key, in the order of asking. */
export function keyedTurns(): KeyedTurns {
  const last = new Map<string, Promise<void>>();
  return {
    async take(key, signal) {
      const before = last.get(key) ?? Promise.resolve();
      const turn = Promise.withResolvers<void>();
      last.set(key, turn.promise);
      const giveBack = () => {
        if (last.get(key) === turn.promise) last.delete(key);
        turn.resolve();
      };
      try {
        await orAbort(before, signal);
      } catch (error) {
        before.then(giveBack); // those behind us still wait for the one before us
        throw error;
      }
      return { [Symbol.dispose]: giveBack };
    },
  };
}
