import { logger } from "../../lib/base/log.ts";
import { readServiceContent } from "../../lib/vsphere/service_content.ts";
import { type Credentials, openSession, type Session } from "../../lib/vsphere/session.ts";
import { callOver, soapExchange } from "../../lib/vsphere/soap.ts";
import type { Wire } from "../../lib/vsphere/wire.ts";
import type { Vcenter } from "./vcenter.ts";

export interface VcenterSite {
  readonly vcenter: Vcenter;
  readonly wire: Wire;
}

/** A session as the program opens it; default: with the simulator's user and first password. */
export async function sessionAt(
  { vcenter: { host, user, password }, wire }: VcenterSite,
  credentials: () => Credentials = () => ({ user, password }),
): Promise<Session> {
  const exchange = soapExchange(wire, { userAgent: "longshore-test" });
  const never = new AbortController().signal;
  const { sessionManager } = await readServiceContent(callOver(exchange), host, never);
  return openSession({
    exchange,
    sessionManager,
    credentials: () => Promise.resolve(credentials()),
    log: logger("test"),
  });
}
