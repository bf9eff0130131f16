import { messageOf } from "../base/error.ts";
import { type Log, logger } from "../base/log.ts";
import { ApiError, isNotFound } from "./api_error.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject, Resource } from "./object.ts";

/** The object an event is about. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface EventText {
  readonly type: "Normal" | "Warning";
  /** UpperCamelCase. */
  readonly reason: string;
  /** Cut at 1024 bytes, the server's limit. */
  readonly message: string;
}

/** Disposing it waits for what is to be sent, up to `flushMs`. */
export interface Recorder extends AsyncDisposable {
  /** Never fails and never waits: events are sent one after the other in the background. */
  event(regarding: ObjectReference, text: EventText): void;
}

export interface RecorderOptions {
  readonly component: string;
  /** The node. */
  readonly host: string;
  /** How long the disposal may wait (default 5 s). */
  readonly flushMs?: number;
  readonly log?: Log;
}

export interface CoreEvent extends KubeObject, EventText {
  readonly involvedObject: ObjectReference;
  readonly source: { readonly component: string; readonly host: string };
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
}

export const events: Resource<CoreEvent> = {
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

const longestMessageBytes = 1_024;
const rememberedSeries = 1_000;
const longestBacklog = 500;

/** One object, reason and message; its repetitions raise the count of one Event. */
interface Series {
  event: CoreEvent;
  isSent: boolean;
}

/**
 * Records core/v1 Events as kubectl shows them. An event lies in the namespace of its object, as the
 * server demands, or in "default" for an object without one.
 */
export function createRecorder(client: KubeClient, options: RecorderOptions): Recorder {
  const { flushMs = 5_000, log = logger("events") } = options;
  const end = new AbortController();
  const known = new Map<string, Series>();
  const backlog = new Set<Series>();
  const report = failureReporter(log);
  let sending: Promise<void> | undefined;

  const sendAll = async () => {
    for (const series of backlog) {
      if (end.signal.aborted) break;
      backlog.delete(series);
      await send(client, series, end.signal).catch((error) => report(series.event, error));
    }
    sending = undefined;
  };

  return {
    event(regarding, text) {
      if (end.signal.aborted) return;
      const fresh = newEvent(regarding, text, options);
      const id = idOf(fresh);
      const series = repeated(known.get(id), fresh);
      remember(known, id, series);
      if (backlog.size >= longestBacklog) return;
      backlog.add(series);
      sending ??= sendAll();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Error("the recorder is closed");
      const timer = setTimeout(() => end.abort(closed), flushMs);
      await sending;
      clearTimeout(timer);
      end.abort(closed);
      if (backlog.size > 0) log.warn("Events were dropped at the end", { count: backlog.size });
    },
  };
}

/** The same kind of failure again is a debug line: without the right to write events all fail. */
function failureReporter(log: Log) {
  let last: string | undefined;
  return ({ involvedObject: { kind, name }, reason }: CoreEvent, error: unknown) => {
    const kindOfFailure = error instanceof ApiError ? error.reason : messageOf(error);
    const fields = { object: `${kind} ${name}`, reason, error: messageOf(error) };
    if (kindOfFailure === last) log.debug("An event could not be recorded", fields);
    else log.warn("An event could not be recorded", fields);
    last = kindOfFailure;
  };
}

function idOf({ involvedObject: about, type, reason, message }: CoreEvent): string {
  return JSON.stringify([
    about.kind,
    about.namespace,
    about.name,
    about.uid,
    type,
    reason,
    message,
  ]);
}

function repeated(series: Series | undefined, fresh: CoreEvent): Series {
  if (series === undefined) return { event: fresh, isSent: false };
  const { count } = series.event;
  series.event = { ...series.event, count: count + 1, lastTimestamp: fresh.lastTimestamp };
  return series;
}

/** Keeps the series that was used last; the oldest goes when there are too many. */
function remember(known: Map<string, Series>, id: string, series: Series): void {
  known.delete(id);
  known.set(id, series);
  if (known.size <= rememberedSeries) return;
  for (const oldest of known.keys()) {
    known.delete(oldest);
    return;
  }
}

async function send(client: KubeClient, series: Series, signal: AbortSignal): Promise<void> {
  const { event } = series;
  const { name, namespace = "default" } = event.metadata;
  if (series.isSent) {
    try {
      const { count, lastTimestamp } = event;
      const body = { count, lastTimestamp };
      await client.patch(events, { name, namespace, body }, signal);
      return;
    } catch (error) {
      // The server drops events after an hour.
      if (!isNotFound(error)) throw error;
    }
  }
  await client.create(events, event, signal);
  series.isSent = true;
}

function newEvent(
  regarding: ObjectReference,
  { type, reason, message }: EventText,
  { component, host }: RecorderOptions,
): CoreEvent {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: eventName(regarding.name), namespace: regarding.namespace ?? "default" },
    involvedObject: regarding,
    type,
    reason,
    message: cutText(message, longestMessageBytes),
    source: { component, host },
    reportingComponent: component,
    reportingInstance: host,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}

function eventName(name: string): string {
  const unique = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  return `${name.slice(0, 235).replace(/[^a-z0-9]+$/, "")}.${unique}`;
}

/** The longest start of the text that has at most `bytes` bytes and ends with a whole character. */
export function cutText(text: string, bytes: number): string {
  const encoder = new TextEncoder();
  if (text.length * 3 <= bytes || encoder.encode(text).length <= bytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(bytes - 3));
  return `${text.slice(0, read)}...`;
}
