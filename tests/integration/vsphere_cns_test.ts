import assert from "node:assert/strict";
import { queryVolumes, updateMetadata } from "../../lib/vsphere/cns_calls.ts";
import type { CnsEntity, CnsUpdate, CnsVolume, Removable } from "../../lib/vsphere/cns_types.ts";
import { SoapFault } from "../../lib/vsphere/fault.ts";
import type { Session } from "../../lib/vsphere/session.ts";
import { pollTasks } from "../../lib/vsphere/tasks.ts";
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
  /** Ids of its volumes. */
  readonly volumes: readonly string[];
}

/** A vCenter with volumes and a session there. */
function test(name: string, volumes: number, run: (site: Site) => Promise<void>) {
  Deno.test(name, { ignore }, async () => {
    await using vcenter = await startVcenter();
    using wire = await openWire(vcenter.address);
    await using session = await sessionAt({ vcenter, wire });
    const names = Array.from({ length: volumes }, (_, nth) => `pvc-${nth}`);
    await run({ vcenter, session, volumes: await createVolumes(session.call, names) });
  });
}

function entity(entityType: string, more: Partial<Removable<CnsEntity>> = {}) {
  return {
    entityType,
    entityName: `the-${entityType}`,
    namespace: entityType === "PERSISTENT_VOLUME" ? "" : "ns",
    clusterId: "gc",
    labels: {},
    references: [],
    ...more,
  };
}

function send({ call }: Session, updates: readonly CnsUpdate[]) {
  const awaitTask = pollTasks(call, { type: "PropertyCollector", value: "propertyCollector" });
  return updateMetadata({ call, awaitTask, unknownElements: new Set() }, updates, never);
}

async function query({ call }: Session, pageSize = 1_000): Promise<CnsVolume[]> {
  const found: CnsVolume[] = [];
  const filter = { containerClusterIds: ["gc"] };
  for await (const page of queryVolumes(call, filter, { signal: never, pageSize })) {
    assert.ok(page.length <= pageSize);
    found.push(...page);
  }
  return found;
}

test(
  "entities are added to those that are there, come back as sent, and are removed",
  1,
  async ({ session, volumes: [volumeId] }) => {
    const pv = entity("PERSISTENT_VOLUME", {
      labels: { "a.example/b": `<&"'> ä 💡`, app: "db" },
      references: [{
        entityType: "PERSISTENT_VOLUME_CLAIM",
        entityName: "sv",
        namespace: "ns1",
        clusterId: "vSphereSupervisorID-s",
      }],
    });
    const pod = entity("POD");
    const update = { volumeId: volumeId!, cluster };
    await send(session, [{ ...update, entities: [pv] }]);
    assert.deepEqual((await send(session, [{ ...update, entities: [pod] }])).get(volumeId!), {
      ok: true,
    });
    const [volume] = await query(session);
    assert.deepEqual(volume?.entities, [pv, pod]);
    assert.deepEqual(volume?.clusters.find(({ clusterId }) => clusterId === "gc"), cluster);
    assert.equal(volume?.name, "pvc-0");
    assert.equal(volume?.type, "BLOCK");
    await send(session, [{ ...update, entities: [{ ...pv, remove: true }] }]);
    assert.deepEqual((await query(session))[0]?.entities, [pod]);
  },
);

test("of a batch only the volume that does not exist fails", 2, async ({ session, volumes }) => {
  const ids = [volumes[0]!, "00000000-0000-4000-8000-000000000000", volumes[1]!];
  const results = await send(
    session,
    ids.map((volumeId) => ({ volumeId, cluster, entities: [entity("POD")] })),
  );
  assert.deepEqual(ids.map((id) => results.get(id)?.ok), [true, false, true]);
  const missing = results.get(ids[1]!);
  assert.ok(missing !== undefined && !missing.ok);
  assert.equal(missing.fault.class, "gone");
  assert.match(missing.fault.message, /^NotFound: The object or item referred to could not be fo/);
});

test("two entities of a type in one spec are refused for good", 1, async ({ session, volumes }) => {
  const entities = [entity("POD"), entity("POD", { entityName: "other" })];
  await assert.rejects(send(session, [{ volumeId: volumes[0]!, cluster, entities }]), (error) => {
    assert.ok(error instanceof SoapFault);
    assert.equal(error.fault.class, "permanent");
    assert.match(error.message, /^CnsUpdateVolumeMetadata failed: .*Duplicated entity/);
    return true;
  });
});

test("a query in pages finds every volume once", 5, async ({ vcenter, session, volumes }) => {
  const entities = [entity("POD")];
  await send(session, volumes.map((volumeId) => ({ volumeId, cluster, entities })));
  const found = (await query(session, 2)).map(({ volumeId }) => volumeId);
  assert.deepEqual(found.toSorted(), volumes.toSorted());
  assert.equal((await vcenter.counts()).calls["CnsQueryVolume"], 3);
});

test("updates go on through the end of a session", 1, async ({ vcenter, session, volumes }) => {
  const update = { volumeId: volumes[0]!, cluster, entities: [entity("POD")] };
  await vcenter.terminateSessions();
  assert.equal((await send(session, [update])).get(update.volumeId)?.ok, true);
  const { logins, sessions } = await vcenter.counts();
  assert.deepEqual({ logins, sessions }, { logins: 2, sessions: 1 });
});
