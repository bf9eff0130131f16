import assert from "node:assert/strict";
import { logger } from "../../lib/base/log.ts";
import { updateMetadata, type UpdateResult } from "../../lib/vsphere/cns_calls.ts";
import { readServiceContent } from "../../lib/vsphere/service_content.ts";
import type { Session } from "../../lib/vsphere/session.ts";
import { type Exchange, soapExchange } from "../../lib/vsphere/soap.ts";
import { type TaskWatch, watchTasks } from "../../lib/vsphere/task_watch.ts";
import { openWire } from "../../lib/vsphere/wire.ts";
import { createVolumes } from "../support/cns_volumes.ts";
import { toolsMissing } from "../support/tools.ts";
import { startVcenter, type Vcenter } from "../support/vcenter.ts";
import { sessionAt } from "../support/vcenter_session.ts";

const ignore = await toolsMissing("cnssim");
const never = new AbortController().signal;
const cluster = { clusterId: "gc", user: "u@x", flavor: "GUEST_CLUSTER", distribution: "TKG" };

interface Site {
  readonly vcenter: Vcenter;
  readonly session: Session;
  readonly tasks: TaskWatch;
  readonly volumeId: string;
}

/** Updates the volume's metadata `times` times at once, and awaits their tasks. */
async function update({ session, tasks, volumeId }: Site, times: number): Promise<UpdateResult[]> {
  const updating = { call: session.call, awaitTask: tasks.awaitTask, unknownElements: none };
  const one = () => updateMetadata(updating, [{ volumeId, cluster, entities: [] }], never);
  const results = await Promise.all(Array.from({ length: times }, one));
  return results.map((one) => one.get(volumeId)!);
}

const none: ReadonlySet<string> = new Set();

interface Setting {
  readonly taskMs?: number;
  readonly wrap?: (exchange: Exchange) => Exchange;
}

function test(name: string, run: (site: Site) => Promise<void>, setting: Setting = {}) {
  const { taskMs = 0, wrap = (exchange) => exchange } = setting;
  // A long poll that is left gives its handle back a moment later.
  Deno.test(name, { ignore, sanitizeResources: false }, async () => {
    await using vcenter = await startVcenter({ taskMs });
    using wire = await openWire(vcenter.address);
    using own = await openWire(vcenter.address, { connections: 1 });
    await using session = await sessionAt({ vcenter, wire });
    const [volumeId] = await createVolumes(session.call, ["pvc"]);
    const options = { userAgent: "longshore-test" };
    await using tasks = watchTasks({
      session,
      content: await readServiceContent(session.call, vcenter.host, never),
      exchange: wrap(soapExchange(wire, options)),
      longPolls: wrap(soapExchange(own, options)),
      log: logger("test"),
      maxWaitSeconds: 10,
    });
    await run({ vcenter, session, tasks, volumeId: volumeId! });
  });
}

test("many tasks are awaited by one list, which serves later ones as well", async (site) => {
  const first = await update(site, 20);
  assert.ok(first.every(({ ok }) => ok));
  assert.ok((await update(site, 1))[0]?.ok);
  const { calls } = await site.vcenter.counts();
  assert.equal(calls["CreateListView"], 1);
  assert.equal(calls["CnsUpdateVolumeMetadata"], 21);
});

test("after the end of the session the list is made anew, and no task is lost", async (site) => {
  for (let kill = 0; kill < 3; kill++) {
    assert.ok((await update(site, 5)).every(({ ok }) => ok));
    await site.vcenter.terminateSessions();
  }
  assert.ok((await update(site, 5)).every(({ ok }) => ok));
  const { logins, sessions, calls } = await site.vcenter.counts();
  assert.deepEqual({ logins, sessions }, { logins: 4, sessions: 1 });
  assert.equal(calls["CreateListView"], 4);
});

test("the end of the session during a long poll loses no task", async (site) => {
  const waiting = update(site, 1);
  while (((await site.vcenter.counts()).calls["WaitForUpdatesEx"] ?? 0) === 0);
  await site.vcenter.terminateSessions();
  assert.ok((await waiting)[0]?.ok);
  assert.ok((await update(site, 1))[0]?.ok);
  assert.equal((await site.vcenter.counts()).sessions, 1);
}, { taskMs: 300 });

test("who stops waiting leaves at once, and the watch goes on for others", async (site) => {
  const abort = new AbortController();
  const body = { call: site.session.call, awaitTask: site.tasks.awaitTask, unknownElements: none };
  const left = updateMetadata(
    body,
    [{ volumeId: site.volumeId, cluster, entities: [] }],
    abort.signal,
  );
  const other = update(site, 1);
  while (((await site.vcenter.counts()).calls["WaitForUpdatesEx"] ?? 0) === 0);
  abort.abort(new Error("enough"));
  await assert.rejects(left, /^Error: enough$/);
  assert.ok((await other)[0]?.ok);
}, { taskMs: 300 });

test("a task that vCenter does not know has vanished", async ({ tasks }) => {
  const end = await tasks.awaitTask({ type: "Task", value: "task-none" }, never);
  assert.deepEqual(end, { is: "vanished" });
});

test("where there are no lists every task is asked for", async (site) => {
  assert.ok((await update(site, 3)).every(({ ok }) => ok));
  assert.ok((await update(site, 1))[0]?.ok);
  const { calls } = await site.vcenter.counts();
  assert.equal(calls["WaitForUpdatesEx"], undefined);
  assert.ok((calls["RetrieveProperties"] ?? 0) > 3);
}, { wrap: withoutLists });

function withoutLists(exchange: Exchange): Exchange {
  return (request, signal) => {
    const { body } = request;
    const asked = body.name === "CreateListView" ? { ...body, name: "Unheard" } : body;
    return exchange({ ...request, body: asked }, signal);
  };
}
