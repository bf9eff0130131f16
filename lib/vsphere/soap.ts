import { deadline, sleep } from "../base/abort.ts";
import { backoffMs } from "../base/backoff.ts";
import { messageOf } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { faultOfBody, SoapFault } from "./fault.ts";
import { type Wire, type WireAnswer, WireError } from "./wire.ts";
import { childOf, XmlError, type XmlNode } from "./xml.ts";
import { readXml, type XmlParts } from "./xml_reader.ts";
import { element, formatXml, withAttributes, type XmlElement } from "./xml_writer.ts";

/** One method of a vCenter's services, to be called. */
export interface SoapRequest<Part = never> {
  /** `vim`: vCenter itself; `vsan`: cloud native storage. */
  readonly service: Service;
  /** Named as the method; its content are the arguments in their order. */
  readonly body: XmlElement;
  /** Elements of the answer that are decoded as they come, in place of being kept. */
  readonly parts?: XmlParts<Part>;
  /** Default 60 s, from sending to the end of the answer. */
  readonly deadlineMs?: number;
  /** It must not be sent again when it may have arrived; default: every call here may. */
  readonly once?: true;
}

export type Service = "vim" | "vsan";

export interface SoapAnswer<Part> {
  /** The element `<method>Response`. */
  readonly node: XmlNode;
  readonly parts: readonly Part[];
}

/** Layers (session, retry, trace) are functions from one `Call` to another. */
export type Call = <Part = never>(
  request: SoapRequest<Part>,
  signal: AbortSignal,
) => Promise<SoapAnswer<Part>>;

/** Cookies of the answer, as they must be sent back: the session of a login. */
export interface Exchanged<Part> extends SoapAnswer<Part> {
  readonly cookie?: string;
}

/** Sends one call with a session's cookie, or without one. */
export type Exchange = <Part = never>(
  request: SoapRequest<Part> & { readonly cookie?: string },
  signal: AbortSignal,
) => Promise<Exchanged<Part>>;

export interface ExchangeOptions {
  /** vCenter shows it in its list of sessions. */
  readonly userAgent: string;
  /** Version of the vsan namespace, once it is known. */
  readonly vsanVersion?: string;
}

const paths: Readonly<Record<Service, string>> = { vim: "/sdk", vsan: "/vsanHealth" };
const namespaces: Readonly<Record<Service, string>> = { vim: "urn:vim25", vsan: "urn:vsan" };

/** The innermost layer. Throws `SoapFault`, `WireError`, or the signal's reason. */
export function soapExchange(wire: Wire, options: ExchangeOptions): Exchange {
  return async (request, signal) => {
    const { service, body, parts, cookie, deadlineMs = 60_000 } = request;
    const text = formatEnvelope(service, body);
    using limit = deadline(signal, deadlineMs, `vCenter's answer to ${body.name}`);
    try {
      const answer = await wire.send({
        method: "POST",
        path: paths[service],
        headers: headersOf(service, options, cookie),
        body: text,
      }, limit.signal);
      if (answer.status !== 200 && answer.status !== 500) throw await refusal(answer, body.name);
      const read = await readXml(answer.body, parts === undefined ? {} : { parts });
      return { ...answerOf(read.root, body.name), parts: read.parts, ...cookieOf(answer) };
    } catch (error) {
      signal.throwIfAborted();
      throw named(error, body.name);
    }
  };
}

/** With `attempts` at most, waiting between them; only what may be repeated, and what may pass. */
export function withRetry(call: Call, { attempts, firstMs, maxMs }: RetryOptions): Call {
  return async (request, signal) => {
    for (let attempt = 0;; attempt++) {
      try {
        return await call(request, signal);
      } catch (error) {
        if (attempt + 1 >= attempts || !mayRepeat(error, request.once === true)) throw error;
        await sleep(backoffMs(attempt, { firstMs, maxMs }), signal);
      }
    }
  };
}

export interface RetryOptions {
  readonly attempts: number;
  readonly firstMs: number;
  readonly maxMs: number;
}

/** For metrics: one call, with all its repetitions where the layer is outside of them. */
export interface CallRecord {
  readonly method: string;
  readonly seconds: number;
  /** `success`, the type of a fault, or what befell the connection. */
  readonly outcome: string;
}

/** Notes each call and its outcome, never what was sent. */
export function withTrace(
  call: Call,
  { log, record }: { readonly log: Log; readonly record?: (one: CallRecord) => void },
): Call {
  return async (request, signal) => {
    const started = performance.now();
    const method = request.body.name;
    const note = (outcome: string, error?: unknown) => {
      const seconds = (performance.now() - started) / 1_000;
      record?.({ method, seconds, outcome });
      const cause = error === undefined ? {} : { error: messageOf(error) };
      log.debug("vCenter was called", { method, outcome, seconds, ...cause });
    };
    try {
      const answer = await call(request, signal);
      note("success");
      return answer;
    } catch (error) {
      note(outcomeOf(error, signal), error);
      throw error;
    }
  };
}

/** The session's cookie is the exchange's; without one only few methods may be called. */
export function callOver(exchange: Exchange, cookie?: string): Call {
  return (request, signal) =>
    exchange({ ...request, ...(cookie === undefined ? {} : { cookie }) }, signal);
}

function formatEnvelope(service: Service, body: XmlElement): string {
  const method = withAttributes(body, { xmlns: namespaces[service] });
  const envelope = withAttributes(element("Envelope", element("Body", method)), {
    xmlns: "http://schemas.xmlsoap.org/soap/envelope/",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
  });
  return `<?xml version="1.0" encoding="UTF-8"?>${formatXml(envelope)}`;
}

function headersOf(
  service: Service,
  { userAgent, vsanVersion }: ExchangeOptions,
  cookie: string | undefined,
): Record<string, string> {
  const version = service === "vsan" ? vsanVersion : undefined;
  const action = namespaces[service] + (version === undefined ? "" : `/${version}`);
  return {
    "content-type": 'text/xml; charset="utf-8"',
    "soapaction": action,
    "user-agent": userAgent,
    ...(cookie === undefined ? {} : { cookie }),
  };
}

function answerOf(root: XmlNode, method: string): { readonly node: XmlNode } {
  const node = childOf(root, "Body")?.children[0];
  if (root.name !== "Envelope" || node === undefined) {
    throw new WireError("answer", `vCenter's answer to ${method} is no SOAP envelope`);
  }
  if (node.name === "Fault") throw new SoapFault(faultOfBody(node), method);
  return { node };
}

/** Byte for byte what stands before the first `;` of each. */
function cookieOf({ setCookies }: WireAnswer): { readonly cookie?: string } {
  if (setCookies.length === 0) return {};
  return { cookie: setCookies.map((one) => one.split(";", 1)[0]!.trim()).join("; ") };
}

async function refusal({ status, body }: WireAnswer, method: string): Promise<WireError> {
  // Read, so that the connection can be used again; what it says is a page for people.
  let length = 0;
  for await (const piece of body) if ((length += piece.length) > 100_000) break;
  const message = `vCenter answered ${method} with HTTP status ${status}` +
    (status >= 502 ? ": its services are not ready" : "");
  return new WireError("status", message, { status });
}

function named(error: unknown, method: string): unknown {
  if (!(error instanceof XmlError)) return error;
  const message = `vCenter's answer to ${method} cannot be read: ${error.message}`;
  return new WireError("answer", message, { cause: error });
}

function mayRepeat(error: unknown, once: boolean): boolean {
  if (error instanceof WireError) {
    if (error.fault === "connect") return true;
    if (error.fault === "status") return [429, 502, 503, 504].includes(error.status ?? 0);
    return error.fault === "lost" && !once;
  }
  return false;
}

function outcomeOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "aborted";
  if (error instanceof SoapFault) return error.fault.type || "fault";
  if (error instanceof WireError) return error.fault;
  return error instanceof DOMException && error.name === "TimeoutError" ? "timeout" : "error";
}
