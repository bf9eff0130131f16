import { deadline, sleep } from "../base/abort.ts";
import { backoffMs } from "../base/backoff.ts";
import { type Fault, faultOfLocalized, SoapFault } from "./fault.ts";
import type { Call } from "./soap.ts";
import { childOf, childrenOf, textAt, type XmlNode } from "./xml.ts";
import { element, type Reference, reference } from "./xml_writer.ts";

/** How a task of vCenter came out. */
export type TaskEnd =
  | { readonly is: "success"; readonly result: XmlNode | undefined }
  | { readonly is: "error"; readonly fault: Fault }
  /** vCenter does not know it any more, as after its restart: whether it was done is unknown. */
  | { readonly is: "vanished" };

/** Awaits the end of a task: throws a TimeoutError, what the connection throws, or the reason. */
export type AwaitTask = (task: Reference, signal: AbortSignal) => Promise<TaskEnd>;

export interface PollOptions {
  /** Before the second look; doubled up to `maxMs` (default 50 ms, 2 s). */
  readonly firstMs?: number;
  readonly maxMs?: number;
  /** For the whole task (default 300 s, as the CSI driver has it). */
  readonly limitMs?: number;
}

/** Looks at each task by itself, ever more seldom. */
export function pollTasks(
  call: Call,
  propertyCollector: Reference,
  { firstMs = 50, maxMs = 2_000, limitMs = 300_000 }: PollOptions = {},
): AwaitTask {
  return async (task, signal) => {
    using limit = deadline(signal, limitMs, `The task ${task.value} of vCenter`);
    for (let look = 0;; look++) {
      const end = await lookAt(call, { propertyCollector, task }, limit.signal);
      if (end !== undefined) return end;
      await sleep(backoffMs(look, { firstMs, maxMs }), limit.signal);
    }
  };
}

interface Looked {
  readonly propertyCollector: Reference;
  readonly task: Reference;
}

/** Undefined while it goes on. */
async function lookAt(
  call: Call,
  looked: Looked,
  signal: AbortSignal,
): Promise<TaskEnd | undefined> {
  try {
    const { node } = await call({ service: "vim", body: retrieveState(looked) }, signal);
    const properties = childrenOf(childOf(node, "returnval"), "propSet");
    const property = (name: string) =>
      childOf(properties.find((one) => textAt(one, "name") === name), "val");
    const error = property("info.error");
    switch (property("info.state")?.text) {
      case "success":
        return { is: "success", result: property("info.result") };
      case "error":
        return { is: "error", fault: error === undefined ? unexplained : faultOfLocalized(error) };
      default:
        return undefined;
    }
  } catch (error) {
    const isGone = error instanceof SoapFault && error.fault.type === "ManagedObjectNotFound";
    if (isGone) return { is: "vanished" };
    throw error;
  }
}

const unexplained: Fault = { type: "", message: "no reason was given", class: "retry" };

function retrieveState({ propertyCollector, task }: Looked) {
  return element(
    "RetrieveProperties",
    reference("_this", propertyCollector),
    element(
      "specSet",
      element(
        "propSet",
        element("type", "Task"),
        ["info.state", "info.result", "info.error"].map((path) => element("pathSet", path)),
      ),
      element("objectSet", reference("obj", task)),
    ),
  );
}
