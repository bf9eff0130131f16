import { sleep } from "../base/abort.ts";
import { backoffMs, type BackoffOptions } from "../base/backoff.ts";
import { messageOf } from "../base/error.ts";
import { type Log, logger } from "../base/log.ts";
import { ApiError, isGone } from "./api_error.ts";
import type { ObjectKey } from "./object.ts";
import type { WatchSource } from "./watch_source.ts";

/** What to do with what is held: `reset` replaces all of it. */
export type WatchChange<T> =
  | { readonly type: "reset"; readonly objects: readonly T[] }
  | { readonly type: "set"; readonly object: T }
  | { readonly type: "gone"; readonly key: ObjectKey };

/** How a watch fares: kept up to date by `watchForever`, read for /readyz and metrics. */
export interface WatchHealth {
  /** The first list is complete. */
  listed: boolean;
  /** False from a failure until the next sign of life; a quiet watch gives one about every 60 s. */
  connected: boolean;
  /** `Date.now()` at the last part of a list, answer or event, bookmarks included; 0 before. */
  lastActivityMs: number;
  /** `Date.now()` when the loop last did anything, failed tries included; 0 before it runs. */
  lastTurnMs: number;
  /** Why it is not connected, in words. */
  lastError: string | undefined;
}

export interface WatchForeverOptions {
  /** Is written to; make it by `newWatchHealth`. */
  readonly health?: WatchHealth;
  /**
   * A stream without a byte for so long is dead (default 75 s). The server sends a bookmark about
   * every 60 s, so it must be longer.
   */
  readonly readDeadlineMs?: number;
  /** The least time after which the server ends the watch, up to twice that (default 300). */
  readonly timeoutSeconds?: number;
  /** Delays between tries; by default 1.7 s less up to 40 % jitter, doubling up to 30 s. */
  readonly retry?: BackoffOptions;
  /** A stream that has lived so long was no failure (default 10 s). */
  readonly settledMs?: number;
  readonly log?: Log;
}

/** The record `watchForever` fills. */
export function newWatchHealth(): WatchHealth {
  return {
    ...{ listed: false, connected: false, lastActivityMs: 0, lastTurnMs: 0 },
    lastError: undefined,
  };
}

/**
 * The objects of a source and all their changes, for ever: list, watch, go on after the last
 * resourceVersion when the stream ends or breaks, list anew after 410 Gone. It throws nothing but
 * the signal's reason; any other failure is logged once and tried again, so a caller that wants to
 * give up at start lists once by itself before.
 *
 * The first list comes as `set`s as it is read, so that work can begin on a big cluster, and then as
 * the `reset` that says what is no more; later lists come as one `reset`. Tries are never closer
 * than 1 s, unless the stream before had lived for 10 s and ended cleanly.
 */
export async function* watchForever<T>(
  source: WatchSource<T>,
  signal: AbortSignal,
  options: WatchForeverOptions = {},
): AsyncGenerator<WatchChange<T>, never> {
  const retry = options.retry ?? defaultRetry;
  const follower = newFollower(source, signal, options);
  const { streak } = follower;
  while (true) {
    signal.throwIfAborted();
    follower.health.lastTurnMs = Date.now();
    let retryAfterMs = 0;
    try {
      if (follower.resourceVersion === undefined) yield* listAll(follower);
      yield* watchOnce(follower);
      endedCleanly(follower);
    } catch (error) {
      signal.throwIfAborted();
      retryAfterMs = error instanceof ApiError ? error.retryAfterMs ?? 0 : 0;
      failed(follower, error);
    }
    if (streak.quick === 0 && streak.isClean) continue;
    await sleep(Math.max(retryAfterMs, backoffMs(Math.max(0, streak.quick - 1), retry)), signal);
  }
}

/** What is known between one try and the next. */
interface Follower<T> {
  readonly source: WatchSource<T>;
  readonly signal: AbortSignal;
  readonly options: WatchForeverOptions;
  readonly health: WatchHealth;
  readonly log: Log;
  readonly streak: Streak;
  /** Where the next watch goes on; undefined: list first. */
  resourceVersion: string | undefined;
  /** When the watch under way was asked for; undefined: none is. */
  watchingSince: number | undefined;
  /** The failure that was logged and is not over. */
  reported: string | undefined;
}

interface Streak {
  /** Successive tries that did not live for `settledMs`. */
  quick: number;
  /** Successive streams that ended without one event. */
  barren: number;
  /** The last stream was ended by the server in order. */
  isClean: boolean;
}

const barrenLimit = 5;

/** Never below 1 s: Deno's fetch itself asks twice when a server closes without an answer. */
const defaultRetry: BackoffOptions = { firstMs: 1_700, maxMs: 30_000, jitter: 0.4 };

function newFollower<T>(
  source: WatchSource<T>,
  signal: AbortSignal,
  options: WatchForeverOptions,
): Follower<T> {
  return {
    source,
    signal,
    options,
    health: options.health ?? newWatchHealth(),
    log: options.log ?? logger("watch"),
    streak: { quick: 0, barren: 0, isClean: true },
    resourceVersion: undefined,
    watchingSince: undefined,
    reported: undefined,
  };
}

async function* listAll<T>(follower: Follower<T>): AsyncGenerator<WatchChange<T>> {
  const { source, signal, health } = follower;
  const objects: T[] = [];
  let resourceVersion: string | undefined;
  // Only a first list may be a little old: later ones must not go back behind what was seen.
  const options = health.listed ? {} : { resourceVersion: "0" } as const;
  for await (const part of source.list(options, signal)) {
    noteActivity(follower);
    resourceVersion = part.resourceVersion;
    for (const object of part.items) {
      objects.push(object);
      if (!health.listed) yield { type: "set", object };
    }
  }
  if (resourceVersion === undefined) throw new Error(`the list of ${source.name} had no end`);
  yield { type: "reset", objects };
  health.listed = true;
  follower.resourceVersion = resourceVersion;
}

async function* watchOnce<T>(follower: Follower<T>): AsyncGenerator<WatchChange<T>> {
  const { source, signal, options, streak } = follower;
  const { timeoutSeconds = 300, readDeadlineMs = 75_000 } = options;
  follower.watchingSince = performance.now();
  streak.barren++;
  const watch = {
    resourceVersion: follower.resourceVersion ?? "",
    timeoutSeconds: Math.round(timeoutSeconds * (1 + Math.random())),
    readDeadlineMs,
  };
  for await (const event of source.watch(watch, signal)) {
    noteActivity(follower);
    if (event.type === "opened") continue;
    streak.barren = 0;
    follower.resourceVersion = event.resourceVersion;
    if (event.type === "set") yield { type: "set", object: event.object };
    if (event.type === "gone") yield { type: "gone", key: event.key };
  }
}

function noteActivity<T>(follower: Follower<T>): void {
  const { health, log, source } = follower;
  health.connected = true;
  health.lastActivityMs = health.lastTurnMs = Date.now();
  health.lastError = undefined;
  if (follower.reported === undefined || !hasSettled(follower)) return;
  follower.reported = undefined;
  log.info("The watch goes on again", { what: source.name });
}

function endedCleanly<T>(follower: Follower<T>): void {
  noteEnd(follower);
  follower.streak.isClean = true;
  if (follower.streak.quick > 1) report(follower, "the server ends the watch at once");
}

function failed<T>(follower: Follower<T>, error: unknown): void {
  noteEnd(follower);
  follower.streak.isClean = false;
  if (isGone(error)) follower.resourceVersion = undefined;
  // A server that has just begun asks for a moment; that it goes on asking somebody should know.
  const asksForAMoment = error instanceof ApiError && error.status === 429 &&
    follower.streak.quick === 1;
  if (asksForAMoment) interrupted(follower, messageOf(error));
  else report(follower, messageOf(error));
}

function noteEnd<T>(follower: Follower<T>): void {
  const { streak } = follower;
  streak.quick = hasSettled(follower) ? 0 : streak.quick + 1;
  follower.watchingSince = undefined;
  if (streak.barren < barrenLimit) return;
  // Where no watch ever gets through, or the server no longer knows our version, a list still helps.
  streak.barren = 0;
  follower.resourceVersion = undefined;
}

function hasSettled<T>({ watchingSince, options }: Follower<T>): boolean {
  return watchingSince !== undefined &&
    performance.now() - watchingSince >= (options.settledMs ?? 10_000);
}

function interrupted<T>({ health }: Follower<T>, cause: string): void {
  health.connected = false;
  health.lastError = cause;
}

function report<T>(follower: Follower<T>, cause: string): void {
  const { log, source } = follower;
  interrupted(follower, cause);
  if (follower.reported === cause) return;
  follower.reported = cause;
  log.warn("The watch was interrupted and is tried again", { what: source.name, cause });
}
