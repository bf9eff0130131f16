import assert from "node:assert/strict";
import { newPulse } from "../lib/kube/pulse.ts";
import type { WatchHealth } from "../lib/kube/watch.ts";
import {
  addWatch,
  formatChecks,
  liveness,
  readiness,
  type Vitals,
  type Watches,
} from "./health.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const before = (seconds: number) => now - seconds * 1_000;

interface Given {
  readonly pods?: Partial<WatchHealth>;
  readonly pulse?: Partial<ReturnType<typeof newPulse>>;
  readonly stopped?: true;
}

/** Two watches, both well but for the changes. */
function vitals({ pods, pulse, stopped }: Given = {}): Vitals {
  const watches: Watches = new Map();
  const well = {
    ...{ listed: true, connected: true },
    ...{ lastActivityMs: before(3), lastTurnMs: before(3) },
  };
  Object.assign(addWatch(watches, "podvolumebackups"), well);
  Object.assign(addWatch(watches, "pods"), well, pods);
  const intake = stopped ? AbortSignal.abort() : new AbortController().signal;
  const heart = { pulse: { ...newPulse(), ...pulse }, take: () => Promise.resolve() };
  return { watches, heart, intake };
}

const failures = (given: Given) =>
  readiness(vitals(given), now).filter(({ state }) => state === "failed")
    .map(({ name, because }) => `${name} ${because}`);

Deno.test("an agent is ready when every watch has its list and stands", () => {
  assert.deepEqual(failures({}), []);
  assert.deepEqual(failures({ pods: { lastActivityMs: before(74) } }), [], "a bookmark is due");
});

Deno.test("each thing that is wrong is named, with its age and its cause", () => {
  const cases: readonly [Given, string][] = [
    [{ pods: { listed: false } }, "watch-pods its first list is not done"],
    [
      { pods: { listed: false, lastError: "403 Forbidden" } },
      "watch-pods its first list is not done: 403 Forbidden",
    ],
    [
      { pods: { connected: false, lastError: "refused", lastActivityMs: before(8) } },
      "watch-pods interrupted: refused; heard 8.0 s ago",
    ],
    [{ pods: { lastActivityMs: before(91) } }, "watch-pods nothing was heard for 91.0 s"],
    [{ pulse: { lastError: "timeout" } }, "api-server it does not answer: timeout"],
    [{ stopped: true }, "intake the agent is stopping"],
  ];
  for (const [given, expected] of cases) assert.deepEqual(failures(given), [expected]);
});

Deno.test("a minute without any sign of life is the end of being ready", () => {
  const { watches, ...rest } = vitals();
  for (const health of watches.values()) health.lastActivityMs = before(61);
  const [, apiServer] = readiness({ watches, ...rest }, now);
  assert.equal(apiServer?.because, "nothing was heard for 61.0 s");
  rest.heart.pulse.lastHeardMs = before(1);
  assert.equal(readiness({ watches, ...rest }, now)[1]?.state, "ok");
});

Deno.test("a loop that fails is alive, one that stands is not, unless it was told to end", () => {
  const states = (given: Given) => liveness(vitals(given), now).map(({ state }) => state);
  const failing = { connected: false, lastActivityMs: before(3_600), lastTurnMs: before(30) };
  assert.deepEqual(states({ pods: failing }), ["ok", "ok"]);
  assert.deepEqual(states({ pods: { lastTurnMs: 0 } }), ["ok", "ok"]);
  assert.deepEqual(states({ pods: { lastTurnMs: before(301) } }), ["ok", "failed"]);
  assert.deepEqual(states({ pods: { lastTurnMs: before(301) }, stopped: true }), ["ok", "ok"]);
});

Deno.test("the answer is short when all is well, and whole when it is not", () => {
  const fine = { name: "a", state: "ok", because: "heard" } as const;
  const failed = { name: "b", state: "failed", because: "gone" } as const;
  assert.deepEqual(formatChecks("readyz", [fine], { form: "short" }), { status: 200, text: "ok" });
  assert.equal(
    formatChecks("readyz", [fine], { form: "verbose" }).text,
    "[+]a ok: heard\nreadyz check passed\n",
  );
  assert.deepEqual(formatChecks("readyz", [fine, failed], { form: "short" }), {
    status: 503,
    text: "[+]a ok: heard\n[-]b failed: gone\nreadyz check failed\n",
  });
});
