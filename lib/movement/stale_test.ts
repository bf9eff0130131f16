import assert from "node:assert/strict";
import { decideStale, type StaleFacts } from "./stale.ts";

const taken = 1_000_000;
const alive: StaleFacts = {
  phase: "InProgress",
  node: "n1",
  nodeState: "ready",
  target: "none",
  owner: { state: "running", name: 'Backup "b1"', phase: "InProgress" },
  agent: { runningSinceMs: [taken - 60_000], down: 0, ending: 0 },
  hostingPod: "none",
  claimedMs: taken,
  ageMs: 60_000,
};
const noAgent = { runningSinceMs: [], down: 0, ending: 0 };
const ended = { state: "ended", name: 'Backup "b1"', phase: "Failed" } as const;
const { claimedMs: _, ...undated } = alive;
const { node: _1, ...homeless } = alive;

const table: readonly (readonly [string, StaleFacts, string])[] = [
  ["one whose agent is alive is left", alive, "leave mover-alive"],
  [
    "one whose agent was started after it was taken fails",
    { ...alive, agent: { ...noAgent, runningSinceMs: [taken + 1_000] } },
    "fail AgentRestarted",
  ],
  [
    "one whose agent was started in the same second is in doubt",
    { ...alive, agent: { ...noAgent, runningSinceMs: [taken] } },
    "leave in-doubt",
  ],
  [
    "of two agents on the node the older one may have it",
    { ...alive, agent: { ...noAgent, runningSinceMs: [taken + 1_000, taken - 1_000] } },
    "leave mover-alive",
  ],
  ["one on a node without an agent fails", { ...alive, agent: noAgent }, "fail AgentGone"],
  [
    "one whose agent does not run fails",
    { ...alive, agent: { ...noAgent, down: 1 } },
    "fail AgentGone",
  ],
  [
    "one whose agent is about to end is in doubt",
    { ...alive, agent: { ...noAgent, ending: 1 } },
    "leave in-doubt",
  ],
  [
    "one on a node that does not report is in doubt",
    { ...alive, nodeState: "not-ready", agent: noAgent },
    "leave in-doubt",
  ],
  [
    "one on a node that cannot be read is in doubt",
    { ...alive, nodeState: "unknown", agent: noAgent },
    "leave in-doubt",
  ],
  [
    "one on a node that does not exist fails",
    { ...alive, nodeState: "gone", agent: noAgent },
    "fail NodeGone",
  ],
  [
    "one that a running pod of its own moves is left, whatever the agent does",
    { ...alive, hostingPod: "running", agent: noAgent },
    "leave mover-alive",
  ],
  [
    "one that an agent prepares is left, also after its restart",
    { ...alive, phase: "Prepared", agent: { ...noAgent, runningSinceMs: [taken + 1_000] } },
    "leave mover-alive",
  ],
  ["one that was prepared where no agent is fails", {
    ...alive,
    phase: "Accepted",
    agent: noAgent,
  }, "fail AgentGone"],
  ["one that does not say when it was taken is in doubt", undated, "leave in-doubt"],
  ["one that is nowhere is in doubt", homeless, "leave in-doubt"],
  [
    "one that is nowhere and has lost its pod fails",
    { ...homeless, target: "gone" },
    "fail PodGone",
  ],
  ["one whose pod is gone on a node that does not report is in doubt", {
    ...alive,
    target: "gone",
    nodeState: "not-ready",
  }, "leave in-doubt"],
  ["one whose pod is gone while its agent is alive is left to it", {
    ...alive,
    target: "gone",
  }, "leave mover-alive"],
  ["one whose pod is gone with its agent fails for the pod", {
    ...alive,
    target: "gone",
    agent: noAgent,
  }, "fail PodGone"],
  [
    "a running one of an ended backup is reported (case D6)",
    { ...alive, owner: ended },
    "report owner-terminal",
  ],
  [
    "a dead one of an ended backup fails",
    { ...alive, owner: ended, agent: noAgent },
    "fail AgentGone",
  ],
  [
    "a running one of a deleted backup is reported",
    { ...alive, owner: { state: "gone", name: 'Backup "b1"' } },
    "report owner-gone",
  ],
  ["a new one is as it should be", { ...alive, phase: "New", agent: noAgent }, "none"],
  ["a new one of a node that is gone fails", {
    ...alive,
    phase: "New",
    nodeState: "gone",
  }, "fail NodeGone"],
  ["a new one of a pod that was replaced fails", {
    ...alive,
    phase: "New",
    target: "replaced",
  }, "fail PodReplaced"],
  ["a new one of a pod that has ended fails", {
    ...alive,
    phase: "New",
    target: "ended",
  }, "fail PodNotRunning"],
  ["a new one of an ended backup is reported", {
    ...alive,
    phase: "New",
    owner: ended,
  }, "report owner-terminal"],
];

for (const [sentence, facts, expected] of table) {
  Deno.test(sentence, () => {
    const decided = decideStale(facts, { olderThanMs: 0 });
    assert.equal(
      decided === undefined ? "none" : `${decided.decision} ${decided.reason}`,
      expected,
    );
    if (decided !== undefined) assert.match(decided.why, /^[A-Z].*[^.]$/);
  });
}

Deno.test("what is younger than asked for is left, and old enough at that very age", () => {
  const dead = { ...alive, agent: noAgent };
  assert.equal(decideStale(dead, { olderThanMs: 60_001 })?.reason, "too-young");
  assert.equal(decideStale(dead, { olderThanMs: 60_000 })?.decision, "fail");
});

Deno.test("an object with a living mover never fails, whatever else is true of it", () => {
  for (const nodeState of ["ready", "not-ready", "gone", "unknown"] as const) {
    for (const target of ["none", "present", "gone", "replaced", "ended"] as const) {
      for (const owner of [alive.owner, ended, { state: "gone" }, { state: "unknown" }] as const) {
        for (const phase of ["Accepted", "Prepared", "InProgress", "Canceling"] as const) {
          const facts = {
            ...alive,
            phase,
            nodeState,
            target,
            owner,
            hostingPod: "running",
          } as const;
          assert.notEqual(decideStale(facts, { olderThanMs: 0 })?.decision, "fail");
        }
      }
    }
  }
});
