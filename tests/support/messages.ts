import assert from "node:assert/strict";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import { reasons } from "../../lib/base/reason.ts";
import type { LogLine } from "./agent.ts";

const emptySlots = [
  /:\s*$/,
  /:\s*[;:,.]/,
  /\[\s*\]/,
  /\(\s*\)/,
  /(^|[^"\\])""([^"]|$)/,
  /\b(undefined|null|NaN)\b/,
  /\[object /,
];

/** How Kubernetes writes its first group. */
const coreGroup = /in API group ""/g;

/** Fails for a text in which something that should be told is missing. */
export function assertWhole(text: string): void {
  assert.notEqual(text.trim(), "");
  for (const slot of emptySlots) {
    assert.doesNotMatch(
      text.replaceAll(coreGroup, ""),
      slot,
      `a text with an empty place: ${text}`,
    );
  }
}

/** The reason that heads the message of an ended object; the message must be a whole sentence. */
export function reasonOf({ status }: PodVolumeBackup): string {
  const message = status?.message ?? "";
  assertWhole(message);
  const [, reason = "", sentence = ""] = message.match(/^(\w+): (.+)$/s) ?? [];
  assert((reasons as readonly string[]).includes(reason), `no known reason heads "${message}"`);
  assert(sentence.length > 20, `not a sentence: "${message}"`);
  return reason;
}

/** Every sentence, and every text field, of a log. */
export function assertWholeLog(lines: readonly LogLine[]): void {
  assert(lines.length > 0);
  for (const line of lines) {
    for (const [field, value] of Object.entries(line)) {
      if (typeof value === "string") assertWhole(`${field} ${value}`);
      assert.notEqual(value, null, JSON.stringify(line));
    }
  }
}
