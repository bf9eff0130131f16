import type { Reason } from "./reason.ts";

/** The command line is wrong: exit code 2, with the usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What the user or the cluster configured cannot be used: a file, a ConfigMap, a kubeconfig. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * A data movement cannot go on: it becomes the Failed state of its object. The message is a whole
 * sentence that names what was done and what to do; it never holds a secret.
 */
export class MovementError extends Error {
  override readonly name = "MovementError";
  constructor(readonly reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * One line for an error and its causes: `outer: cause: inner cause`. Never empty; a cause whose text
 * the outer message already holds is not repeated.
 */
export function messageOf(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error, depth = 0; at !== undefined && depth < 8; depth++) {
    const text = ownMessage(at);
    if (text !== "" && !parts.some((part) => part.includes(text))) parts.push(text);
    at = at instanceof Error ? at.cause : undefined;
  }
  return parts.length > 0 ? parts.join(": ") : "unknown error (no message was given)";
}

function ownMessage(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.filter((one) => one !== error).map(ownMessage).filter((text) => text !== "")
      .join("; ") || error.name;
  }
  if (error instanceof Error) return oneLine(error.message) || error.name;
  if (typeof error === "string") return oneLine(error);
  return error === null || error === undefined ? "" : oneLine(jsonOf(error));
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function oneLine(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}
