/** Longer lines are given in pieces, so that a stream without line ends cannot fill the memory. */
const longestLine = 64 * 1024;

/**
 * The lines of a stream as they come, split at any run of CR and LF; empty ones are left out. UTF-8
 * may be cut anywhere. Leaving the loop early cancels the stream.
 */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split(/[\r\n]+/);
      rest = done ? "" : lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield line;
      if (done) return;
      if (rest.length > longestLine) {
        yield rest;
        rest = "";
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The whole text of a stream, or undefined once it is longer than `limitBytes`. */
export async function textOf(
  stream: ReadableStream<Uint8Array>,
  limitBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    // Read on to the end: a full pipe would stop the writer.
    if (bytes <= limitBytes) text += decoder.decode(chunk, { stream: true });
  }
  return bytes <= limitBytes ? text + decoder.decode() : undefined;
}

export interface LineTail {
  add(line: string): void;
  lines(): readonly string[];
}

/** Keeps the last lines of a text, at most about `limitChars` of it. */
export function lineTail(limitChars: number): LineTail {
  let kept: string[] = [];
  let size = 0;
  return {
    add(line) {
      kept.push(line);
      size += line.length;
      if (size <= 2 * limitChars) return;
      // Dropping half at a time keeps the cost of a line constant.
      while (size > limitChars && kept.length > 1) size -= kept.shift()?.length ?? 0;
      kept = kept.slice();
    },
    lines: () => kept,
  };
}
