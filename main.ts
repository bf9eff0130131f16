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
  "validate-host-path": {
    summary: "compare the folder of the node's pods with the pods that run there",
    load: () => import("./cmd/validate_host_path.ts"),
  },
  concurrency: {
    summary: "how many movements a node runs at once, and why",
    load: () => import("./cmd/concurrency.ts"),
  },
  "mark-stale": {
    summary: "end objects that nobody will ever finish, or show them",
    load: () => import("./cmd/mark_stale.ts"),
  },
  completion: {
    summary: "print the completion of a shell",
    load: () => import("./cmd/completion.ts"),
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

const args = process.argv.slice(2);
let code: number;
try {
  code = await runCommandLine(args, commands, world);
} catch (error) {
  const usage = error instanceof UsageError;
  code = usage ? 2 : stop.signal.aborted ? 130 : 1;
  const message = messageOf(error);
  const text = `${usage ? "usage: " : "An error occurred: "}${message}`;
  const kind = error instanceof Error ? error.name : "Error";
  world.err(`${wantsJson(args) ? JSON.stringify({ error: { code, kind, message } }) : text}\n`);
}
Deno.exit(code);

/** Seen in the words themselves: they may not even parse. */
function wantsJson(args: readonly string[]): boolean {
  return /(^| )(-o|--output)[ =]?json( |$)/.test(args.join(" "));
}
