import process from "node:process";
import { type CommandTable, runCommandLine, type World } from "./cmd/command.ts";
import { messageOf, UsageError } from "./lib/base/error.ts";

/** Set by the build. */
declare const LONGSHORE_VERSION: string | undefined;

const commands: CommandTable = {
  server: {
    summary: "the node agent: moves the volumes of this node (also: node-agent server)",
    load: () => import("./cmd/server.ts"),
  },
};

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(name, () => {
    if (stop.signal.aborted) Deno.exit(1);
    stop.abort(new DOMException(`the program received ${name}`, "AbortError"));
  });
}

const encoder = new TextEncoder();
const writer = (file: { writeSync(bytes: Uint8Array): number }) => (text: string) => {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
};
const world: World = {
  version: typeof LONGSHORE_VERSION === "string" ? LONGSHORE_VERSION : "unbuilt",
  out: writer(Deno.stdout),
  err: writer(Deno.stderr),
  env: (name) => Deno.env.get(name),
  signal: stop.signal,
};

let code: number;
try {
  code = await runCommandLine(process.argv.slice(2), commands, world);
} catch (error) {
  const usage = error instanceof UsageError;
  world.err(`${usage ? "usage: " : "An error occurred: "}${messageOf(error)}\n`);
  code = usage ? 2 : stop.signal.aborted ? 130 : 1;
}
Deno.exit(code);
