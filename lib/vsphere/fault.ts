import { childOf, childrenOf, textAt, type XmlNode } from "./xml.ts";

/** What vCenter says went wrong: with a call, a task, or one volume of a call. */
export interface Fault {
  /** The type's name without a prefix, also one that nobody here knows. */
  readonly type: string;
  /** One line of at most 1,000 characters, the same for the same fault. */
  readonly message: string;
  readonly class: FaultClass;
}

/**
 * What follows: try again later, the volume does not exist, do not try again without a change, log
 * in again, or leave the account alone.
 */
export type FaultClass = "retry" | "gone" | "permanent" | "session" | "login";

/** A call was answered with a fault. The message says what was called. */
export class SoapFault extends Error {
  override readonly name = "SoapFault";
  constructor(readonly fault: Fault, what: string) {
    super(`${what} failed: ${fault.message}`);
  }
}

/** The fault of a SOAP body. */
export function faultOfBody(body: XmlNode): Fault {
  const detail = childOf(body, "detail")?.children[0];
  const said = textAt(body, "faultstring");
  return detail === undefined
    ? { type: "", message: oneLine(said) || "no reason was given", class: "retry" }
    : faultOf(detail, { type: typeOf(detail), said });
}

/** A LocalizedMethodFault: of a task, a volume, or the cause of another. */
export function faultOfLocalized(node: XmlNode): Fault {
  const fault = childOf(node, "fault");
  const said = textAt(node, "localizedMessage");
  if (fault !== undefined) return faultOf(fault, { type: fault.type, said });
  return { type: "", message: oneLine(said) || "no reason was given", class: "retry" };
}

/** Unknown types are tried again: a new vCenter may have a name for what passes. */
const classes: Readonly<Record<string, FaultClass>> = {
  NotAuthenticated: "session",
  InvalidLogin: "login",
  NotFound: "gone",
  CnsVolumeNotFoundFault: "gone",
  CnsNotRegisteredFault: "gone",
  NoPermission: "permanent",
  InvalidArgument: "permanent",
  InvalidRequest: "permanent",
  InvalidType: "permanent",
  MethodNotFound: "permanent",
  NotImplemented: "permanent",
  NotSupported: "permanent",
  CnsVolumeAlreadyExistsFault: "permanent",
  CnsAlreadyRegisteredFault: "permanent",
};

function typeOf(detail: XmlNode): string {
  return detail.type || detail.name.replace(/Fault$/, "");
}

function faultOf(
  node: XmlNode,
  { type, said }: { readonly type: string; readonly said: string },
): Fault {
  const cause = childOf(node, "faultCause");
  const inner = cause === undefined ? undefined : faultOfLocalized(cause);
  const texts = [
    said,
    textAt(node, "reason"),
    ...childrenOf(node, "faultMessage").map((one) => textAt(one, "message")),
  ].map(oneLine);
  const facts = [
    ["property", textAt(node, "invalidProperty")],
    ["privilege", textAt(node, "privilegeId")],
    ["method", textAt(node, "method")],
  ].filter(([, value]) => value !== "").map(([name, value]) => `${name} ${value}`);
  const parts = [...new Set([...texts, ...facts].filter((text) => text !== ""))];
  const own = [type, parts.join("; ")].filter((text) => text !== "").join(": ");
  const message = inner === undefined ? own : `${own} (caused by ${inner.message})`;
  return { type, message: shortened(message), class: classOf(type, message, inner) };
}

function classOf(type: string, message: string, inner: Fault | undefined): FaultClass {
  // A whole call is refused for it, whatever its type: see the limits of CNS.
  if (/Duplicated entity for each entity type/.test(message)) return "permanent";
  const known = classes[type];
  if (known !== undefined) return known;
  return type === "CnsFault" && inner !== undefined ? inner.class : "retry";
}

const longest = 1_000;

function shortened(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** Without the names of single operations: a repeated fault would never be the same as before. */
function oneLine(text: string): string {
  return text.replace(/\b(opId|operationID|activationId)\b\s*[=:]?\s*["']?[\w-]+["']?/gi, "")
    .replace(/\s+/g, " ").trim();
}
