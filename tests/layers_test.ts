/** The table "who may import whom" of docs/architecture.md, over the program's own modules. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { tempFolder } from "./support/temp.ts";

/** What a folder may import, beside itself. `main.ts` is a layer of its own. */
const layers: Readonly<Record<string, readonly string[]>> = {
  "lib/base": [],
  "lib/kube": ["lib/base"],
  "lib/vsphere": ["lib/base"],
  "lib/api": ["types of lib/kube/object.ts"],
  "lib/node": ["lib/base", "lib/kube", "lib/api"],
  "lib/expose": ["lib/base", "lib/kube", "lib/api"],
  "lib/datapath": ["lib/base", "lib/kube", "lib/api"],
  "lib/movement": ["lib/base", "lib/kube", "lib/api", "lib/expose", "lib/datapath"],
  "lib/cns": ["lib/base", "lib/kube", "lib/api", "lib/vsphere"],
  "cmd": ["lib"],
  "main.ts": ["cmd/command.ts", "lib/base"],
};

/** The only modules that may import a library. */
const owners: Readonly<Record<string, string | readonly string[]>> = {
  "@logtape/logtape": "lib/base/log.ts",
  "prom-client": "lib/base/metrics.ts",
  "commander": "cmd/command.ts",
  "@kubernetes/client-node": "lib/kube/exec_credentials.ts",
  "saxes": "lib/vsphere/xml_reader.ts",
  "undici": ["lib/kube/insecure.ts", "lib/vsphere/sockets.ts"],
  "yaml": "lib/kube/kubeconfig.ts",
};

/** Reached by `import()` alone: what they load costs start-up time and memory. */
const onDemand = [
  "lib/kube/exec_credentials.ts",
  "lib/kube/insecure.ts",
  "lib/vsphere/sockets.ts",
];

/** Words that only some modules may use. */
const reserved = [
  { word: /\bconsole\s*[.[]/, name: "console", where: /^main\.ts$/ },
  { word: /\b(Deno|process)\.exit\b/, name: "exit", where: /^main\.ts$/ },
  { word: /\b(Deno|process)\.env\b/, name: "env", where: /^(main\.ts$|cmd\/)/ },
];

const longest = 250;

interface Import {
  /** A path below the root, or the name of a library. */
  readonly target: string;
  readonly dynamic: boolean;
  readonly typeOnly: boolean;
}

interface Module {
  readonly path: string;
  readonly imports: readonly Import[];
  readonly text: string;
}

Deno.test("every module of the program keeps to its layer", async () => {
  const modules = await readProgram();
  assert.ok(modules.length > 20, `only ${modules.length} modules were found`);
  assert.deepEqual(violations(modules), []);
});

Deno.test("each kind of offence against the layers is found", () => {
  const cases: readonly (readonly [string, Module])[] = [
    ["lib/kube/a.ts must not import lib/api/b.ts", module("lib/kube/a.ts", ["lib/api/b.ts"])],
    ["lib/expose/a.ts must not import cmd/b.ts", module("lib/expose/a.ts", ["cmd/b.ts"])],
    ["lib/base/a.ts must not import lib/kube/b.ts", module("lib/base/a.ts", ["lib/kube/b.ts"])],
    ["lib/cns/a.ts must not import main.ts", module("lib/cns/a.ts", ["main.ts"])],
    ["lib/kube/a.ts must not import tests/b.ts", module("lib/kube/a.ts", ["tests/b.ts"])],
    [
      "lib/api/a.ts must not import lib/kube/object.ts",
      module("lib/api/a.ts", ["lib/kube/object.ts"]),
    ],
    ["lib/new/a.ts is in no known layer", module("lib/new/a.ts", [])],
    ["lib/kube/a.ts must not import commander", module("lib/kube/a.ts", ["commander"])],
    ["lib/kube/a.ts must not import left-pad", module("lib/kube/a.ts", ["left-pad"])],
    ["main.ts must import cmd/server.ts by import()", module("main.ts", ["cmd/server.ts"])],
    [
      "lib/kube/a.ts must import lib/kube/insecure.ts by import()",
      module("lib/kube/a.ts", ["lib/kube/insecure.ts"]),
    ],
    ["lib/kube/a.ts must not use console", module("lib/kube/a.ts", [], 'console.log("x");')],
    ["cmd/a.ts must not use exit", module("cmd/a.ts", [], "if (x) Deno.exit(1);")],
    ["lib/node/a.ts must not use env", module("lib/node/a.ts", [], 'Deno.env.get("HOME")')],
    ["cmd/a.ts has 251 lines, more than 250", module("cmd/a.ts", [], "x;\n".repeat(251))],
  ];
  for (const [offence, offender] of cases) assert.deepEqual(violations([offender]), [offence]);
  const command = { target: "cmd/server.ts", dynamic: true, typeOnly: false };
  const main = { path: "main.ts", imports: [command], text: "" };
  assert.deepEqual(violations([main, module("cmd/other.ts", ["cmd/server.ts"])]), [
    "cmd/other.ts must not import cmd/server.ts",
  ]);
});

Deno.test("words in comments are no offence", () => {
  const text = "// console.log is not used\n/* nor Deno.exit */\n/** nor Deno.env */";
  assert.deepEqual(violations([module("lib/kube/a.ts", [], text)]), []);
});

function module(path: string, targets: readonly string[], text = ""): Module {
  const imports = targets.map((target) => ({ target, dynamic: false, typeOnly: false }));
  return { path, imports, text };
}

function violations(modules: readonly Module[]): string[] {
  const main = modules.find(({ path }) => path === "main.ts");
  const commands = main?.imports.filter(({ dynamic }) => dynamic).map(({ target }) => target) ?? [];
  return modules.flatMap((module) => [
    ...module.imports.flatMap((one) => importViolations(module, one, commands)),
    ...wordViolations(module),
  ]);
}

function importViolations({ path }: Module, one: Import, commands: readonly string[]): string[] {
  const { target, dynamic } = one;
  const refused = [`${path} must not import ${target}`];
  if (!/^(lib|cmd|tests|build)\/|^main\.ts$/.test(target)) {
    return [owners[target]].flat().includes(path) ? [] : refused;
  }
  const isCommand = path === "main.ts" && /^cmd\/(?!command\.ts)/.test(target);
  if (isCommand || onDemand.includes(target)) {
    if (!dynamic && !one.typeOnly) return [`${path} must import ${target} by import()`];
    if (isCommand) return [];
  }
  if (commands.includes(target)) return refused;
  const layer = layerOf(path);
  const allowed = [layer, ...layers[layer] ?? []].some((name) => {
    const types = name.startsWith("types of ");
    if (types && !one.typeOnly) return false;
    const place = types ? name.slice("types of ".length) : name;
    return target === place || target.startsWith(`${place}/`);
  });
  return allowed ? [] : refused;
}

function wordViolations({ path, text }: Module): string[] {
  const found = layerOf(path) in layers ? [] : [`${path} is in no known layer`];
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
  for (const { word, name, where } of reserved) {
    if (word.test(code) && !where.test(path)) found.push(`${path} must not use ${name}`);
  }
  const lines = text.split("\n").length - 1;
  const generated = text.startsWith("// Generated from ");
  if (lines > longest && !generated) found.push(`${path} has ${lines} lines, more than ${longest}`);
  return found;
}

function layerOf(path: string): string {
  return path.startsWith("lib/") ? path.split("/").slice(0, 2).join("/") : path.split("/")[0]!;
}

interface Dependency {
  readonly specifier: string;
  readonly code?: { readonly specifier?: string };
  readonly type?: { readonly specifier?: string };
  readonly isDynamic?: boolean;
}

interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly Dependency[];
  }[];
}

/** main.ts and all of cmd and lib but their tests, whether or not anything imports them. */
async function readProgram(): Promise<Module[]> {
  const root = new URL("..", import.meta.url);
  const paths = ["main.ts", ...sources(root, "cmd"), ...sources(root, "lib")];
  using folder = tempFolder("layers");
  const entry = `${folder.path}/all.ts`;
  await Deno.writeTextFile(
    entry,
    paths.map((path) => `import ${JSON.stringify(new URL(path, root))};`).join("\n"),
  );
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", `--config=${fileURLToPath(new URL("deno.json", root))}`, entry],
    cwd: root,
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const below = (specifier: string) => specifier.slice(root.href.length);
  return modules
    .filter(({ specifier }) => specifier.startsWith(root.href) && paths.includes(below(specifier)))
    .map(({ specifier, dependencies = [] }) => ({
      path: below(specifier),
      imports: dependencies.flatMap((dependency) => importOf(dependency, root)),
      text: Deno.readTextFileSync(new URL(specifier)),
    }));
}

function importOf({ specifier, code, type, isDynamic = false }: Dependency, root: URL): Import[] {
  if (specifier.startsWith("node:")) return [];
  const resolved = code?.specifier ?? type?.specifier ?? specifier;
  const own = resolved.startsWith(root.href) && !resolved.includes("/node_modules/");
  const target = own ? resolved.slice(root.href.length) : specifier.replace(/^npm:/, "");
  return [{ target, dynamic: isDynamic, typeOnly: code === undefined }];
}

function sources(root: URL, folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sources(root, path);
    return name.endsWith(".ts") && !name.endsWith("_test.ts") ? [path] : [];
  });
}
