import assert from "node:assert/strict";
import {
  isFinal,
  type Loss,
  type Movement,
  nextStep,
  type Phase,
  type Situation,
  type Standing,
} from "./lifecycle.ts";

const fresh: Movement = {
  uid: "u1",
  phase: "New",
  cancelAsked: false,
  deleting: false,
  standing: { is: "ready" },
  finalizer: false,
};
const idle: Situation = { leftover: false, claimedHere: false, cancelable: true };
const moving: Situation = { ...idle, running: { uid: "u1", ending: false } };

const loss: Loss = { reason: "PodGone", message: "it is gone" };
const lost: Standing = { is: "lost", loss };
const leftover: Situation = { ...idle, leftover: true };

const table: readonly (readonly [string, Partial<Movement> | "gone", Situation, string])[] = [
  ["a new object of this node starts", {}, idle, "start"],
  [
    "a new object of another node is left alone",
    { standing: { is: "elsewhere" } },
    idle,
    "nothing",
  ],
  ["a new object that is being deleted is left alone", { deleting: true }, idle, "nothing"],
  ["a new object with cancel ends Canceled", { cancelAsked: true }, idle, "endCanceled"],
  [
    "cancel is not honored where the CRD does not know it",
    { cancelAsked: true },
    { ...idle, cancelable: false },
    "start",
  ],
  [
    "a leftover in progress is given up",
    { phase: "InProgress" },
    { ...idle, leftover: true },
    "giveUp",
  ],
  [
    "a leftover that was prepared is given up",
    { phase: "Prepared" },
    { ...idle, leftover: true },
    "giveUp",
  ],
  [
    "a leftover that is canceling is given up",
    { phase: "Canceling" },
    { ...idle, leftover: true },
    "giveUp",
  ],
  [
    "one that was claimed here without an answer starts",
    { phase: "InProgress" },
    { ...idle, claimedHere: true, leftover: true },
    "start",
  ],
  [
    "one that another agent of this node moves is left alone",
    { phase: "InProgress" },
    idle,
    "nothing",
  ],
  [
    "a leftover of another node is left alone",
    { phase: "InProgress", standing: { is: "elsewhere" } },
    { ...idle, leftover: true },
    "nothing",
  ],
  [
    "an ended one with a finalizer of an earlier agent is released",
    { phase: "Completed", finalizer: true },
    idle,
    "release",
  ],
  [
    "an ended one of another node keeps its finalizer",
    { phase: "Completed", finalizer: true, standing: { is: "elsewhere" } },
    idle,
    "nothing",
  ],
  ["a running one goes on", { phase: "InProgress" }, moving, "nothing"],
  ["a stale copy of a running one starts nothing", {}, moving, "nothing"],
  ["cancel reaches a running one", { phase: "InProgress", cancelAsked: true }, moving, "askCancel"],
  ["cancel is asked once", { phase: "Canceling", cancelAsked: true }, moving, "nothing"],
  [
    "deletion of a running one cancels it",
    { phase: "InProgress", deleting: true },
    moving,
    "askCancel",
  ],
  ["a running one whose object is gone stops", "gone", moving, "stop"],
  ["a running one whose object was replaced stops", { uid: "u2" }, moving, "stop"],
  ["a running one that someone else ended stops", { phase: "Failed" }, moving, "stop"],
  [
    "nothing disturbs the writing of a result",
    "gone",
    { ...idle, running: { uid: "u1", ending: true } },
    "nothing",
  ],
  ["a deleted object that never ran is nothing", "gone", idle, "nothing"],
  ["a new object whose pod is not ready waits", { standing: { is: "waiting" } }, idle, "nothing"],
  ["a new object whose pod has no node waits", { standing: { is: "nobodys" } }, idle, "nothing"],
  ["a new object whose pod is lost fails", { standing: lost }, idle, "fail"],
  [
    "a new, lost object that is deleted is left alone",
    { standing: lost, deleting: true },
    idle,
    "nothing",
  ],
  [
    "a new object that waits for its pod can be canceled",
    { standing: { is: "waiting" }, cancelAsked: true },
    idle,
    "endCanceled",
  ],
  [
    "a new object that is no node's can be canceled by any",
    { standing: { is: "nobodys" }, cancelAsked: true },
    idle,
    "endCanceled",
  ],
  ["a running one whose pod is lost is abandoned", { standing: lost }, moving, "abandon"],
  [
    "a leftover whose pod is lost fails for that reason",
    { phase: "InProgress", standing: lost },
    leftover,
    "fail",
  ],
  [
    "a leftover whose pod has no node is left alone",
    { phase: "InProgress", standing: { is: "nobodys" } },
    leftover,
    "nothing",
  ],
  [
    "a leftover whose pod still waits is given up",
    { phase: "InProgress", standing: { is: "waiting" } },
    leftover,
    "giveUp",
  ],
];

for (const [sentence, change, situation, expected] of table) {
  Deno.test(sentence, () => {
    const movement = change === "gone" ? undefined : { ...fresh, ...change };
    assert.equal(nextStep(movement, situation).do, expected);
  });
}

Deno.test("a final phase is never left", () => {
  for (const phase of ["Completed", "Failed", "Canceled"] satisfies Phase[]) {
    assert.ok(isFinal(phase));
    for (const leftover of [true, false]) {
      for (const cancelAsked of [true, false]) {
        const movement = { ...fresh, phase, cancelAsked };
        assert.equal(nextStep(movement, { ...idle, leftover }).do, "nothing");
      }
    }
  }
});
