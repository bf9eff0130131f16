import type { Log } from "../base/log.ts";
import { readServiceContent, type ServiceContent } from "./service_content.ts";
import { type Credentials, openSession, type Session } from "./session.ts";
import {
  type Call,
  callOver,
  type CallRecord,
  soapExchange,
  withRetry,
  withTrace,
} from "./soap.ts";
import { watchTasks } from "./task_watch.ts";
import type { AwaitTask } from "./tasks.ts";
import { readVsanVersion, type VsanVersion } from "./version.ts";
import { type Address, openWire } from "./wire.ts";

/** One vCenter with all layers: connections, session, repetition, trace, tasks. */
export interface Vcenter extends AsyncDisposable {
  readonly call: Call;
  readonly awaitTask: AwaitTask;
  readonly session: Session;
  readonly content: ServiceContent;
  readonly version: VsanVersion;
}

export interface VcenterOptions {
  /** vCenter shows it in its list of sessions. */
  readonly userAgent: string;
  /** Asked before each login, so that a changed password is seen. */
  readonly credentials: () => Promise<Credentials>;
  readonly log: Log;
  readonly record?: (one: CallRecord) => void;
}

const patience = { attempts: 4, firstMs: 500, maxMs: 8_000 };

/**
 * Finds out what the server is and opens all that is needed to work with it; the first call logs in.
 * Disposing it logs out. Another address, or another authority in the same file, needs a new one.
 */
export async function openVcenter(
  address: Address,
  { userAgent, credentials, log, record }: VcenterOptions,
  signal: AbortSignal,
): Promise<Vcenter> {
  await using stack = new AsyncDisposableStack();
  const wire = stack.use(await openWire(address));
  const ownWire = stack.use(await openWire(address, { connections: 1 }));
  const content = await readServiceContent(
    withRetry(callOver(soapExchange(wire, { userAgent })), patience),
    address.host,
    signal,
  );
  const version = await readVsanVersion(wire, userAgent, signal);
  const options = { userAgent, vsanVersion: version.version };
  const exchange = soapExchange(wire, options);
  const { sessionManager } = content;
  const session = stack.use(openSession({ exchange, sessionManager, credentials, log }));
  const longPolls = soapExchange(ownWire, options);
  const { awaitTask } = stack.use(watchTasks({ session, content, exchange, longPolls, log }));
  const traced = record === undefined ? { log } : { log, record };
  const owned = stack.move();
  return {
    call: withTrace(withRetry(session.call, patience), traced),
    awaitTask,
    session,
    content,
    version,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
