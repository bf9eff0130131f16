/** The agent's own question whether the API server is there, put when /readyz is asked. */
import { deadline } from "../lib/base/abort.ts";
import { configMaps } from "../lib/api/core.ts";
import { createClient } from "../lib/kube/client.ts";
import type { Connection } from "../lib/kube/connection.ts";
import { newPulse, type Pulse, pulseTaker } from "../lib/kube/pulse.ts";
import { lastHeardMs, type Watches } from "./health.ts";

export interface HeartNeeds {
  readonly connection: Connection;
  readonly userAgent: string;
  /** Velero's. */
  readonly namespace: string;
  readonly timing?: HeartTiming;
}

export interface HeartTiming {
  /** Silence after which it asks (default 20 s). */
  readonly quietMs?: number;
  /** How long the server may take (default 10 s). */
  readonly answerMs?: number;
  /** How long whoever wants to know waits for that (default 2 s). */
  readonly patienceMs?: number;
}

export interface Heart extends AsyncDisposable {
  readonly pulse: Pulse;
  /** Brings the pulse up to date, as far as that can be done in a moment. Never fails. */
  take(): Promise<void>;
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
  const { answerMs: requestDeadlineMs = 10_000, patienceMs = 2_000, ...quiet } = timing;
  const client = createClient(connection, { userAgent, retries: 0, requestDeadlineMs });
  const open = new AbortController();
  const pulse = newPulse();
  const take = pulseTaker({
    pulse,
    ask: () => client.get(configMaps, { namespace, name: asked }, open.signal),
    heardMs: () => lastHeardMs(watches),
    ...quiet,
  });
  return {
    pulse,
    async take() {
      using patience = deadline(open.signal, patienceMs, "The answer");
      await take(patience.signal).catch(() => {}); // it comes for the next one who asks
    },
    async [Symbol.asyncDispose]() {
      open.abort();
      await client[Symbol.asyncDispose]();
    },
  };
}
