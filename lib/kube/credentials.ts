import { ConfigError } from "../base/error.ts";
import type { Certificate, Connection, Plugin } from "./connection.ts";

/** Who we are in one request. */
export interface Identity {
  readonly authorization?: string;
  readonly certificate?: Certificate;
}

/** Gives the identity for each request. Throws `ConfigError` when it cannot be had. */
export interface IdentitySource {
  current(): Promise<Identity>;
  /** After a 401: another identity than the refused one, or undefined when there is none. */
  renewed(refused: Identity): Promise<Identity | undefined>;
}

/** `nowMs` is a clock that only runs forward. */
export function identitySource(
  { credentials, certificate }: Connection,
  nowMs: () => number = () => performance.now(),
): IdentitySource {
  const base: Identity = certificate === undefined ? {} : { certificate };
  switch (credentials.type) {
    case "none":
      return fixed(base);
    case "header":
      return fixed({ ...base, authorization: credentials.authorization });
    case "tokenFile":
      return fromTokenFile(credentials.path, base);
    case "plugin":
      return fromPlugin(credentials, { base, nowMs });
    default:
      return credentials satisfies never;
  }
}

function fixed(identity: Identity): IdentitySource {
  return { current: () => Promise.resolve(identity), renewed: () => Promise.resolve(undefined) };
}

/**
 * Bound tokens are replaced about hourly by swapping a link. A stat for each request sees that at
 * once; while the file cannot be read the last token goes on.
 */
function fromTokenFile(path: string, base: Identity): IdentitySource {
  let known: { readonly version: string; readonly identity: Identity } | undefined;
  async function current(): Promise<Identity> {
    try {
      const { mtime, ino, size } = await Deno.stat(path);
      const version = `${mtime?.getTime()} ${ino} ${size}`;
      if (known?.version !== version) {
        known = { version, identity: { ...base, authorization: await readBearer(path) } };
      }
    } catch (cause) {
      if (known === undefined) throw new ConfigError(`Cannot read the token "${path}"`, { cause });
    }
    return known.identity;
  }
  return {
    current,
    async renewed(refused) {
      known = undefined;
      return otherThan(refused, await current());
    },
  };
}

function otherThan(refused: Identity, identity: Identity): Identity | undefined {
  const isSame = identity.authorization === refused.authorization &&
    identity.certificate?.cert === refused.certificate?.cert;
  return isSame ? undefined : identity;
}

async function readBearer(path: string): Promise<string> {
  const token = (await Deno.readTextFile(path)).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("the file is empty or holds no token");
  return `Bearer ${token}`;
}

/** client-node asks a plugin without an expiry time for every request; so long one answer serves. */
const pluginAnswerMs = 60_000;

interface PluginParts {
  readonly base: Identity;
  readonly nowMs: () => number;
}

function fromPlugin(plugin: Plugin, { base, nowMs }: PluginParts): IdentitySource {
  type Asking = { readonly sinceMs: number; readonly identity: Promise<Identity> };
  let asking: Asking | undefined;
  let ask: ((plugin: Plugin) => Promise<Identity>) | undefined;
  // Every request that comes while the plugin runs waits for the same answer.
  function current(): Promise<Identity> {
    const now = nowMs();
    if (asking !== undefined && now - asking.sinceMs < pluginAnswerMs) return asking.identity;
    const started: Asking = { sinceMs: now, identity: answer() };
    asking = started;
    started.identity.catch(() => {
      if (asking === started) asking = undefined;
    });
    return started.identity;
  }
  async function answer(): Promise<Identity> {
    ask ??= (await import("./exec_credentials.ts")).pluginAsker();
    return { ...base, ...await ask(plugin) };
  }
  return {
    current,
    async renewed(refused) {
      const known = asking;
      const isFresh = known !== undefined && nowMs() - known.sinceMs < 5_000;
      const other = known && otherThan(refused, await known.identity);
      if (other !== undefined || isFresh) return other;
      // Of several requests refused together the first runs the plugin for all.
      if (asking === known) asking = ask = undefined;
      return otherThan(refused, await current());
    },
  };
}
