import tls from "node:tls";
import { messageOf } from "../base/error.ts";
import type { TlsRules } from "./sockets.ts";
import { WireError } from "./wire.ts";

interface Server {
  readonly host: string;
  readonly port: number;
}

interface Checked {
  readonly ca: readonly string[];
  readonly servername: string;
}

/** Why a handshake with these rules is refused; undefined when it succeeds, or there is none. */
export async function certificateFault(
  { host, port }: Server,
  { ca, servername }: Checked,
): Promise<string | undefined> {
  let tcp: Deno.TcpConn;
  try {
    tcp = await Deno.connect({ hostname: host, port });
  } catch {
    return undefined;
  }
  try {
    using secure = await Deno.startTls(tcp, { hostname: servername, caCerts: [...ca] });
    await secure.handshake();
    return undefined;
  } catch (error) {
    return messageOf(error).replace(/^invalid peer certificate: /, "");
  }
}

/**
 * The rules for a certificate that is known by its fingerprint. One that the system's authorities
 * vouch for is accepted as it is. Any other must have the fingerprint and be signed by itself: then
 * it is its own authority, and each connection proves that the server holds its key. Comparing
 * fingerprints alone would prove nothing, because anybody can present a copy of a certificate.
 */
export async function pinned(server: Server, thumbprint: string): Promise<TlsRules> {
  const { host, port } = server;
  const where = `${host}:${port}`;
  const presented = await presentedBy(server);
  const usual = { ca: [], servername: host };
  const fault = await certificateFault(server, usual);
  if (fault === undefined) return { rejectUnauthorized: true, ...usual };
  const found = thumbprint.length > 60 ? presented.sha256 : presented.sha1;
  if (found !== thumbprint) {
    throw new WireError(
      "certificate",
      `the certificate of ${where} has the fingerprint ${found}, not ${thumbprint} as configured ` +
        "with thumbprint. Nothing was sent. If the vCenter has a new certificate, configure its " +
        "fingerprint",
    );
  }
  const own = { ca: [presented.pem], servername: presented.nameFor(host) };
  const ownFault = await certificateFault(server, own);
  if (ownFault === undefined) return { rejectUnauthorized: true, ...own };
  throw new WireError(
    "certificate",
    `the certificate of ${where} has the configured fingerprint, but whether the server holds its ` +
      `key cannot be checked (${ownFault}). Nothing was sent. Give the certificate of its ` +
      `authority as ca-file instead; a vCenter offers it at https://${host}/certs/download.zip`,
  );
}

/** Looks at the certificate; nothing but the handshake is sent. */
function presentedBy({ host, port }: Server): Promise<Presented> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({
      host,
      port,
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: false,
    });
    socket.once("error", (cause) => {
      const message = `no connection to ${host}:${port}: ${messageOf(cause)}`;
      reject(new WireError("connect", message, { cause }));
    });
    socket.once("secureConnect", () => {
      const certificate = socket.getPeerCertificate();
      socket.destroy();
      resolve(presentedOf(certificate));
    });
  });
}

interface Presented {
  readonly sha1: string;
  readonly sha256: string;
  readonly pem: string;
  /** The name to check: the host, or another of the certificate's where the host is not in it. */
  nameFor(host: string): string;
}

function presentedOf(certificate: tls.PeerCertificate): Presented {
  const names = (certificate.subjectaltname ?? "").split(", ").map((name) =>
    name.replace(/^(DNS|IP Address):/, "")
  );
  const lines = btoa(String.fromCharCode(...certificate.raw)).match(/.{1,64}/g) ?? [];
  return {
    sha1: certificate.fingerprint,
    sha256: certificate.fingerprint256,
    pem: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    nameFor: (host) => names.includes(host) ? host : names[0] || host,
  };
}
