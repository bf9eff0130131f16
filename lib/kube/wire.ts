import { ConfigError } from "../base/error.ts";
import { causeText } from "./api_error.ts";
import type { Certificate, Connection } from "./connection.ts";

export interface WireRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Aborted at the end of the request in any case, also after a good one. */
  readonly signal: AbortSignal;
}

export interface WireAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Calls share few connections; each watch has a socket of its own, freed with it. */
export type Purpose = "call" | "watch";

/** One HTTP client: the connections that go away together. */
export interface Wire {
  /** Throws `WireError`, or the signal's reason. */
  send(url: string, request: WireRequest): Promise<WireAnswer>;
  close(): void;
  /** An aborted request may leave its connection behind, until `close`. */
  readonly keepsAborted: boolean;
}

export type WireFault = "connect" | "certificate" | "lost";

/** No answer came: never sent (connect, certificate), or lost after it was sent. */
export class WireError extends Error {
  override readonly name = "WireError";
  constructor(readonly fault: WireFault, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Makes the wire for a purpose. What undici is needed for is loaded on demand. */
export async function openWire(
  connection: Connection,
  purpose: Purpose,
  certificate: Certificate | undefined,
): Promise<Wire> {
  if (connection.insecure || connection.tlsServerName !== undefined) {
    const { openOwnTlsWire } = await import("./insecure.ts");
    return openOwnTlsWire(connection, purpose, certificate);
  }
  return openDenoWire(connection, purpose, certificate);
}

/**
 * Deno's own client. HTTP/2 has 100 streams a connection and further requests block silently, so
 * watches stay with HTTP/1.1. Unused connections go before the 90 s after which API servers close
 * them: a request on a connection that the server has just closed is lost.
 *
 * HTTPS_PROXY and NO_PROXY are followed by Deno itself; NO_PROXY also wins over an explicit
 * proxy-url (in client-go proxy-url wins). Nothing here can change that: take the server's name out
 * of NO_PROXY.
 */
function openDenoWire(
  { ca, proxyUrl, source }: Connection,
  purpose: Purpose,
  certificate: Certificate | undefined,
): Wire {
  let client: Deno.HttpClient;
  try {
    client = Deno.createHttpClient({
      ...(ca === undefined ? {} : { caCerts: [ca] }),
      ...(certificate ?? {}),
      ...(proxyUrl === undefined ? {} : { proxy: { url: proxyUrl } }),
      ...(purpose === "watch"
        ? { http2: false, poolMaxIdlePerHost: 0 }
        : { http2: true, poolIdleTimeout: 45_000 }),
    });
  } catch (cause) {
    throw new ConfigError(
      `Cannot use the certificates of ${source}: ${
        causeText(cause)
      }. Check that the certificate, ` +
        "its key and the authority are whole PEM texts",
    );
  }
  return {
    keepsAborted: false,
    close: () => client.close(),
    async send(url, request) {
      // Deno sends a request a second time by itself when the connection ends before the answer, a
      // POST too; not so when its body is a stream. Which writes are repeated is for us to decide.
      const body = request.body === undefined ? null : new Blob([request.body]).stream();
      try {
        return await fetch(url, { ...request, body, client, redirect: "manual" });
      } catch (error) {
        request.signal.throwIfAborted();
        throw wireError(error);
      }
    },
  };
}

function wireError(error: unknown): WireError {
  const text = causeText(error);
  const [, at, cause = text] = text.match(/client error \((\w+)\)(?:: (.*))?$/) ?? [];
  if (at !== "Connect") return new WireError("lost", cause, { cause: error });
  const isCertificate = /certificate|BadSignature|UnsupportedName/i.test(cause);
  return new WireError(isCertificate ? "certificate" : "connect", cause, { cause: error });
}
