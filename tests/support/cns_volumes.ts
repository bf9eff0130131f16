import type { Call } from "../../lib/vsphere/soap.ts";
import { pollTasks } from "../../lib/vsphere/tasks.ts";
import { childOf, childrenOf, textAt, type XmlNode } from "../../lib/vsphere/xml.ts";
import { element, type Reference, reference, typed } from "../../lib/vsphere/xml_writer.ts";

const never = new AbortController().signal;
const collector: Reference = { type: "PropertyCollector", value: "propertyCollector" };

/** Makes BLOCK volumes of 1 MiB on the simulator's datastore; gives their ids, in the order of names. */
export async function createVolumes(call: Call, names: readonly string[]): Promise<string[]> {
  const [datacenter] = await referencesIn(
    call,
    { type: "Folder", value: "group-d1" },
    "childEntity",
  );
  const [datastore] = await referencesIn(call, datacenter!, "datastore");
  const ids: string[] = [];
  for (const name of names) ids.push(await createVolume(call, name, datastore!));
  return ids;
}

async function createVolume(call: Call, name: string, datastore: Reference): Promise<string> {
  const cluster = element(
    "containerCluster",
    element("clusterType", "KUBERNETES"),
    element("clusterId", "supervisor"),
    element("vSphereUser", "u"),
  );
  const body = element(
    "CnsCreateVolume",
    reference("_this", { type: "CnsVolumeManager", value: "cns-volume-manager" }),
    element(
      "createSpecs",
      element("name", name),
      element("volumeType", "BLOCK"),
      reference("datastores", datastore),
      element("metadata", cluster),
      typed("backingObjectDetails", "CnsBlockBackingDetails", element("capacityInMb", "1")),
    ),
  );
  const { node } = await call({ service: "vsan", body }, never);
  const task = { type: "Task", value: textAt(node, "returnval") };
  const end = await pollTasks(call, collector)(task, never);
  if (end.is !== "success") {
    throw new Error(`volume "${name}" was not made: ${JSON.stringify(end)}`);
  }
  return textAt(end.result, "volumeResults", "volumeId", "id");
}

async function referencesIn(call: Call, object: Reference, path: string): Promise<Reference[]> {
  const body = element(
    "RetrieveProperties",
    reference("_this", collector),
    element(
      "specSet",
      element("propSet", element("type", object.type), element("pathSet", path)),
      element("objectSet", reference("obj", object)),
    ),
  );
  const { node } = await call({ service: "vim", body }, never);
  const value = childOf(childOf(childOf(node, "returnval"), "propSet"), "val");
  return childrenOf(value, "ManagedObjectReference").map(toReference);
}

function toReference({ refType, text }: XmlNode): Reference {
  return { type: refType, value: text };
}
