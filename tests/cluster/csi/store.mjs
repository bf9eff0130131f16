// What volumes and snapshots there are: a folder each, with meta.json and the data.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const { status } = createRequire(import.meta.url)("@grpc/grpc-js");

/** An error that becomes the answer of a call. */
export function refusal(code, message) {
  return Object.assign(new Error(message), { code });
}

export function run(program, ...args) {
  return execFileSync(program, args, { encoding: "utf8" }).trim();
}

/** As `run`, but what fails gives an empty text. */
export function attempt(program, ...args) {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
      .trim();
  } catch {
    return "";
  }
}

/** `volumes` and `snapshots` below a folder. */
export function volumeStore(folder) {
  return { volumes: shelf(join(folder, "volumes")), snapshots: shelf(join(folder, "snapshots")) };
}

function shelf(folder) {
  mkdirSync(folder, { recursive: true });
  const place = (id) => join(folder, id);
  const get = (id) => {
    if (!/^[a-z0-9]+$/.test(id)) return undefined;
    try {
      return JSON.parse(readFileSync(join(place(id), "meta.json"), "utf8"));
    } catch {
      return undefined;
    }
  };
  return {
    /** The same name has the same id, so a call that is repeated finds what it made. */
    idOf: (name) => createHash("sha256").update(name).digest("hex").slice(0, 32),
    get,
    find(id) {
      const found = get(id);
      if (found === undefined) throw refusal(status.NOT_FOUND, `there is no "${id}"`);
      return found;
    },
    all: () => readdirSync(folder).map(get).filter((entry) => entry !== undefined),
    /** An empty place for it; `put` makes it exist. */
    clear(id) {
      rmSync(place(id), { recursive: true, force: true });
      mkdirSync(place(id));
    },
    put: (entry) => writeFileSync(join(place(entry.id), "meta.json"), JSON.stringify(entry)),
    delete: (id) => {
      if (get(id) !== undefined) rmSync(place(id), { recursive: true, force: true });
    },
    /** Where its content lies: a folder, or the file of a block volume. */
    content: (entry) => join(place(entry.id), entry.block ? "disk.img" : "data"),
  };
}
