/** What an object's plan came to. Pure: the plan and the answers of CNS in, its status out. */
import type { CnsVolumeMetadataVolumestatus } from "../api/cns_volume_metadata.ts";
import type { UpdateResult } from "../vsphere/cns_calls.ts";
import type { Fault, FaultClass } from "../vsphere/fault.ts";
import type { Plan, VolumePlan } from "./plan.ts";
import type { CnsReason } from "./reason.ts";

/**
 * What follows. `done`: nothing, or the finalizer goes; `again`: with a growing delay; `seldom`:
 * it does not pass by itself, but a repair in vCenter tells nobody; `on-change`: only a new spec
 * helps.
 */
export type Next = "done" | "again" | "seldom" | "on-change";

export interface Outcome {
  readonly next: Next;
  /** As it is to stand in the object; the same texts for the same failures. */
  readonly volumestatus: readonly CnsVolumeMetadataVolumestatus[];
}

/**
 * `results`: by volume of CNS, of the plan's intents. A volume that was not answered for has
 * failed; one that is gone is what a removal wants.
 */
export function outcomeOf(plan: Plan, results: ReadonlyMap<string, UpdateResult>): Outcome {
  const ends = plan.volumes.map((volume) => endOf(plan, volume, results));
  const worst = ends.map(({ next }) => next);
  if (plan.aim === "set" && plan.violations.length > 0) worst.push("on-change");
  return {
    next: order.find((next) => worst.includes(next)) ?? "done",
    volumestatus: ends.map(({ status }) => status),
  };
}

/** What asks for the earliest look comes first. */
const order: readonly Next[] = ["again", "seldom", "on-change", "done"];

interface End {
  readonly next: Next;
  readonly status: CnsVolumeMetadataVolumestatus;
}

function endOf(
  { aim }: Plan,
  volume: VolumePlan,
  results: ReadonlyMap<string, UpdateResult>,
): End {
  const volumename = volume.volumeName;
  switch (volume.do) {
    case "skip": {
      const errormessage = shortened(`Skipped: ${volume.why}`);
      return { next: "done", status: { volumename, updated: true, errormessage } };
    }
    case "fail": {
      const { reason, why } = volume;
      const next = reason === "ObjectInvalid" ? "on-change" : "again";
      return { next, status: failed(volumename, reason, why) };
    }
    case "push": {
      const result = results.get(volume.volumeId) ?? unanswered;
      if (result.ok || (aim === "remove" && result.fault.class === "gone")) {
        return { next: "done", status: { volumename, updated: true } };
      }
      const { reason, next } = meanings[result.fault.class];
      return { next, status: failed(volumename, reason, textOf(volume.volumeId, result.fault)) };
    }
    default:
      return volume satisfies never;
  }
}

const meanings: Readonly<
  Record<FaultClass, { readonly reason: CnsReason; readonly next: Next }>
> = {
  retry: { reason: "CnsFailed", next: "again" },
  gone: { reason: "VolumeNotInCns", next: "again" }, // it may be about to be registered
  permanent: { reason: "CnsRefused", next: "seldom" },
  session: { reason: "CnsFailed", next: "again" },
  login: { reason: "LoginRefused", next: "again" },
};

const unanswered: UpdateResult = {
  ok: false,
  fault: { type: "", message: "it was not sent to vCenter", class: "retry" },
};

function textOf(volumeId: string, { message }: Fault): string {
  return `volume "${volumeId}" of CNS: ${message}`;
}

function failed(volumename: string, reason: CnsReason, why: string): CnsVolumeMetadataVolumestatus {
  return { volumename, updated: false, errormessage: shortened(`${reason}: ${why}`) };
}

/** Bytes, so that an object with many volumes stays far below what an API server stores. */
const longest = 1_024;

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const bytes = new TextEncoder().encode(line);
  if (bytes.length <= longest) return line;
  // A character that is cut in two is left out.
  const decoder = new TextDecoder();
  const head = decoder.decode(bytes.subarray(0, longest - 3), { stream: true });
  return `${head}…`;
}
