/**
 * HTTP over TLS that checks less or another name than `fetch` can: insecure-skip-tls-verify and
 * tls-server-name. Made of undici with a `connect` over node:tls; loaded only when needed. It goes
 * straight to the server: HTTPS_PROXY is not followed here.
 */
import tls from "node:tls";
import { Agent, fetch as undiciFetch } from "undici";
import { ConfigError, messageOf } from "../base/error.ts";
import type { Certificate, Connection } from "./connection.ts";
import { type Purpose, type Wire, WireError, type WireRequest } from "./wire.ts";

interface Sockets {
  readonly agent: Agent;
  /** Ends every connection, with or without requests. */
  destroy(): void;
}

/** A wire with own TLS rules. Proxies are not supported: a proxy-url throws `ConfigError`. */
export function openOwnTlsWire(
  connection: Connection,
  purpose: Purpose,
  certificate: Certificate | undefined,
): Wire {
  if (connection.proxyUrl !== undefined) {
    throw new ConfigError(
      `Cannot use ${connection.source}: proxy-url together with insecure-skip-tls-verify or ` +
        "tls-server-name is not supported; give the cluster's certificate-authority instead",
    );
  }
  const open = () => openSockets(connection, certificate);
  // undici does not free the socket of an aborted stream: each watch has sockets of its own.
  const common = purpose === "call" ? open() : undefined;
  return {
    keepsAborted: purpose === "call",
    close: () => common?.destroy(),
    async send(url, request) {
      const sockets = common ?? open();
      if (common === undefined) {
        request.signal.addEventListener("abort", sockets.destroy, { once: true });
      }
      try {
        return await exchange(url, request, sockets);
      } catch (error) {
        request.signal.throwIfAborted();
        throw await wireError(error, connection);
      }
    },
  };
}

async function exchange(url: string, { signal, ...request }: WireRequest, { agent }: Sockets) {
  const answer = await undiciFetch(url, {
    ...request,
    signal,
    dispatcher: agent,
    redirect: "manual",
  });
  // The same stream; only its declared type comes from node:stream/web.
  return answer as Omit<typeof answer, "body"> & { body: ReadableStream<Uint8Array> | null };
}

function openSockets(connection: Connection, certificate: Certificate | undefined): Sockets {
  const open = new Set<tls.TLSSocket>();
  const agent = new Agent({
    // Deadlines are the transport's; a quiet watch is no fault.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 45_000,
    connect({ hostname, port }, done) {
      const socket = tls.connect({
        host: hostname.replace(/^\[|\]$/g, ""),
        port: Number(port || 443),
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: connection.insecure !== true,
        ...(connection.tlsServerName === undefined ? {} : { servername: connection.tlsServerName }),
        ...(connection.ca === undefined ? {} : { ca: connection.ca }),
        ...(certificate ?? {}),
      });
      open.add(socket);
      const refuse = (error: Error) => done(error, null);
      socket.once("error", refuse);
      socket.once("close", () => open.delete(socket));
      socket.once("secureConnect", () => {
        socket.off("error", refuse);
        done(null, socket);
      });
    },
  });
  return {
    agent,
    destroy() {
      agent.destroy().catch(() => {});
      for (const socket of open) socket.destroy();
    },
  };
}

const connectCodes = ["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"];

/**
 * Deno reports a refused certificate as "write UNKNOWN", after the connection seemed to stand; a
 * handshake by Deno itself tells the true cause.
 */
async function wireError(error: unknown, connection: Connection): Promise<WireError> {
  const cause = (error as { cause?: { code?: string } }).cause ?? error;
  const code = (cause as { code?: string }).code ?? "";
  const text = messageOf(cause);
  if (code === "UNKNOWN" && connection.insecure !== true) {
    return new WireError("certificate", await certificateFault(connection) ?? text, { cause });
  }
  return new WireError(connectCodes.includes(code) ? "connect" : "lost", text, { cause });
}

async function certificateFault(connection: Connection): Promise<string | undefined> {
  const { hostname, port } = new URL(connection.server);
  const plain = hostname.replace(/^\[|\]$/g, "");
  try {
    const tcp = await Deno.connect({ hostname: plain, port: Number(port || 443) });
    using secure = await Deno.startTls(tcp, {
      hostname: connection.tlsServerName ?? plain,
      ...(connection.ca === undefined ? {} : { caCerts: [connection.ca] }),
    });
    await secure.handshake();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
