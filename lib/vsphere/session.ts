import { deadline, linked, orAbort, sleep } from "../base/abort.ts";
import { messageOf } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { type Fault, SoapFault } from "./fault.ts";
import { currentTime } from "./service_content.ts";
import { type Call, callOver, type Exchange } from "./soap.ts";
import { textAt } from "./xml.ts";
import { element, type Reference, reference } from "./xml_writer.ts";

/** A password: never log it. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** A login that has succeeded. */
export interface Login {
  /** As vCenter has it: `VSPHERE.LOCAL\Administrator`. */
  readonly userName: string;
  readonly cookie: string;
}

export type SessionState =
  | { readonly is: "loggedOut" | "loggingIn" | "ended" }
  | { readonly is: "ready"; readonly login: Login }
  /** The credentials were refused; another try could lock the account. */
  | { readonly is: "blocked"; readonly until: number };

export interface SessionOptions {
  readonly exchange: Exchange;
  readonly sessionManager: Reference;
  /** Asked before each login, so that a changed password is seen. */
  readonly credentials: () => Promise<Credentials>;
  readonly log: Log;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
  /** How long refused credentials are not tried again (default 180 s, vCenter's lock-out time). */
  readonly blockMs?: number;
  readonly random?: () => number;
}

/** The only session of a process at one vCenter. Disposing it logs out. */
export interface Session extends AsyncDisposable {
  /** Logs in when needed; a call whose session has ended is made once more in a new one. */
  readonly call: Call;
  /** The login of now, after one if need be. */
  login(signal: AbortSignal): Promise<Login>;
  state(): SessionState;
  /** Keeps an idle session from ending, until the signal: throws its reason. */
  keepAlive(idleMs: number, signal: AbortSignal): Promise<never>;
}

/** For a login under way, and for the logout. */
const endMs = 5_000;

interface Block {
  readonly until: number;
  readonly credentials: Credentials;
  readonly fault: Fault;
}

/** The state machine of one session: at most one login at any time, whoever asks. */
export function openSession(options: SessionOptions): Session {
  const { exchange, log, now = Date.now } = options;
  const life = new AbortController();
  let current: Login | undefined;
  let coming: Promise<Login> | undefined;
  let block: Block | undefined;
  let used = now();

  /** Lasts as long as it takes: those who wait may leave, the login goes on for the others. */
  const login = (signal: AbortSignal): Promise<Login> => {
    if (life.signal.aborted) return Promise.reject(life.signal.reason);
    if (current !== undefined) return Promise.resolve(current);
    coming ??= logIn().finally(() => coming = undefined);
    return orAbort(coming, signal);
  };

  async function logIn(): Promise<Login> {
    const credentials = await options.credentials();
    if (block !== undefined && isSame(block.credentials, credentials) && now() < block.until) {
      throw new SoapFault(block.fault, blockedText(credentials, block.until - now()));
    }
    try {
      current = await sendLogin(options, credentials, life.signal);
      block = undefined;
      log.info("Logged in at vCenter", { user: current.userName });
      return current;
    } catch (error) {
      if (error instanceof SoapFault && error.fault.class === "login") {
        block = blockOf(error.fault, credentials, options);
        log.error("vCenter refuses the user name or password", {
          user: credentials.user,
          waitSeconds: Math.round((block.until - now()) / 1_000),
        });
      }
      throw error;
    }
  }

  /** Only the session that the call was made in: another may have been opened meanwhile. */
  const lose = (lost: Login) => {
    if (current !== lost) return;
    current = undefined;
    log.info("The session at vCenter has ended", { user: lost.userName });
  };

  const call: Call = async (request, signal) => {
    for (let replayed = false;; replayed = true) {
      const session = await login(signal);
      used = now();
      try {
        return await callOver(exchange, session.cookie)(request, signal);
      } catch (error) {
        const ended = error instanceof SoapFault && error.fault.class === "session";
        if (ended) lose(session);
        if (!ended || replayed) throw error;
      }
    }
  };

  return {
    call,
    login,
    state: () => {
      if (life.signal.aborted) return { is: "ended" };
      if (current !== undefined) return { is: "ready", login: current };
      if (coming !== undefined) return { is: "loggingIn" };
      return block !== undefined && now() < block.until
        ? { is: "blocked", until: block.until }
        : { is: "loggedOut" };
    },
    async keepAlive(idleMs, signal) {
      using child = linked(signal);
      while (true) {
        await sleep(Math.max(1, used + idleMs - now()), child.signal);
        if (now() - used < idleMs) continue;
        used = now();
        if (current === undefined) continue;
        await call({ service: "vim", body: currentTime }, child.signal).catch((error) => {
          child.signal.throwIfAborted();
          log.warn("The session at vCenter could not be kept alive", { error: messageOf(error) });
        });
      }
    },
    async [Symbol.asyncDispose]() {
      if (life.signal.aborted) return;
      // A login that vCenter is just doing would leave a session behind if it were cut off.
      using limit = deadline(life.signal, endMs, "The login");
      if (coming !== undefined) await orAbort(coming, limit.signal).catch(() => {});
      life.abort(new Error("the session at vCenter is closed"));
      if (current !== undefined) await logOut(options, current);
      current = undefined;
    },
  };
}

async function sendLogin(
  { exchange, sessionManager }: SessionOptions,
  { user, password }: Credentials,
  signal: AbortSignal,
): Promise<Login> {
  const body = element(
    "Login",
    reference("_this", sessionManager),
    element("userName", user),
    element("password", password),
    element("locale", "en_US"),
  );
  const { node, cookie } = await exchange({ service: "vim", body, once: true }, signal);
  if (cookie === undefined) {
    const type = "NoCookie";
    const message = "the answer to the login has no session cookie";
    throw new SoapFault({ type, message, class: "retry" }, "Login");
  }
  return { userName: textAt(node, "returnval", "userName"), cookie };
}

/** vCenter has a limit of sessions: none is left behind, but an end is not held up for long. */
async function logOut({ exchange, sessionManager, log }: SessionOptions, { cookie }: Login) {
  const body = element("Logout", reference("_this", sessionManager));
  using limit = deadline(new AbortController().signal, endMs, "The logout");
  try {
    await callOver(exchange, cookie)({ service: "vim", body }, limit.signal);
    log.info("Logged out at vCenter");
  } catch (error) {
    log.warn("Could not log out at vCenter", { error: messageOf(error) });
  }
}

/** With some seconds by chance: several processes with one account do not try all at once. */
function blockOf(fault: Fault, credentials: Credentials, options: SessionOptions): Block {
  const { now = Date.now, blockMs = 180_000, random = Math.random } = options;
  return { until: now() + blockMs * (1 + random() / 10), credentials, fault };
}

function blockedText({ user }: Credentials, leftMs: number): string {
  return `The login as "${user}" was refused and is tried again in ${
    Math.ceil(leftMs / 1_000)
  } s, or as soon as the configured user or password changes; it`;
}

function isSame(one: Credentials, other: Credentials): boolean {
  return one.user === other.user && one.password === other.password;
}
