export interface Sides<T> {
  ours(round: number): Promise<T>;
  peers(round: number): Promise<T>;
}

/** Repeats both sides in turn; each goes first in every second round. */
export async function alternate<T>(
  rounds: number,
  sides: Sides<T>,
): Promise<{ readonly ours: T; readonly peers: T }[]> {
  const results = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const ours = await sides.ours(round);
      results.push({ ours, peers: await sides.peers(round) });
    } else {
      const peers = await sides.peers(round);
      results.push({ ours: await sides.ours(round), peers });
    }
  }
  return results;
}
