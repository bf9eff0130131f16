/** The agent's own question whether the API server is there, for /readyz. */
import { configMaps } from "../lib/api/core.ts";
import { createClient } from "../lib/kube/client.ts";
import type { Connection } from "../lib/kube/connection.ts";
import { keepPulse, newPulse, type Pulse, type PulseOptions } from "../lib/kube/pulse.ts";
import { lastHeardMs, type Watches } from "./health.ts";

export interface HeartNeeds {
  readonly connection: Connection;
  readonly userAgent: string;
  /** Velero's. */
  readonly namespace: string;
  readonly timing?: Pick<PulseOptions, "quietMs" | "retryMs"> & { readonly answerMs?: number };
}

export interface Heart extends AsyncDisposable {
  readonly pulse: Pulse;
  /** Returns with the signal. */
  beat(signal: AbortSignal): Promise<void>;
}

/** Kubernetes puts it into every namespace; when it is not there, that is an answer too. */
const asked = "kube-root-ca.crt";

/**
 * It has a client of its own: only a call that runs into its own deadline gives up a connection whose
 * other end has vanished, and this one must not wait half a minute for that.
 */
export function openHeart(
  watches: Watches,
  { connection, userAgent, namespace, timing = {} }: HeartNeeds,
): Heart {
  const { answerMs: requestDeadlineMs = 10_000, ...beats } = timing;
  const client = createClient(connection, { userAgent, retries: 0, requestDeadlineMs });
  const pulse = newPulse();
  return {
    pulse,
    async beat(signal) {
      const ask = (signal: AbortSignal) =>
        client.get(configMaps, { namespace, name: asked }, signal);
      const heardMs = () => lastHeardMs(watches);
      await keepPulse({ pulse, ask, heardMs, ...beats }, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
