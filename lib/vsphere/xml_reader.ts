/** The only owner of the XML library. */
import { SaxesParser, type SaxesTagNS } from "saxes";
import { messageOf } from "../base/error.ts";
import { XmlError, type XmlNode } from "./xml.ts";

export interface XmlLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  /** Of one text, in characters. */
  readonly maxText: number;
}

/** Subtrees that are turned into something smaller as soon as they are complete. */
export interface XmlParts<Part> {
  /** The names of the parent and of the element. */
  readonly at: readonly [string, string];
  readonly decode: (node: XmlNode) => Part;
}

export interface XmlReading<Part> extends Partial<XmlLimits> {
  readonly parts?: XmlParts<Part>;
}

/** The root without the parts, and what they were turned into, in their order. */
export interface XmlDocument<Part> {
  readonly root: XmlNode;
  readonly parts: readonly Part[];
}

/** vCenter's biggest answers are a few 10 MB; what nests deeper than 64 is no answer of his. */
const defaults: XmlLimits = { maxBytes: 64 << 20, maxDepth: 64, maxText: 4 << 20 };

/**
 * Reads a document in the pieces in which it comes; with parts, only one of them is held as a tree
 * at any time. A DOCTYPE, and with it any entity of its own, is refused. Throws `XmlError`.
 */
export async function readXml<Part = never>(
  bytes: AsyncIterable<Uint8Array>,
  { parts, ...limits }: XmlReading<Part> = {},
): Promise<XmlDocument<Part>> {
  const { maxBytes, ...rest } = { ...defaults, ...limits };
  const builder = treeBuilder(rest, parts);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > maxBytes) throw new XmlError(`the answer is longer than ${maxBytes} bytes`);
    builder.write(textOf(() => decoder.decode(piece, { stream: true })));
  }
  builder.write(textOf(() => decoder.decode()));
  return builder.end();
}

function textOf(decode: () => string): string {
  try {
    return decode();
  } catch (cause) {
    throw new XmlError("the answer is not UTF-8 text", { cause });
  }
}

/** A node that is being read. */
interface Growing {
  readonly name: string;
  readonly type: string;
  readonly refType: string;
  text: string;
  children: XmlNode[];
}

function treeBuilder<Part>(
  { maxDepth, maxText }: Omit<XmlLimits, "maxBytes">,
  parts: XmlParts<Part> | undefined,
) {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const open: Growing[] = [];
  const decoded: Part[] = [];
  let root: XmlNode | undefined;
  const addText = (text: string) => {
    const node = open.at(-1);
    if (node === undefined) return;
    if (node.text.length + text.length > maxText) {
      throw new XmlError(`the text of <${node.name}> is longer than ${maxText} characters`);
    }
    node.text += text;
  };
  // Five handlers and no more: with a seventh V8 makes the parser a dictionary, five times as slow.
  parser.on("opentag", (tag) => {
    // The library looks through all open elements for each new one: deep nesting costs its square.
    if (open.length >= maxDepth) {
      throw new XmlError(`elements are nested more than ${maxDepth} deep`);
    }
    open.push(growing(tag));
  });
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    const node = finished(open.pop()!);
    const parent = open.at(-1);
    if (parent === undefined) root = node;
    else if (parts?.at[1] === node.name && parts.at[0] === parent.name) {
      decoded.push(parts.decode(node));
    } else parent.children.push(node);
  });
  parser.on("doctype", () => {
    throw new XmlError("the answer has a document type (DOCTYPE), which is not read");
  });
  return {
    write: (text: string) => guarded(() => parser.write(text)),
    end(): XmlDocument<Part> {
      guarded(() => parser.close());
      if (root === undefined) throw new XmlError("the answer is empty");
      return { root, parts: decoded };
    },
  };
}

/** What the library throws says what is wrong, and nothing of the text. */
function guarded(parse: () => void): void {
  try {
    parse();
  } catch (cause) {
    if (cause instanceof XmlError) throw cause;
    throw new XmlError(`the answer is no XML: ${messageOf(cause)}`, { cause });
  }
}

const xsi = "http://www.w3.org/2001/XMLSchema-instance";

function growing({ local, attributes }: SaxesTagNS): Growing {
  let type = "";
  let refType = "";
  for (const key in attributes) {
    const attribute = attributes[key]!;
    if (attribute.local !== "type") continue;
    if (attribute.uri === xsi) type = attribute.value.slice(attribute.value.indexOf(":") + 1);
    else if (attribute.uri === "") refType = attribute.value;
  }
  return { name: local, type, refType, text: "", children: [] };
}

function finished(node: Growing): XmlNode {
  if (node.children.length > 0) node.text = "";
  return node;
}
