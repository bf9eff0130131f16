import assert from "node:assert/strict";
import { sleep } from "../base/abort.ts";
import { logger } from "../base/log.ts";
import { faultOfBody, SoapFault } from "./fault.ts";
import { type Credentials, openSession, type Session, type SessionOptions } from "./session.ts";
import type { Exchange } from "./soap.ts";
import type { XmlNode } from "./xml.ts";
import { element, formatXml } from "./xml_writer.ts";

const never = new AbortController().signal;
const work = { service: "vsan", body: element("Work") } as const;

/** A vCenter that knows its sessions and one password; answers wait for `gate`. */
function fakeVcenter() {
  const sessions = new Set<string>();
  const calls: string[] = [];
  let logins = 0;
  let time = 1_000;
  const fake = {
    password: "good",
    credentials: { user: "u@x", password: "good" } as Credentials,
    sessions,
    /** `method cookie`, in their order. */
    calls,
    gate: Promise.resolve(),
    onCall: (_method: string) => {},
    now: () => time,
    pass: (ms: number) => void (time += ms),
  };
  const exchange: Exchange = async ({ body, cookie = "" }, signal) => {
    calls.push(`${body.name} ${cookie}`.trim());
    fake.onCall(body.name);
    await fake.gate;
    signal.throwIfAborted();
    if (body.name === "Login") {
      if (!formatXml(body).includes(`<password>${fake.password}<`)) {
        throw faulty("InvalidLogin");
      }
      const made = `s${++logins}`;
      sessions.add(made);
      return { node: node("LoginResponse"), parts: [], cookie: made };
    }
    if (!sessions.has(cookie)) throw faulty("NotAuthenticated");
    if (body.name === "Logout") sessions.delete(cookie);
    return { node: node(`${body.name}Response`), parts: [] };
  };
  const open = (options: Partial<SessionOptions> = {}): Session =>
    openSession({
      exchange,
      sessionManager: { type: "SessionManager", value: "SessionManager" },
      credentials: () => Promise.resolve(fake.credentials),
      log: logger("test"),
      now: fake.now,
      random: () => 0.5,
      ...options,
    });
  return { fake, open };
}

Deno.test("many calls at once make one login, and the end of the session logs out", async () => {
  const { fake, open } = fakeVcenter();
  const session = open();
  assert.deepEqual(session.state(), { is: "loggedOut" });
  const all = Promise.all([1, 2, 3].map(() => session.call(work, never)));
  assert.deepEqual(session.state(), { is: "loggingIn" });
  await all;
  assert.deepEqual(fake.calls, ["Login", "Work s1", "Work s1", "Work s1"]);
  assert.equal(session.state().is, "ready");
  await session[Symbol.asyncDispose]();
  assert.equal(fake.calls.at(-1), "Logout s1");
  assert.equal(fake.sessions.size, 0);
  assert.deepEqual(session.state(), { is: "ended" });
  await assert.rejects(session.call(work, never), /session at vCenter is closed/);
});

Deno.test("calls whose session was ended share one new login and are each made once more", async () => {
  const { fake, open } = fakeVcenter();
  await using session = open();
  await session.call(work, never);
  fake.sessions.clear();
  fake.calls.length = 0;
  await Promise.all([1, 2, 3].map(() => session.call(work, never)));
  assert.deepEqual(fake.calls.filter((one) => one === "Login"), ["Login"]);
  assert.equal(fake.calls.filter((one) => one === "Work s1").length, 3);
  assert.equal(fake.calls.filter((one) => one === "Work s2").length, 3);
});

Deno.test("a call that is not authenticated in a new session either fails", async () => {
  const { fake, open } = fakeVcenter();
  await using session = open();
  fake.sessions.add = () => fake.sessions; // forgets every login
  await assert.rejects(session.call(work, never), (error) => {
    assert.ok(error instanceof SoapFault);
    assert.equal(error.fault.class, "session");
    return true;
  });
  assert.deepEqual(fake.calls, ["Login", "Work s1", "Login", "Work s2"]);
});

Deno.test("refused credentials are not tried again before the time, but at once when changed", async () => {
  const { fake, open } = fakeVcenter();
  await using session = open();
  fake.password = "changed";
  await assert.rejects(session.call(work, never), /^SoapFault: Login failed: InvalidLogin/);
  const state = session.state();
  assert.deepEqual(state, { is: "blocked", until: 1_000 + 189_000 });
  fake.pass(188_000);
  await assert.rejects(
    Promise.all([session.call(work, never), session.call(work, never)]),
    /login as "u@x" was refused and is tried again in 1 s, or as soon as/,
  );
  assert.deepEqual(fake.calls, ["Login"]);
  fake.pass(1_001);
  await assert.rejects(session.call(work, never), /Login failed/);
  assert.deepEqual(fake.calls, ["Login", "Login"]);
  fake.credentials = { user: "u@x", password: "changed" };
  await session.call(work, never);
  assert.deepEqual(fake.calls, ["Login", "Login", "Login", "Work s1"]);
});

Deno.test("who leaves a login does not end it for the others", async () => {
  const { fake, open } = fakeVcenter();
  await using session = open();
  const gate = Promise.withResolvers<void>();
  fake.gate = gate.promise;
  const impatient = new AbortController();
  const first = session.call(work, impatient.signal);
  const second = session.call(work, never);
  impatient.abort(new Error("enough"));
  await assert.rejects(first, /^Error: enough$/);
  gate.resolve();
  await second;
  assert.deepEqual(fake.calls, ["Login", "Work s1"]);
});

Deno.test("an end during a login leaves no session behind", async () => {
  const { fake, open } = fakeVcenter();
  const session = open();
  const gate = Promise.withResolvers<void>();
  fake.gate = gate.promise;
  const login = session.login(never);
  const ended = session[Symbol.asyncDispose]();
  gate.resolve();
  await login;
  await ended;
  assert.deepEqual(fake.calls, ["Login", "Logout s1"]);
  assert.equal(fake.sessions.size, 0);
});

Deno.test("an idle session is kept alive, a busy one and none at all are left alone", async () => {
  const { fake, open } = fakeVcenter();
  const alive = Promise.withResolvers<void>();
  await using session = open({ now: Date.now });
  fake.onCall = (method) => method === "CurrentTime" && alive.resolve();
  const stop = new AbortController();
  const keeping = session.keepAlive(20, stop.signal);
  await sleep(50, never); // longer than the session may be idle
  assert.deepEqual(fake.calls, []);
  await session.call(work, never);
  await alive.promise;
  assert.deepEqual(fake.calls.slice(0, 3), ["Login", "Work s1", "CurrentTime s1"]);
  stop.abort(new Error("enough"));
  await assert.rejects(keeping, /^Error: enough$/);
});

function node(name: string): XmlNode {
  return { name, type: "", refType: "", text: "", children: [] };
}

function faulty(type: string): SoapFault {
  const detail = { ...node("detail"), children: [{ ...node("x"), type }] };
  return new SoapFault(
    faultOfBody({ ...node("Fault"), children: [detail] }),
    type === "InvalidLogin" ? "Login" : "Work",
  );
}
