import { TooLargeError } from "./stream.ts";

/** What has come of a list; the last part alone has the `resourceVersion`. */
export interface ListPart<T> {
  readonly items: readonly T[];
  readonly resourceVersion?: string;
}

/** How far a list is read. Places are indexes into `buffer`, and move when it is emptied. */
interface Reader {
  buffer: Uint8Array<ArrayBuffer>;
  /** How much of the buffer is filled. */
  length: number;
  /** What was not used yet. */
  from: number;
  /** The next byte to look at. */
  at: number;
  /** The end of the last item that is whole. */
  itemEnd: number;
  depth: number;
  isInItems: boolean;
  isInText: boolean;
  /** The list without its items. */
  frame: string;
  readonly frameDecoder: TextDecoder;
  /** Texts of whole items, separated by commas. */
  batches: string[];
}

/**
 * The items of a list of the API server while its JSON comes, so that a list of any length needs the
 * memory of one item. An item, or all but the items, longer than `limitBytes` throws
 * `TooLargeError`; what is no list, or is cut off, a `SyntaxError`.
 */
export async function* listItems<T>(
  bytes: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<ListPart<T>> {
  const reader = newReader();
  for await (const piece of bytes) {
    append(reader, piece);
    scan(reader);
    usePiece(reader);
    if (Math.max(reader.length, reader.frame.length) > limitBytes) {
      throw new TooLargeError(`more than ${limitBytes} bytes in one place`);
    }
    for (const batch of reader.batches) yield { items: JSON.parse(`[${batch}]`) };
    reader.batches = [];
  }
  yield { items: [], resourceVersion: versionIn(reader.frame) };
}

/** Whatever else is JSON must not pass for an empty list: all that is known would be taken for gone. */
function versionIn(frame: string): string {
  const list = JSON.parse(frame);
  if (list?.items === undefined || typeof list.metadata?.resourceVersion !== "string") {
    throw new SyntaxError("it has no items or no resourceVersion");
  }
  return list.metadata.resourceVersion;
}

function newReader(): Reader {
  return {
    buffer: new Uint8Array(1 << 17),
    ...{ length: 0, from: 0, at: 0, itemEnd: 0, depth: 0, isInItems: false, isInText: false },
    frame: "",
    frameDecoder: new TextDecoder("utf-8", { ignoreBOM: true }),
    batches: [],
  };
}

function append(reader: Reader, piece: Uint8Array): void {
  const length = reader.length + piece.length;
  if (length > reader.buffer.length) {
    const wider = new Uint8Array(2 * length);
    wider.set(reader.buffer.subarray(0, reader.length));
    reader.buffer = wider;
  }
  reader.buffer.set(piece, reader.length);
  reader.length = length;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Sees every byte of every list, so it works with locals. Brackets are only counted. */
function scan(reader: Reader): void {
  const { buffer, length } = reader;
  let { at, depth, isInText } = reader;
  for (; at < length; at++) {
    const byte = buffer[at];
    if (isInText) {
      if (byte === backslash) at++;
      else if (byte === quote) isInText = false;
    } else if (byte === quote) {
      isInText = true;
    } else if (byte === openObject || byte === openArray) {
      depth++;
      if (depth === 2 && byte === openArray) beginItems(reader, at + 1);
    } else if (byte === closeObject || byte === closeArray) {
      depth--;
      if (depth === 2) reader.itemEnd = at + 1;
      else if (depth === 1 && reader.isInItems) endItems(reader, at);
    }
  }
  Object.assign(reader, { at, depth, isInText });
}

/** An array in the list itself; others than its items belong to the frame. */
function beginItems(reader: Reader, start: number): void {
  useFrame(reader, start);
  reader.isInItems = /"items"\s*:\s*\[$/.test(reader.frame.slice(-99));
}

function endItems(reader: Reader, end: number): void {
  useItems(reader, end);
  reader.isInItems = false;
}

/** What is whole is used, and the rest moves to the front. */
function usePiece(reader: Reader): void {
  if (!reader.isInItems) useFrame(reader, reader.length);
  else if (reader.itemEnd > reader.from) useItems(reader, reader.itemEnd);
  const { buffer, from, length } = reader;
  buffer.copyWithin(0, from, length);
  Object.assign(reader, { length: length - from, at: reader.at - from, from: 0, itemEnd: 0 });
}

function useFrame(reader: Reader, end: number): void {
  const bytes = reader.buffer.subarray(reader.from, end);
  reader.frame += reader.frameDecoder.decode(bytes, { stream: true });
  reader.from = end;
}

const batchDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

function useItems(reader: Reader, end: number): void {
  const start = reader.buffer[reader.from] === comma ? reader.from + 1 : reader.from;
  const text = batchDecoder.decode(reader.buffer.subarray(start, end));
  if (text.trim() !== "") reader.batches.push(text);
  reader.from = end;
}
