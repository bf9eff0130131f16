import { XmlError } from "./xml.ts";

/** An element to be written: its children in the order that the other side's schema asks for. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: readonly (readonly [string, string])[];
  readonly children: readonly (XmlElement | string)[];
}

/** Undefined is left out, so that optional elements can stand in their place. */
export type XmlContent = XmlElement | string | undefined | readonly XmlContent[];

export function element(name: string, ...content: readonly XmlContent[]): XmlElement {
  return { name, attributes: [], children: content.flatMap(flat) };
}

/** With attributes, in their order. */
export function withAttributes(
  { name, children }: XmlElement,
  attributes: Readonly<Record<string, string>>,
): XmlElement {
  return { name, attributes: Object.entries(attributes), children };
}

/** An element whose type the other side cannot know from its name. */
export function typed(name: string, type: string, ...content: readonly XmlContent[]): XmlElement {
  return withAttributes(element(name, ...content), { "xsi:type": type });
}

/** A managed object of vSphere. */
export interface Reference {
  readonly type: string;
  readonly value: string;
}

export function reference(name: string, { type, value }: Reference): XmlElement {
  return withAttributes(element(name, value), { type });
}

/** Left out when there is no text. */
export function optional(name: string, text: string | undefined): XmlElement | undefined {
  return text === undefined || text === "" ? undefined : element(name, text);
}

/** Throws `XmlError` for a character that XML 1.0 cannot hold. */
export function formatXml({ name, attributes, children }: XmlElement): string {
  const start = attributes.map(([key, value]) =>
    ` ${key}="${escaped(value, `the attribute ${key} of <${name}>`)}"`
  );
  if (children.length === 0) return `<${name}${start.join("")}/>`;
  const content = children.map((child) =>
    typeof child === "string" ? escaped(child, `<${name}>`) : formatXml(child)
  );
  return `<${name}${start.join("")}>${content.join("")}</${name}>`;
}

function flat(content: XmlContent): (XmlElement | string)[] {
  if (content === undefined || content === "") return [];
  return isList(content) ? content.flatMap(flat) : [content];
}

function isList(content: XmlContent): content is readonly XmlContent[] {
  return Array.isArray(content);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

// deno-lint-ignore no-control-regex
const illegal = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u;

function escaped(text: string, where: string): string {
  const found = text.match(illegal)?.[0];
  if (found !== undefined) {
    const code = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    throw new XmlError(`Cannot write ${where}: XML cannot hold its character U+${code}`);
  }
  // A reader takes a bare line end or tab of an attribute, and \r of any text, for another character.
  return text.replace(/[&<>"'\r\n\t]/g, (one) => entities[one] ?? `&#${one.charCodeAt(0)};`);
}
