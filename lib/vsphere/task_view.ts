/** vCenter's side of a watch for tasks: a list of them, and a collector that tells of their changes. */
import { type Fault, faultOfLocalized } from "./fault.ts";
import type { ServiceContent } from "./service_content.ts";
import type { Call } from "./soap.ts";
import type { TaskEnd } from "./tasks.ts";
import { childOf, childrenOf, textAt, type XmlNode } from "./xml.ts";
import { element, type Reference, reference, typed } from "./xml_writer.ts";

export interface TaskView {
  readonly collector: Reference;
  readonly list: Reference;
}

/** Needs three calls; what is made lives as long as the session. */
export async function createTaskView(
  call: Call,
  { propertyCollector, viewManager }: ServiceContent,
  signal: AbortSignal,
): Promise<TaskView> {
  const make = async (method: string, by: Reference): Promise<Reference> => {
    const body = element(method, reference("_this", by));
    const made = childOf((await call({ service: "vim", body }, signal)).node, "returnval");
    return { type: made?.refType ?? "", value: made?.text ?? "" };
  };
  const collector = await make("CreatePropertyCollector", propertyCollector);
  const list = await make("CreateListView", viewManager);
  const traversal = typed(
    "selectSet",
    "TraversalSpec",
    element("type", "ListView"),
    element("path", "view"),
    element("skip", "false"),
  );
  const filter = element(
    "CreateFilter",
    reference("_this", collector),
    element(
      "spec",
      element("propSet", element("type", "Task"), element("pathSet", "info")),
      element("objectSet", reference("obj", list), element("skip", "true"), traversal),
      element("reportMissingObjectsInResults", "true"),
    ),
    element("partialUpdates", "false"),
  );
  await call({ service: "vim", body: filter }, signal);
  return { collector, list };
}

/** Gives the tasks that vCenter does not know. */
export async function changeTaskView(
  call: Call,
  { list }: TaskView,
  { add, remove, signal }: {
    readonly add: readonly string[];
    readonly remove: readonly string[];
    readonly signal: AbortSignal;
  },
): Promise<readonly string[]> {
  const references = (name: string, ids: readonly string[]) =>
    ids.map((value) => reference(name, { type: "Task", value }));
  const body = element(
    "ModifyListView",
    reference("_this", list),
    references("add", add),
    references("remove", remove),
  );
  const { node } = await call({ service: "vim", body }, signal);
  return childrenOf(node, "returnval").map(({ text }) => text);
}

export interface TaskChanges {
  /** To be told at the next question. */
  readonly version: string;
  /** Tasks that have ended, by their id. */
  readonly ended: ReadonlyMap<string, TaskEnd>;
}

/** Waits at vCenter until something changes, at most `maxWaitSeconds`: then `undefined`. */
export async function waitForTasks(
  call: Call,
  { collector }: TaskView,
  { version, maxWaitSeconds, signal }: {
    readonly version: string | undefined;
    readonly maxWaitSeconds: number;
    readonly signal: AbortSignal;
  },
): Promise<TaskChanges | undefined> {
  const body = element(
    "WaitForUpdatesEx",
    reference("_this", collector),
    version === undefined ? undefined : element("version", version),
    element("options", element("maxWaitSeconds", `${maxWaitSeconds}`)),
  );
  const deadlineMs = (maxWaitSeconds + 30) * 1_000;
  const { node } = await call({ service: "vim", body, deadlineMs }, signal);
  const changes = childOf(node, "returnval");
  return changes === undefined
    ? undefined
    : { version: textAt(changes, "version"), ended: endedIn(changes) };
}

/** Gives back what `createTaskView` made, where the session goes on. */
export async function destroyTaskView(call: Call, view: TaskView, signal: AbortSignal) {
  const destroy = (method: string, one: Reference) =>
    call({ service: "vim", body: element(method, reference("_this", one)) }, signal);
  await destroy("DestroyPropertyCollector", view.collector);
  await destroy("DestroyView", view.list);
}

function endedIn(changes: XmlNode): Map<string, TaskEnd> {
  const ended = new Map<string, TaskEnd>();
  for (const set of childrenOf(changes, "filterSet")) {
    for (const missing of childrenOf(set, "missingObjects")) {
      ended.set(textAt(missing, "obj"), { is: "vanished" });
    }
    for (const object of childrenOf(set, "objectSet")) {
      for (const change of childrenOf(object, "changeSet")) {
        const end = textAt(change, "name") === "info" ? endOf(childOf(change, "val")) : undefined;
        if (end !== undefined) ended.set(textAt(object, "obj"), end);
      }
    }
  }
  return ended;
}

const unexplained: Fault = { type: "", message: "no reason was given", class: "retry" };

function endOf(info: XmlNode | undefined): TaskEnd | undefined {
  const error = childOf(info, "error");
  switch (textAt(info, "state")) {
    case "success":
      return { is: "success", result: childOf(info, "result") };
    case "error":
      return { is: "error", fault: error === undefined ? unexplained : faultOfLocalized(error) };
    default:
      return undefined;
  }
}
