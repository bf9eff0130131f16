import assert from "node:assert/strict";
import { logger } from "../../lib/base/log.ts";
import { queryVolumes, updateMetadata } from "../../lib/vsphere/cns_calls.ts";
import type { CallRecord } from "../../lib/vsphere/soap.ts";
import { openVcenter } from "../../lib/vsphere/vcenter.ts";
import { createVolumes } from "../support/cns_volumes.ts";
import { toolsMissing } from "../support/tools.ts";
import { startVcenter } from "../support/vcenter.ts";

const ignore = await toolsMissing("cnssim");
const never = new AbortController().signal;

// A long poll that is left gives its handle back a moment later.
const options = { ignore, sanitizeResources: false };

Deno.test("all layers together update a batch, and leave no session behind", options, async () => {
  await using server = await startVcenter();
  const { user, password } = server;
  const records: CallRecord[] = [];
  {
    await using vcenter = await openVcenter(server.address, {
      userAgent: "longshore-test",
      credentials: () => Promise.resolve({ user, password }),
      log: logger("test"),
      record: (one) => void records.push(one),
    }, never);
    const { call, awaitTask, version: { unknownElements } } = vcenter;
    const ids = await createVolumes(call, ["a", "b"]);
    const cluster = { clusterId: "gc", user, flavor: "GUEST_CLUSTER", distribution: "" };
    const updates = ids.map((volumeId) => ({ volumeId, cluster, entities: [] }));
    const results = await updateMetadata({ call, awaitTask, unknownElements }, updates, never);
    assert.deepEqual([...results.values()], [{ ok: true }, { ok: true }]);
    const pages = await Array.fromAsync(queryVolumes(call, { volumeIds: ids }, { signal: never }));
    assert.deepEqual(pages.flat().map(({ name }) => name).toSorted(), ["a", "b"]);
  }
  assert.ok(
    records.some(({ method, outcome }) => method === "CnsQueryVolume" && outcome === "success"),
  );
  const { logins, sessions } = await server.counts();
  assert.deepEqual({ logins, sessions }, { logins: 1, sessions: 0 });
});
