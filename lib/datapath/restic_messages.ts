/** What restic says with `--json`, a message to a line. */
export type ResticMessage =
  | { readonly type: "status"; readonly bytesDone: number; readonly totalBytes: number }
  | {
    readonly type: "summary";
    /** Absent in restores. */
    readonly snapshotID?: string;
    readonly sizeBytes: number;
  }
  /** What could not be read or written. */
  | {
    readonly type: "error";
    readonly item: string;
    readonly message: string;
    readonly inRestore: boolean;
  }
  | { readonly type: "exit"; readonly message: string };

/** Undefined for lines of another form, such as plain text. */
export function parseMessage(line: string): ResticMessage | undefined {
  const fields = parse(line);
  switch (fields?.["message_type"]) {
    case "status":
      return {
        type: "status",
        bytesDone: number(fields["bytes_done"] ?? fields["bytes_restored"]) +
          number(fields["bytes_skipped"]),
        totalBytes: number(fields["total_bytes"]),
      };
    case "summary": {
      const snapshotID = fields["snapshot_id"];
      return {
        type: "summary",
        ...(typeof snapshotID === "string" && { snapshotID }),
        sizeBytes: number(fields["total_bytes_processed"] ?? fields["total_bytes"]),
      };
    }
    case "error":
      return {
        type: "error",
        item: String(fields["item"] ?? "?"),
        message: errorIn(fields["error"]),
        inRestore: fields["during"] === "restore",
      };
    case "exit_error":
      return { type: "exit", message: String(fields["message"] ?? "") };
    default:
      return undefined;
  }
}

/** The part of a line that is kept for an error; "" for progress. */
export function resticText(line: string): string {
  const message = parseMessage(line);
  return message?.type === "status" || message?.type === "summary" ? "" : line;
}

/** Older versions say it in other words, and all of them sometimes say nothing. */
function errorIn(value: unknown): string {
  const { message, Err } = typeof value === "object" && value !== null
    ? value as Record<string, unknown>
    : {};
  const text = [value, message, Err].find((text) => typeof text === "string" && text !== "");
  return typeof text === "string" ? text : "no reason was given";
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
