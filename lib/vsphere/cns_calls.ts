import {
  type CnsFilter,
  type CnsUpdate,
  type CnsVolume,
  filterElement,
  updateElement,
  volumeOf,
} from "./cns_types.ts";
import { type Fault, faultOfLocalized, SoapFault } from "./fault.ts";
import type { Call } from "./soap.ts";
import type { AwaitTask } from "./tasks.ts";
import { childOf, childrenOf, textAt } from "./xml.ts";
import { element, type Reference, reference } from "./xml_writer.ts";

const manager: Reference = { type: "CnsVolumeManager", value: "cns-volume-manager" };

/** As many volumes as every vCenter gives in a page, and takes in a filter. */
const most = 1_000;

/**
 * The volumes that match, page by page: vCenter cuts longer answers without a word. A volume may come
 * twice when others are made or removed meanwhile.
 */
export async function* queryVolumes(
  call: Call,
  filter: CnsFilter,
  { signal, pageSize = most }: { readonly signal: AbortSignal; readonly pageSize?: number },
): AsyncGenerator<readonly CnsVolume[]> {
  for (const part of partsOf(filter)) {
    for (let offset = 0, total = Infinity; offset < total;) {
      const body = element(
        "CnsQueryVolume",
        reference("_this", manager),
        filterElement(part, { offset, limit: pageSize }),
      );
      const parts = { at: ["returnval", "volumes"], decode: volumeOf } as const;
      const answer = await call({ service: "vsan", body, parts }, signal);
      if (answer.parts.length > 0) yield answer.parts;
      const cursor = childOf(childOf(answer.node, "returnval"), "cursor");
      const next = Number(textAt(cursor, "offset"));
      total = Number(textAt(cursor, "totalRecords"));
      if (answer.parts.length === 0 || !(next > offset)) break;
      offset = next;
    }
  }
}

/** What became of one volume of an update. */
export type UpdateResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly fault: Fault };

export interface Updating {
  readonly call: Call;
  readonly awaitTask: AwaitTask;
  /** Elements that this vCenter would refuse. */
  readonly unknownElements: ReadonlySet<string>;
}

/**
 * Sets the metadata of several volumes in one call; each may be named once. The results are by volume;
 * one that vCenter says nothing of has failed. Throws `SoapFault` when all of it was refused.
 */
export async function updateMetadata(
  { call, awaitTask, unknownElements }: Updating,
  updates: readonly CnsUpdate[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, UpdateResult>> {
  const method = "CnsUpdateVolumeMetadata";
  if (updates.length === 0) return new Map();
  const specs = updates.map((update) => updateElement(update, unknownElements));
  const body = element(method, reference("_this", manager), specs);
  const { node } = await call({ service: "vsan", body }, signal);
  const task = { type: "Task", value: textAt(node, "returnval") };
  const end = await awaitTask(task, signal);
  switch (end.is) {
    case "vanished":
      throw new SoapFault(vanished, method);
    case "error":
      throw new SoapFault(end.fault, method);
    case "success": {
      const results = childrenOf(end.result, "volumeResults").map((result) => {
        const fault = childOf(result, "fault");
        const outcome: UpdateResult = fault === undefined
          ? { ok: true }
          : { ok: false, fault: faultOfLocalized(fault) };
        return [textAt(result, "volumeId", "id"), outcome] as const;
      });
      const found = new Map(results);
      return new Map(updates.map(({ volumeId }) => [volumeId, found.get(volumeId) ?? noResult]));
    }
    default:
      return end satisfies never;
  }
}

const vanished: Fault = {
  type: "ManagedObjectNotFound",
  message: "vCenter has lost the task, perhaps by a restart",
  class: "retry",
};

const noResult: UpdateResult = {
  ok: false,
  fault: { type: "", message: "no result: vCenter says nothing of this volume", class: "retry" },
};

/** Filters with no more volumes than a vCenter takes. */
function partsOf(filter: CnsFilter): CnsFilter[] {
  const { volumeIds } = filter;
  if (volumeIds === undefined) return [filter];
  const starts = Array.from({ length: Math.ceil(volumeIds.length / most) }, (_, nth) => nth * most);
  return starts.map((at) => ({ ...filter, volumeIds: volumeIds.slice(at, at + most) }));
}
