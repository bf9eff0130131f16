// Writes lib/api/<kind>.ts for each custom resource definition in manifests/crds.
//
//   deno run -A build/generate_api.ts [--check]
//
//   --check   write nothing; exit 1 and name the files that differ
import { parse } from "yaml";

interface Schema {
  readonly type: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

const root = new URL("..", import.meta.url);
const differing: string[] = [];
for (const entry of Deno.readDirSync(new URL("manifests/crds", root))) {
  if (entry.name.endsWith(".yaml")) await generate(`manifests/crds/${entry.name}`);
}
if (differing.length > 0) {
  console.error(
    `Generated types are out of date: ${differing.join(", ")}. Run: deno task generate`,
  );
  Deno.exit(1);
}

async function generate(source: string) {
  const definition = parse(Deno.readTextFileSync(new URL(source, root))) as Definition;
  const target = `lib/api/${snake(definition.spec.names.kind)}.ts`;
  const text = await formatted(moduleOf(definition, source));
  const file = new URL(target, root);
  if (text === textOf(file)) return;
  if (Deno.args.includes("--check")) differing.push(target);
  else Deno.writeTextFileSync(file, text);
}

function textOf(file: URL): string | undefined {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function moduleOf({ spec }: Definition, source: string): string {
  const { kind, plural } = spec.names;
  const version = spec.versions.find(({ storage }) => storage);
  if (version === undefined) throw new Error(`${source} has no storage version`);
  const { openAPIV3Schema: schema } = version.schema;
  const { apiVersion: _, kind: __, metadata: ___, ...own } = schema.properties ?? {};
  const object: Schema = { ...schema, properties: own };
  const [first = "", ...nested] = declarations(kind, object, new Set());
  return `// Generated from ${source} by build/generate_api.ts. Do not edit.
import type { KubeObject, Resource } from "../kube/object.ts";

${first.replace(`interface ${kind} `, `interface ${kind} extends KubeObject `)}
/** How the API server addresses ${kind} objects. */
export const ${variable(plural, kind)}: Resource<${kind}> = {
  group: ${JSON.stringify(spec.group)},
  version: ${JSON.stringify(version.name)},
  plural: ${JSON.stringify(plural)},
  kind: ${JSON.stringify(kind)},
  namespaced: ${spec.scope === "Namespaced"},
};

${nested.join("\n")}`;
}

/** The declaration of `name`, then those of the types it names that are not in `known` yet. */
function declarations(name: string, schema: Schema, known: Set<string>): string[] {
  known.add(name);
  if (schema.enum) return [comment(schema) + `export type ${name} = ${union(schema.enum)};\n`];
  const members = properties(schema).map((property) => member(name, property));
  const own = comment(schema) + `export interface ${name} {\n${members.join("")}}\n`;
  const nested = properties(schema).flatMap(({ name: property, schema: inner }) => {
    const element = inner.items ?? inner;
    const type = typeName(name, property);
    return isNamed(element) && !known.has(type) ? declarations(type, element, known) : [];
  });
  return [own, ...nested];
}

function member(owner: string, { name, schema, required }: Property): string {
  const optional = required ? "" : "?";
  const type = typeOf(schema, typeName(owner, name)) + (schema.nullable ? " | null" : "");
  // The comment of a named type stands at its declaration.
  const above = isNamed(schema) ? "" : comment(schema);
  return `${above}readonly ${name}${optional}: ${type};\n`;
}

function typeOf(schema: Schema, name: string): string {
  if (isNamed(schema)) return name;
  switch (schema.type) {
    case "object":
      return `Readonly<Record<string, ${typeOf(schema.additionalProperties!, name)}>>`;
    case "array":
      return `readonly ${typeOf(schema.items!, name)}[]`;
    case "integer":
      return "number";
    default:
      return schema.type;
  }
}

/** Objects with known fields and enumerations get a type of their own. */
function isNamed(schema: Schema): boolean {
  return schema.enum !== undefined || schema.properties !== undefined;
}

function properties({ properties = {}, required = [] }: Schema): Property[] {
  return Object.entries(properties)
    .map(([name, schema]) => ({ name, schema, required: required.includes(name) }));
}

/** `spec` and `status` are not part of the names of what is in them, so that these stay short. */
function typeName(owner: string, property: string): string {
  return owner.replace(/(Spec|Status)$/, "") + property[0]?.toUpperCase() + property.slice(1);
}

function union(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

function comment({ description }: Schema): string {
  return description === undefined ? "" : `/** ${description} */\n`;
}

function variable(plural: string, kind: string): string {
  // The plural is written in small letters only: its capitals are those of the kind.
  const tail = plural.slice(commonLength(plural, kind.toLowerCase()));
  const head = kind.slice(0, plural.length - tail.length);
  return head[0]?.toLowerCase() + head.slice(1) + tail;
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function snake(kind: string): string {
  return kind.replace(/(?<!^)([A-Z])/g, "_$1").toLowerCase();
}

/** As `deno fmt` writes it, so that the gate's fmt step agrees. */
async function formatted(text: string): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "ts", "-"],
    cwd: root,
    stdin: "piped",
    stdout: "piped",
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`deno fmt refused the text of a generated module:\n${text}`);
  return new TextDecoder().decode(stdout);
}
