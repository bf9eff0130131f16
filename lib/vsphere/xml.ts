/** An element as it was read; namespaces are resolved, and only what vSphere uses of XML is kept. */
export interface XmlNode {
  /** The local name. */
  readonly name: string;
  /** The value of xsi:type without its prefix, also of a type that nobody here knows; or empty. */
  readonly type: string;
  /** The attribute `type`: of a managed object, whose identifier then is the text; or empty. */
  readonly refType: string;
  /** All text of its own; that between elements is dropped. */
  readonly text: string;
  readonly children: readonly XmlNode[];
}

/** A text is no XML that we read, or something cannot be written as XML. Never holds a value. */
export class XmlError extends Error {
  override readonly name = "XmlError";
}

/** The first child of this name. */
export function childOf(node: XmlNode | undefined, name: string): XmlNode | undefined {
  return node?.children.find((child) => child.name === name);
}

/** All children of this name. */
export function childrenOf(node: XmlNode | undefined, name: string): readonly XmlNode[] {
  return node?.children.filter((child) => child.name === name) ?? [];
}

/** The text at the end of a path of first children; empty when it leads nowhere. */
export function textAt(node: XmlNode | undefined, ...path: readonly string[]): string {
  return path.reduce(childOf, node)?.text ?? "";
}
