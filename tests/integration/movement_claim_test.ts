import assert from "node:assert/strict";
import { namespaces } from "../../lib/api/core.ts";
import { customResourceDefinitions } from "../../lib/api/custom_resource_definition.ts";
import { type PodVolumeBackup, podVolumeBackups } from "../../lib/api/pod_volume_backup.ts";
import { logger } from "../../lib/base/log.ts";
import { unanswered } from "../../lib/kube/api_error.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect } from "../../lib/kube/connection.ts";
import { newWatchHealth } from "../../lib/kube/watch.ts";
import { readCapabilities } from "../../lib/movement/capabilities.ts";
import { createMovements } from "../../lib/movement/controller.ts";
import type { MovementKind } from "../../lib/movement/kind.ts";
import { slotPool } from "../../lib/movement/slots.ts";
import { startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import { logObjects } from "../support/object_log.ts";
import { podVolumeBackup } from "../support/objects.ts";

const { signal: never } = new AbortController();

/** Moves nothing and completes. */
const kind: MovementKind<PodVolumeBackup> = {
  resource: podVolumeBackups,
  finalizer: "none",
  again: "do it again",
  isMine: () => true,
  trim: (object) => object,
  open: () =>
    Promise.resolve({
      path: {
        async *events() {
          yield { type: "completed", result: { snapshotID: "s", sizeBytes: 1 } } as const;
        },
        cancel() {},
        [Symbol.asyncDispose]: () => Promise.resolve(),
      },
      result: ({ snapshotID }) => ({ snapshotID }),
      discard: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};

/**
 * Carries out the first claim, and loses its answer for good once the watch has shown what it did: as
 * an API server does that is away for longer than a call is repeated.
 */
function losingTheFirstClaim(client: KubeClient): KubeClient {
  const shown = Promise.withResolvers<void>();
  let claims = 0;
  return {
    ...client,
    async patch(what, patch, signal) {
      const object = await client.patch(what, patch, signal);
      if (claims++ > 0) return object;
      await shown.promise;
      const request = { verb: "patch", resource: what.plural, scope: "the cluster" };
      throw unanswered(request, "ConnectionLost", { detail: "no answer" });
    },
    async *watch(what, options, signal) {
      for await (const event of client.watch(what, options, signal)) {
        yield event;
        if (JSON.stringify(event).includes('"phase":"InProgress"')) shown.resolve();
      }
    },
  };
}

Deno.test("a claim that was carried out and never answered is taken up all the same", async () => {
  await using controlPlane = await startControlPlane();
  await installCrds(controlPlane);
  const connection = await connect({ kubeconfig: controlPlane.kubeconfig });
  await using client = createClient(connection, { userAgent: "test" });
  await client.create(namespaces, { metadata: { name: "velero" } }, never);
  await using log = logObjects(controlPlane, "velero");
  const name = "podvolumebackups.velero.io";
  const definition = await client.get(customResourceDefinitions, { name }, never);
  const slots = slotPool({ limit: 1 });
  const movements = createMovements({
    client: losingTheFirstClaim(client),
    kind,
    namespace: "velero",
    node: "node-1",
    capabilities: readCapabilities(definition, podVolumeBackups),
    slots,
    progressIntervalMs: 1_000,
    graceMs: 0,
    holder: "here",
    health: newWatchHealth(),
    observe: { started: () => ({ [Symbol.dispose]() {} }), ended: () => {} },
    log: logger("test"),
  });
  const intake = new AbortController();
  const running = movements.run({ intake: intake.signal, work: never });
  await client.create(podVolumeBackups, podVolumeBackup({ name: "lost" }), never);
  await client.create(podVolumeBackups, podVolumeBackup({ name: "next" }), never);
  for (const name of ["next", "lost"]) {
    await log.until(name, ({ status }) => status?.phase === "Completed", 5_000);
  }
  intake.abort();
  await running;
  assert.equal(slots.used, 0);
});
