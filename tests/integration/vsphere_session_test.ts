import assert from "node:assert/strict";
import { SoapFault } from "../../lib/vsphere/fault.ts";
import { currentTime } from "../../lib/vsphere/service_content.ts";
import { withRetry } from "../../lib/vsphere/soap.ts";
import { readVsanVersion } from "../../lib/vsphere/version.ts";
import type { Trust } from "../../lib/vsphere/vsphere_conf.ts";
import { openWire, WireError } from "../../lib/vsphere/wire.ts";
import { textAt } from "../../lib/vsphere/xml.ts";
import { element, reference, typed } from "../../lib/vsphere/xml_writer.ts";
import { toolsMissing } from "../support/tools.ts";
import { startVcenter, type Vcenter, type VcenterOptions } from "../support/vcenter.ts";
import { sessionAt, type VcenterSite } from "../support/vcenter_session.ts";

const ignore = await toolsMissing("cnssim");
const never = new AbortController().signal;
const timeRequest = { service: "vim", body: currentTime } as const;

type Site = VcenterSite & AsyncDisposable;

async function startSite(options: VcenterOptions = {}): Promise<Site> {
  await using stack = new AsyncDisposableStack();
  const vcenter = stack.use(await startVcenter(options));
  const wire = stack.use(await openWire(vcenter.address));
  const owned = stack.move();
  return { vcenter, wire, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const test = (name: string, run: () => Promise<void>) => Deno.test(name, { ignore }, run);

test("a session logs in once, serves both services, and logs out at its end", async () => {
  await using site = await startSite();
  const session = await sessionAt(site);
  const times = await Promise.all([1, 2, 3].map(() => session.call(timeRequest, never)));
  assert.match(textAt(times[0]?.node, "returnval"), /^\d{4}-/);
  const { version } = await readVsanVersion(site.wire, "longshore-test", never);
  assert.match(version, /^\d+\.\d+/);
  const manager = { type: "CnsVolumeManager", value: "cns-volume-manager" };
  const query = element(
    "CnsQueryVolume",
    reference("_this", manager),
    typed("filter", "CnsQueryFilter"),
  );
  const { node } = await session.call({ service: "vsan", body: query }, never);
  assert.equal(node.name, "CnsQueryVolumeResponse");
  assert.equal((await site.vcenter.counts()).sessions, 1);
  await session[Symbol.asyncDispose]();
  const { logins, sessions } = await site.vcenter.counts();
  assert.deepEqual({ logins, sessions }, { logins: 1, sessions: 0 });
});

test("when the session is ended between calls, one new login serves all of them", async () => {
  await using site = await startSite();
  await using session = await sessionAt(site);
  for (let kill = 0; kill < 3; kill++) {
    await Promise.all([1, 2, 3, 4].map(() => session.call(timeRequest, never)));
    await site.vcenter.terminateSessions();
  }
  await session.call(timeRequest, never);
  const { logins, sessions } = await site.vcenter.counts();
  assert.deepEqual({ logins, sessions }, { logins: 4, sessions: 1 });
});

test("a wrong password is tried once, and the right one as soon as it is configured", async () => {
  await using site = await startSite();
  let { user, password } = site.vcenter;
  await using session = await sessionAt(site, () => ({ user, password }));
  await session.call(timeRequest, never);
  await site.vcenter.changePassword("rotated");
  await site.vcenter.terminateSessions();
  for (let tries = 0; tries < 3; tries++) {
    await assert.rejects(session.call(timeRequest, never), (error) => {
      assert.ok(error instanceof SoapFault);
      assert.equal(error.fault.class, "login");
      assert.match(error.message, tries === 0 ? /^Login failed: / : /^The login as ".*" was refus/);
      return true;
    });
  }
  assert.equal(session.state().is, "blocked");
  assert.equal((await site.vcenter.counts()).refusedLogins, 1);
  password = "rotated";
  await session.call(timeRequest, never);
  assert.equal((await site.vcenter.counts()).refusedLogins, 1);
});

test("an ESXi host is told from a vCenter before any login", async () => {
  await using site = await startSite({ esx: true });
  await assert.rejects(sessionAt(site), /"127\.0\.0\.1": it is an ESXi host, not a vCenter/);
  assert.equal((await site.vcenter.counts()).calls["Login"], undefined);
});

test("while vCenter's services are away calls fail with the status, and go on afterwards", async () => {
  await using site = await startSite();
  await using session = await sessionAt(site);
  await session.call(timeRequest, never);
  await site.vcenter.answerStatus(503);
  await assert.rejects(session.call(timeRequest, never), (error) => {
    assert.ok(error instanceof WireError);
    assert.equal(error.status, 503);
    assert.match(error.message, /CurrentTime with HTTP status 503: its services are not ready$/);
    return true;
  });
  const patient = withRetry(session.call, { attempts: 100, firstMs: 20, maxMs: 20 });
  const waiting = patient(timeRequest, never);
  const before = (await site.vcenter.counts()).calls["CurrentTime"] ?? 0;
  while (((await site.vcenter.counts()).calls["CurrentTime"] ?? 0) < before + 2);
  await site.vcenter.answerStatus(0);
  await waiting;
  assert.equal((await site.vcenter.counts()).logins, 1);
});

const modes: readonly (readonly [string, VcenterOptions, (vcenter: Vcenter) => Trust])[] = [
  ["the authority's file", {}, ({ caFile }) => ({ by: "authority", files: [caFile] })],
  ["nothing", {}, () => ({ by: "nothing" })],
  [
    "the thumbprint",
    { selfSigned: true },
    ({ thumbprint }) => ({ by: "thumbprint", thumbprint }),
  ],
];

for (const [name, options, trustIn] of modes) {
  test(`with trust by ${name} a session works`, async () => {
    await using vcenter = await startVcenter(options);
    using wire = await openWire({ ...vcenter.address, trust: trustIn(vcenter) });
    await using session = await sessionAt({ vcenter, wire });
    await session.call(timeRequest, never);
  });
}

test("who presents the pinned certificate without its key is sent nothing", async () => {
  await using vcenter = await startVcenter({ selfSigned: true, impostor: true });
  const trust: Trust = { by: "thumbprint", thumbprint: vcenter.thumbprint };
  using wire = await openWire({ ...vcenter.address, trust });
  await assert.rejects(sessionAt({ vcenter, wire }), (error) => {
    assert.ok(error instanceof WireError);
    assert.equal(error.fault, "certificate");
    assert.match(
      error.message,
      /whether the server holds its key cannot be checked \(BadSignature/,
    );
    return true;
  });
  assert.deepEqual((await vcenter.counts()).calls, {});
});
