/**
 * The connections to a vCenter: undici with a `connect` over node:tls, because `fetch` cannot leave
 * the check of one server's certificate to us, and repeats a request by itself. Loaded on demand.
 */
import tls from "node:tls";
import { Agent, request as undiciRequest } from "undici";
import { messageOf } from "../base/error.ts";
import { certificateFault, pinned } from "./pin.ts";
import { type Anchors, type Wire, WireError, type WireOptions } from "./wire.ts";

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly anchors: Anchors;
}

/** How a connection is checked. */
export interface TlsRules {
  readonly rejectUnauthorized: boolean;
  readonly ca: readonly string[];
  /** The name that must be in the certificate, where it is not the host's. */
  readonly servername?: string;
}

export function openSockets(target: Target, { connections = 4 }: WireOptions): Wire {
  const open = new Set<tls.TLSSocket>();
  const rules = rulesOf(target);
  const agent = new Agent({
    connections,
    pipelining: 1,
    // Deadlines are the caller's; a long poll is quiet for a minute.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    connect(_options, done) {
      rules.get().then((rules) => connectTo(target, rules, { open, done }), (error) => {
        done(error, null);
      });
    },
  });
  return {
    async send({ method, path, headers, body }, signal) {
      signal.throwIfAborted();
      const url = `https://${urlHost(target.host)}:${target.port}${path}`;
      try {
        const options = { method, headers, dispatcher: agent, signal, body: body ?? null };
        const answer = await undiciRequest(url, options);
        const { statusCode: status, headers: { "set-cookie": cookies = [] }, body: pieces } =
          answer;
        return { status, setCookies: [cookies].flat(), body: piecesOf(pieces, signal) };
      } catch (error) {
        signal.throwIfAborted();
        const thrown = await wireError(error, target, rules);
        // The vCenter may have a new certificate: what was found out about the old one is void.
        if (thrown.fault === "certificate") rules.forget();
        throw thrown;
      }
    },
    [Symbol.dispose]() {
      agent.destroy().catch(() => {});
      for (const socket of open) socket.destroy();
    },
  };
}

type Rules = ReturnType<typeof rulesOf>;

/** Found out at the first connection, and then kept. */
function rulesOf({ host, port, anchors }: Target) {
  let found: Promise<TlsRules> | undefined;
  const find = (): Promise<TlsRules> => {
    if (anchors.check === "thumbprint") return pinned({ host, port }, anchors.thumbprint);
    const ca = anchors.check === "authorities" ? anchors.pems : [];
    return Promise.resolve({ rejectUnauthorized: anchors.check !== "nothing", ca });
  };
  const forget = () => void (found = undefined);
  return {
    get() {
      found ??= find();
      found.catch(forget);
      return found;
    },
    forget,
  };
}

interface Connecting {
  readonly open: Set<tls.TLSSocket>;
  readonly done: (...result: [null, tls.TLSSocket] | [Error, null]) => void;
}

function connectTo({ host, port }: Target, rules: TlsRules, { open, done }: Connecting): void {
  const { rejectUnauthorized, ca, servername } = rules;
  const socket = tls.connect({
    host,
    port,
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized,
    ...(ca.length === 0 ? {} : { ca: [...ca] }),
    // An address is no server name; it is checked as the host is.
    ...(servername === undefined || servername === host ? {} : { servername }),
  });
  open.add(socket);
  const refuse = (error: Error) => done(error, null);
  socket.once("error", refuse);
  socket.once("close", () => open.delete(socket));
  // Nothing is written before the handshake has ended, though this event may come earlier.
  socket.once("secureConnect", () => {
    socket.off("error", refuse);
    done(null, socket);
  });
}

/** An abort given to undici does not always end a body that is being read; this one does. */
async function* piecesOf(
  body: AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const stop = () => {
    aborted.reject(signal.reason);
    body.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  const pieces = body[Symbol.asyncIterator]();
  try {
    while (true) {
      signal.throwIfAborted();
      const { done, value } = await Promise.race([pieces.next(), aborted.promise]);
      if (done) return;
      yield value;
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new WireError("lost", `the answer broke off: ${messageOf(cause)}`, { cause });
  } finally {
    signal.removeEventListener("abort", stop);
    body.destroy();
  }
}

/** Before anything is sent. */
const connectCodes = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ETIMEDOUT)$/;

/** Deno reports a refused certificate as "write UNKNOWN"; a handshake of its own tells the cause. */
async function wireError(error: unknown, target: Target, rules: Rules): Promise<WireError> {
  if (error instanceof WireError) return error;
  const code = String((error as { code?: unknown }).code ?? "");
  const where = `${target.host}:${target.port}`;
  if (connectCodes.test(code)) {
    return new WireError("connect", `no connection to ${where}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const { rejectUnauthorized, ca, servername } = await rules.get().catch(() => unchecked);
  if (code === "UNKNOWN" && rejectUnauthorized) {
    const fault = await certificateFault(target, { ca, servername: servername ?? target.host });
    if (fault !== undefined) {
      const message = `the certificate of ${where} is not accepted: ${fault}. ${adviceFor(fault)}`;
      return new WireError("certificate", message, { cause: error });
    }
  }
  return new WireError("lost", `the connection to ${where} broke off: ${messageOf(error)}`, {
    cause: error,
  });
}

function adviceFor(fault: string): string {
  if (/Expired/i.test(fault)) return "It must be renewed";
  if (/NotValidForName|not valid for name/i.test(fault)) {
    return "Name the vCenter as its certificate does";
  }
  return "Give the certificate of its authority as ca-file";
}

const unchecked: TlsRules = { rejectUnauthorized: false, ca: [] };

function urlHost(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}
