import { ConfigError } from "../base/error.ts";
import type { Call } from "./soap.ts";
import { childOf, textAt, type XmlNode } from "./xml.ts";
import { element, type Reference, reference } from "./xml_writer.ts";

/** The managers of a vCenter, and what it says about itself. */
export interface ServiceContent {
  readonly sessionManager: Reference;
  readonly propertyCollector: Reference;
  readonly viewManager: Reference;
  /** For logs: `VMware vCenter Server 8.0.3 build-1`. */
  readonly fullName: string;
  readonly apiVersion: string;
  readonly instanceUuid: string;
}

const serviceInstance: Reference = { type: "ServiceInstance", value: "ServiceInstance" };

/** Needs no login. Throws `ConfigError` when the server is no vCenter. */
export async function readServiceContent(
  call: Call,
  host: string,
  signal: AbortSignal,
): Promise<ServiceContent> {
  const body = element("RetrieveServiceContent", reference("_this", serviceInstance));
  const content = childOf((await call({ service: "vim", body }, signal)).node, "returnval");
  const about = childOf(content, "about");
  const apiType = textAt(about, "apiType");
  if (apiType !== "VirtualCenter") {
    const what = apiType === "HostAgent" ? "is an ESXi host" : `has the API type "${apiType}"`;
    throw new ConfigError(
      `Cannot use "${host}": it ${what}, not a vCenter. Name the vCenter that manages it in ` +
        "[VirtualCenter]",
    );
  }
  return {
    sessionManager: managerOf(content, "sessionManager", host),
    propertyCollector: managerOf(content, "propertyCollector", host),
    viewManager: managerOf(content, "viewManager", host),
    fullName: textAt(about, "fullName"),
    apiVersion: textAt(about, "apiVersion"),
    instanceUuid: textAt(about, "instanceUuid"),
  };
}

/** vCenter's time: the cheapest call that needs a session. */
export const currentTime = element("CurrentTime", reference("_this", serviceInstance));

function managerOf(content: XmlNode | undefined, name: string, host: string): Reference {
  const node = childOf(content, name);
  if (node === undefined || node.text === "") {
    throw new ConfigError(`Cannot use "${host}": it says nothing of its ${name}`);
  }
  return { type: node.refType, value: node.text };
}
