import assert from "node:assert/strict";
import { logger } from "../base/log.ts";
import { podVolumeBackups } from "../api/pod_volume_backup.ts";
import { keyOf, type ObjectKey } from "../kube/object.ts";
import type { Movable } from "./kind.ts";
import type { Phase } from "./lifecycle.ts";
import { movementReconciler, type ReconcileContext } from "./reconcile.ts";
import type { End } from "./run.ts";
import { slotPool } from "./slots.ts";
import type { Change, Held } from "./status.ts";

const signal = new AbortController().signal;

interface Given {
  readonly phase: Phase;
  readonly cancel?: true;
  readonly leftover?: true;
  /** Somebody else changed the object first. */
  readonly lost?: true;
}

/** One pass over one object of this node; the status writer only records what it is asked for. */
async function pass({ phase, cancel, leftover, lost }: Given) {
  const claims: Change[] = [];
  const ends: { readonly end: End; readonly durationMs: number | undefined }[] = [];
  const object: Movable = {
    metadata: { namespace: "bk", name: "b1", uid: "u1", resourceVersion: "1" },
    spec: cancel ? { cancel } : {},
    status: { phase },
  };
  const context: ReconcileContext<Movable> = {
    kind: {
      resource: podVolumeBackups,
      again: "back up again",
      finalizer: "f",
      isMine: () => true,
      trim: (object) => object,
      open: () => Promise.reject(new Error("nothing is opened here")),
    },
    status: {
      claim: (
        held: Held,
        change,
      ) => (claims.push(change), Promise.resolve(lost ? undefined : held)),
      report: (held) => Promise.resolve(held),
      finish: () => Promise.resolve("written"),
    },
    observe: {
      started: () => ({ [Symbol.dispose]() {} }),
      ended: (_, end, { durationMs }) => void ends.push({ end, durationMs }),
    },
    capabilities: {
      phases: new Set(),
      cancelable: true,
      statusNode: false,
      statusSubresource: false,
      selectable: new Set(),
      lacks: [],
    },
    ...{ node: "n1", holder: "h", progressIntervalMs: 0, log: logger("test"), work: signal },
    now: () => new Date("2026-01-02T03:04:05Z"),
    slots: slotPool({ limit: 1 }).line(() => {}),
    read: (key: ObjectKey) => key === keyOf(object) ? object : undefined,
    runs: { byKey: new Map(), ends: new Set() },
    unanswered: new Set(),
    isLeftover: () => leftover === true,
    again: () => {},
  };
  await movementReconciler(context)(keyOf(object), signal);
  return { claims, ends };
}

Deno.test("what a former agent left is Failed, and counts as an end without a duration", async () => {
  const { claims, ends } = await pass({ phase: "InProgress", leftover: true });
  assert.equal(claims[0]?.status.phase, "Failed");
  assert.match(String(claims[0]?.status.message), /^AgentRestarted: /);
  assert.equal(ends[0]?.end.phase, "Failed");
  assert.equal(ends[0]?.durationMs, undefined);
});

Deno.test("a cancel before the start is one write and one end", async () => {
  const { claims, ends } = await pass({ phase: "New", cancel: true });
  assert.deepEqual(claims.map(({ status }) => status.phase), ["Canceled"]);
  assert.deepEqual(ends.map(({ end }) => end.phase), ["Canceled"]);
});

Deno.test("an end that somebody else wrote first is not counted", async () => {
  const { ends } = await pass({ phase: "InProgress", leftover: true, lost: true });
  assert.deepEqual(ends, []);
});

Deno.test("what another agent of the node moves is left alone", async () => {
  assert.deepEqual(await pass({ phase: "InProgress" }), { claims: [], ends: [] });
});
