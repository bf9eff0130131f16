/** What /healthz and /readyz say of the agent: judged from the records that its loops keep. */
import type { Pulse } from "../lib/kube/pulse.ts";
import { newWatchHealth, type WatchHealth } from "../lib/kube/watch.ts";

/** The watches by what they watch. */
export type Watches = Map<string, WatchHealth>;

export interface Vitals {
  readonly watches: Watches;
  readonly heart: { readonly pulse: Pulse; take(): Promise<void> };
  /** Aborted: no new work is taken. */
  readonly intake: AbortSignal;
}

/** One line of the answer. */
export interface Check {
  readonly name: string;
  readonly state: "ok" | "failed";
  /** In words: since when, and what is wrong. */
  readonly because: string;
}

/** A record that counts from now on. */
export function addWatch(watches: Watches, what: string): WatchHealth {
  const health = newWatchHealth();
  watches.set(what, health);
  return health;
}

/** `Date.now()` at the newest sign of life of any watch. */
export function lastHeardMs(watches: Watches): number {
  return Math.max(0, ...[...watches.values()].map(({ lastActivityMs }) => lastActivityMs));
}

/** Longest silence of the API server with which the agent is ready. */
const heardLimitMs = 60_000;
/** A quiet watch has a bookmark each minute, and is given up after 75 s without. */
const watchLimitMs = 90_000;
/** A try may wait two minutes for credentials and half a minute for the answer, twice after a 401. */
const turnLimitMs = 300_000;

/** Ready: the API server answers, and every watch has its first list and stands. */
export function readiness({ watches, heart, intake }: Vitals, nowMs: number): readonly Check[] {
  const { pulse } = heart;
  const heardAt = Math.max(pulse.lastHeardMs, lastHeardMs(watches));
  return [
    check("intake", intake.aborted ? "the agent is stopping" : undefined, "new work is taken"),
    check("api-server", apiServerFault(pulse, nowMs - heardAt), heard(heardAt, nowMs)),
    ...[...watches].map(([what, health]) =>
      check(`watch-${what}`, watchFault(health, nowMs), heard(health.lastActivityMs, nowMs))
    ),
  ];
}

/** Alive: every loop goes round, if only to fail. An API server that is away does not count. */
export function liveness({ watches, intake }: Vitals, nowMs: number): readonly Check[] {
  return [...watches].map(([what, { lastTurnMs }]) => {
    const stuckMs = lastTurnMs === 0 || intake.aborted ? 0 : nowMs - lastTurnMs;
    const fault = stuckMs > turnLimitMs ? `its loop has stood for ${seconds(stuckMs)}` : undefined;
    return check(`loop-${what}`, fault, "its loop goes round");
  });
}

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly text: string;
}

/** As Kubernetes writes it: "ok", or with `?verbose` and for every failure a line for each check. */
export function formatChecks(
  endpoint: string,
  checks: readonly Check[],
  { form }: { readonly form: "short" | "verbose" },
): HealthAnswer {
  const isFine = checks.every(({ state }) => state === "ok");
  if (isFine && form === "short") return { status: 200, text: "ok" };
  const lines = checks.map(({ name, state, because }) =>
    `[${state === "ok" ? "+" : "-"}]${name} ${state}: ${because}`
  );
  const verdict = `${endpoint} check ${isFine ? "passed" : "failed"}`;
  return { status: isFine ? 200 : 503, text: [...lines, verdict, ""].join("\n") };
}

function check(name: string, fault: string | undefined, fine: string): Check {
  return { name, state: fault === undefined ? "ok" : "failed", because: fault ?? fine };
}

function apiServerFault({ lastError }: Pulse, silentMs: number): string | undefined {
  if (lastError !== undefined) return `it does not answer: ${lastError}`;
  return silentMs > heardLimitMs ? `nothing was heard for ${seconds(silentMs)}` : undefined;
}

function watchFault(
  { listed, connected, lastActivityMs, lastError }: WatchHealth,
  nowMs: number,
): string | undefined {
  const cause = lastError === undefined ? "" : `: ${lastError}`;
  if (!listed) return `its first list is not done${cause}`;
  if (!connected) return `interrupted${cause}; ${heard(lastActivityMs, nowMs)}`;
  const silentMs = nowMs - lastActivityMs;
  return silentMs > watchLimitMs ? `nothing was heard for ${seconds(silentMs)}` : undefined;
}

function heard(atMs: number, nowMs: number): string {
  return atMs === 0 ? "not heard yet" : `heard ${seconds(nowMs - atMs)} ago`;
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1_000).toFixed(1)} s`;
}
