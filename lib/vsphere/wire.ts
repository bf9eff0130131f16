import { readFile } from "node:fs/promises";
import { ConfigError, messageOf } from "../base/error.ts";
import type { Trust, VCenter } from "./vsphere_conf.ts";

/** Where a vCenter is, and how to know that it is him. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly trust: Trust;
}

export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WireAnswer {
  readonly status: number;
  readonly setCookies: readonly string[];
  /** To be read to its end, or left by leaving the loop. An abort ends it. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Connections (HTTP/1.1) to one vCenter that go away together. */
export interface Wire extends Disposable {
  /** Sends once, never a second time by itself. Throws `WireError`, or the signal's reason. */
  send(request: WireRequest, signal: AbortSignal): Promise<WireAnswer>;
}

/**
 * `connect`: never sent. `certificate`: never sent, and it is not known that this is the vCenter.
 * `lost`: sent, perhaps done. `status`: refused by something in front of vCenter's services.
 * `answer`: no SOAP came back.
 */
export type WireFault = "connect" | "certificate" | "lost" | "status" | "answer";

/** vCenter did not answer, or not with SOAP. */
export class WireError extends Error {
  override readonly name = "WireError";
  constructor(
    readonly fault: WireFault,
    message: string,
    options?: ErrorOptions & { readonly status?: number },
  ) {
    super(message, options);
    this.status = options?.status;
  }
  readonly status: number | undefined;
}

export interface WireOptions {
  /** How many connections at most (default 4). */
  readonly connections?: number;
}

/** What the certificate is checked against. */
export type Anchors =
  | { readonly check: "nothing" }
  /** PEM texts, besides the authorities of the system. */
  | { readonly check: "authorities"; readonly pems: readonly string[] }
  | { readonly check: "thumbprint"; readonly thumbprint: string };

/** Reads the authorities' files, and loads what makes connections. Throws `ConfigError`. */
export async function openWire(address: Address, options: WireOptions = {}): Promise<Wire> {
  const anchors = await anchorsOf(address.trust);
  const { openSockets } = await import("./sockets.ts");
  return openSockets({ ...address, anchors }, options);
}

/** The part of a vCenter's configuration that says how to connect. */
export function addressOf({ host, port, trust }: VCenter): Address {
  return { host, port, trust };
}

async function anchorsOf(trust: Trust): Promise<Anchors> {
  switch (trust.by) {
    case "nothing":
      return { check: "nothing" };
    case "authority":
      return { check: "authorities", pems: await Promise.all(trust.files.map(pemOf)) };
    case "thumbprint":
      return { check: "thumbprint", thumbprint: trust.thumbprint };
    case "system":
      return { check: "authorities", pems: [] };
    default:
      return trust satisfies never;
  }
}

async function pemOf(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`Cannot read the ca-file "${path}": ${messageOf(cause)}`, { cause });
  }
  if (/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(text)) return text;
  throw new ConfigError(`Cannot use the ca-file "${path}": it holds no certificate in PEM form`);
}
