import type { Reason } from "../base/reason.ts";

/** The form of times in Velero's objects: RFC 3339, UTC, whole seconds. */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

const longestMessage = 4_096;

/** The message of an object: the reason's code, then the sentence; cut to what `describe` can show. */
export function messageWith(reason: Reason, sentence: string): string {
  const text = `${reason}: ${sentence}`;
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1)}…`;
}
