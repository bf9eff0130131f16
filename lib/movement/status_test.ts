import assert from "node:assert/strict";
import { podVolumeBackups } from "../api/pod_volume_backup.ts";
import type { KubeClient, Patch } from "../kube/client.ts";
import { type Held, statusWriter } from "./status.ts";

const held: Held = { namespace: "velero", name: "b1", uid: "u1", resourceVersion: "7" };
const progress = { progress: { bytesDone: 1, totalBytes: 2 } };

/** The bodies that a report of progress sends where the CRD keeps these fields. */
async function reported(statusFields: ReadonlySet<string>) {
  const bodies: unknown[] = [];
  const patch = (_: unknown, { body }: Patch) => {
    bodies.push(body);
    return Promise.resolve({ metadata: { ...held, resourceVersion: "8" } });
  };
  const status = statusWriter({
    client: { patch } as unknown as KubeClient,
    resource: podVolumeBackups,
    capabilities: { statusSubresource: false, statusFields },
    holder: "n1/me",
  });
  const signal = new AbortController().signal;
  const { resourceVersion } = await status.report(held, { status: progress }, signal);
  return { bodies, resourceVersion };
}

Deno.test("progress that the CRD does not keep is not sent", async () => {
  assert.deepEqual(await reported(new Set(["phase"])), { bodies: [], resourceVersion: "7" });
  const { bodies, resourceVersion } = await reported(new Set(["phase", "progress"]));
  assert.deepEqual(bodies, [{ metadata: {}, status: progress }]);
  assert.equal(resourceVersion, "8");
});
