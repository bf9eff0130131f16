/** What happens to the agent's surroundings during the soak. */
import { linked, sleep } from "../../lib/base/abort.ts";
import type { Agent } from "../support/agent.ts";
import { moversOf } from "../support/children.ts";
import type { Stage } from "./stage.ts";

/** Disposing it ends it too, and leaves what went wrong untold. */
export interface Disturbances extends AsyncDisposable {
  readonly apiServers: number;
  readonly kopias: number;
  /** The object with this number is made. */
  began(at: number): void;
  /** Lets what is under way end, with the API server running; throws what went wrong in it. */
  end(): Promise<void>;
}

export interface DisturbOptions {
  readonly agent: Agent;
  /** So many objects between two kills of the API server; of kopia there are ten times as many. */
  readonly every: number;
}

export function disturb(
  { controlPlane, signal }: Stage,
  { agent, every }: DisturbOptions,
): Disturbances {
  const over = linked(signal);
  const count = { apiServers: 0, kopias: 0 };
  let restarting: Promise<void> = Promise.resolve();
  let killing: Promise<void> = Promise.resolve();
  const restart = async () => {
    await controlPlane.killApiServer();
    await controlPlane.startApiServer();
    count.apiServers++;
  };
  const seen = new Set<number>(); // one that was killed takes a moment to go
  const killKopia = async () => {
    while (!over.signal.aborted) {
      const mover = moversOf(agent.pid).find(({ pid }) => !seen.has(pid));
      if (mover !== undefined && killed(mover.pid)) {
        seen.add(mover.pid);
        count.kopias++;
        return;
      }
      await sleep(5, over.signal).catch(() => {});
    }
  };
  return {
    get apiServers() {
      return count.apiServers;
    },
    get kopias() {
      return count.kopias;
    },
    began(at) {
      if (at % every === 0) restarting = restarting.then(restart);
      if (at % Math.ceil(every / 10) === 0) killing = killing.then(killKopia);
      for (const one of [restarting, killing]) one.catch(() => {}); // told at the end
    },
    async end() {
      over.abort();
      await killing;
      await restarting;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.allSettled([killing, restarting]);
      over[Symbol.dispose]();
    },
  };
}

function killed(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // it has just ended
  }
}
