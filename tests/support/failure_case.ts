import assert from "node:assert/strict";
import type { Reason } from "../../lib/base/reason.ts";
import { assertWhole, reasonOf } from "./messages.ts";
import type { Stage, StagePod } from "./stage.ts";
import { stepsOf } from "./steps.ts";

/** A backup that cannot be done, and how it must end. */
export interface FailureCase {
  /** As it follows "a backup fails ". */
  readonly where: string;
  readonly reason: Reason;
  /** What the message must say beside the reason. */
  readonly says?: RegExp;
  /** Makes the fault and the object, and answers its name. `good` is a pod that can be backed up. */
  readonly arrange: (stage: Stage, good: StagePod) => Promise<string>;
  /** Takes the fault away again. */
  readonly mend?: (stage: Stage) => Promise<void>;
}

/** Runs each case as a step: the object fails as told, and the next in line is done all the same. */
export async function runFailures(
  t: Deno.TestContext,
  stage: Stage,
  cases: readonly FailureCase[],
): Promise<void> {
  const step = stepsOf(t);
  const good = await stage.pod();
  await Deno.writeTextFile(`${good.volume}/file`, "text");
  for (const one of cases) {
    await step(one.where, async () => {
      const name = await one.arrange(stage, good);
      if (one.mend === undefined) {
        const next = await stage.backup(good);
        await assertFails(stage, name, one);
        assert.equal((await stage.ended(next)).status?.phase, "Completed");
        return;
      }
      await assertFails(stage, name, one);
      await one.mend(stage);
      assert.equal((await stage.ended(await stage.backup(good))).status?.phase, "Completed");
    });
  }
}

async function assertFails(stage: Stage, name: string, { reason, says }: FailureCase) {
  const failed = await stage.ended(name);
  const message = failed.status?.message ?? "";
  assert.equal(failed.status?.phase, "Failed");
  assert.equal(reasonOf(failed), reason, message);
  if (says !== undefined) assert.match(message, says);
  assert.match(failed.status?.completionTimestamp ?? "", /Z$/);
  assert.equal(
    stage.log.versions(name).filter(({ object }) => object.status?.phase === "Failed").length,
    1,
    "the end was written more than once",
  );
  const [event, ...others] = await stage.endEventsOf(name);
  assert.deepEqual(others, []);
  assert.equal(`${event?.type} ${event?.reason}`, `Warning ${reason}`);
  assertWhole(event?.message ?? "");
  assert(message.startsWith(event?.message.slice(0, 200) ?? "no event"));
}
