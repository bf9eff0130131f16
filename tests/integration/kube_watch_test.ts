import { deepEqual, equal, match, ok } from "node:assert/strict";
import { sleep } from "../../lib/base/abort.ts";
import type { Log } from "../../lib/base/log.ts";
import { createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect, type Connection } from "../../lib/kube/connection.ts";
import { type CoreEvent, createRecorder } from "../../lib/kube/events.ts";
import type { StoreReader } from "../../lib/kube/store.ts";
import { claim, update, writeUntilDone } from "../../lib/kube/update.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import {
  type ConfigMap,
  configMap,
  configMaps,
  followConfigMaps,
  key,
  namespace,
  never,
  warningsOnly,
} from "../support/follow_config_maps.ts";
import { startProcess } from "../support/process.ts";
import { startProxy } from "../support/proxy.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

function through(connection: Connection, port: number): KubeClient {
  const server = `https://127.0.0.1:${port}`;
  return createClient({ ...connection, server }, { userAgent: "test", requestDeadlineMs: 2_000 });
}

/** A short read deadline, and delays to match: a test shall not take minutes. */
const hurried = { readDeadlineMs: 2_000, settledMs: 1_500, retry: { firstMs: 200, maxMs: 1_000 } };

Deno.test({
  name: "a watch of a real API server",
  ignore,
  fn: async (t) => {
    await using plane = await startControlPlane();
    const connection = await connect({ kubeconfig: plane.kubeconfig });
    await using client = createClient(connection, { userAgent: "test" });
    const write = (name: string, text: string) =>
      update(client, {
        resource: configMaps,
        name: { namespace, name },
        change: () => ({ data: { text } }),
      }, never);
    for (let count = 0; count < 8; count++) {
      await client.create(configMaps, configMap(`first-${count}`), never);
    }

    await t.step("follows objects from the first list on and all their changes", async () => {
      await using following = followConfigMaps(client);
      await following.store.whenSynced(never);
      equal(following.store.size, 8);
      equal(
        "managedFields" in (following.store.get(key("first-0"))?.metadata ?? { managedFields: 1 }),
        false,
      );
      await client.create(configMaps, configMap("second"), never);
      await write("first-1", "2");
      await client.delete(configMaps, { namespace, name: "first-0" }, never);
      await following.until(
        "the changes",
        (store) =>
          store.get(key("second")) !== undefined && store.get(key("first-0")) === undefined &&
          store.get(key("first-1"))?.data?.["text"] === "2",
      );
      // Without its label the object is no longer of interest: the server says that it is gone.
      await update(client, {
        resource: configMaps,
        name: { namespace, name: "second" },
        change: () => ({ metadata: { labels: null } }),
      }, never);
      await following.until("the end of interest", (store) => !store.get(key("second")));
      deepEqual(following.warnings, []);
    });

    await t.step("sees what happened while its connection was silent but open", async () => {
      await using proxy = startProxy({ port: portOf(plane) });
      await using watcher = through(connection, proxy.port);
      await using following = followConfigMaps(watcher, hurried);
      await following.store.whenSynced(never);
      await write("first-2", "before");
      const isBefore = (store: StoreReader<ConfigMap>) =>
        store.get(key("first-2"))?.data?.["text"] === "before";
      await following.until("the watch", isBefore);
      proxy.silence();
      const started = performance.now();
      await write("first-2", "meanwhile");
      await following.until("the missed change", (store) => !isBefore(store));
      const took = performance.now() - started;
      ok(took > 1_000 && took < 30_000, `${took} ms`);
      match(following.warnings.join(), /sent nothing for 2 s/);
    });

    await t.step("goes on over a slow connection that is cut again and again", async () => {
      await using proxy = startProxy({ port: portOf(plane) });
      proxy.slow(50_000);
      await using watcher = through(connection, proxy.port);
      await using following = followConfigMaps(watcher, hurried);
      await following.store.whenSynced(never);
      for (const text of ["once", "twice", "thrice"]) {
        proxy.cut();
        await write("first-1", text);
        await following.until(
          "the change",
          (store) => store.get(key("first-1"))?.data?.["text"] === text,
        );
      }
    });

    await t.step("misses nothing when the API server is killed and started again", async () => {
      await using following = followConfigMaps(client, hurried);
      await following.store.whenSynced(never);
      await plane.killApiServer();
      while (following.health.connected) await sleep(20, never);
      ok(following.health.lastError);
      await plane.startApiServer();
      await client.delete(configMaps, { namespace, name: "first-3" }, never);
      await client.create(configMaps, configMap("third"), never);
      await following.until(
        "the changes",
        (store) => store.get(key("first-3")) === undefined && store.get(key("third")) !== undefined,
      );
      equal(following.health.connected, true);
    });

    await t.step("lists anew when its version is gone, and drops what was deleted", async () => {
      await using proxy = startProxy({ port: portOf(plane) });
      await using watcher = through(connection, proxy.port);
      await using following = followConfigMaps(watcher, { ...hurried, readDeadlineMs: 5_000 });
      await following.store.whenSynced(never);
      // Behind a silent connection the watch learns of nothing until all of it is history.
      proxy.silence();
      await client.delete(configMaps, { namespace, name: "first-4" }, never);
      await client.create(configMaps, configMap("fourth"), never);
      await plane.killApiServer();
      await plane.compact();
      await plane.startApiServer();
      await following.until(
        "the relist",
        (store) =>
          store.get(key("first-4")) === undefined && store.get(key("fourth")) !== undefined,
      );
    });

    await t.step("ends on an abort after the garbage was collected", async () => {
      const script = new URL("../support/watch_after_gc.ts", import.meta.url).pathname;
      const args = ["run", "-A", "--v8-flags=--expose-gc", script, plane.kubeconfig];
      await using child = startProcess(Deno.execPath(), args, { env: { RUST_BACKTRACE: "0" } });
      const line = await child.line(/ended after/, 30_000);
      match(line, /^gc function, ended after \d{1,3} ms$/);
      equal((await child.ended()).code, 0);
    });

    await t.step("of two that claim an object one succeeds", async () => {
      const object = await client.get(configMaps, { namespace, name: "first-5" }, never);
      const claims = ["n1", "n2", "n3"].map((node) =>
        claim(client, { resource: configMaps, object, patch: { data: { node } } }, never)
      );
      const won = (await Promise.all(claims)).filter((result) => result !== false);
      equal(won.length, 1);
      const after = await client.get(configMaps, { namespace, name: "first-5" }, never);
      deepEqual(after.data, won[0]?.data);
    });

    await t.step("updates at the same time lose none", async () => {
      const add = (name: string) =>
        update(client, {
          resource: configMaps,
          name: { namespace, name: "first-6" },
          change: ({ data }) => ({
            data: { count: `${Number(data?.["count"] ?? 0) + 1}`, [name]: "" },
          }),
        }, never);
      await Promise.all(["a", "b", "c", "d", "e"].map(add));
      const { data } = await client.get(configMaps, { namespace, name: "first-6" }, never);
      equal(data?.["count"], "5");
    });

    await t.step("a write that must not be lost outlasts the API server's absence", async () => {
      await plane.killApiServer();
      await using hasty = createClient(connection, { userAgent: "test", retries: 0 });
      const change = () => ({ data: { text: "final" } });
      const resource = configMaps;
      const { log, warnings } = warningsOnly();
      const failed = Promise.withResolvers<void>();
      const warn: Log["warn"] = (...line) => {
        log.warn(...line);
        failed.resolve();
      };
      const writing = writeUntilDone(
        (signal) =>
          update(hasty, { resource, name: { namespace, name: "first-7" }, change }, signal),
        never,
        { what: "the test's status", log: { ...log, warn } },
      );
      await failed.promise;
      await plane.startApiServer();
      equal((await writing).data?.["text"], "final");
      ok(warnings.length > 0);
    });

    await t.step("events are accepted by the server and count their repetitions", async () => {
      const text = { type: "Warning", reason: "SlotWait", message: "漢".repeat(1_000) } as const;
      const object = await client.get(configMaps, { namespace, name: "first-7" }, never);
      const { uid = "" } = object.metadata;
      const about = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "first-7", uid };
      const { log, warnings } = warningsOnly();
      {
        await using recorder = createRecorder(client, { component: "longshore", host: "n1", log });
        recorder.event(about, text);
        recorder.event({ apiVersion: "v1", kind: "Node", name: "n1" }, text);
        recorder.event(about, text);
      }
      deepEqual(warnings, []);
      const { items } = await plane.call<{ items: CoreEvent[] }>("GET", "/api/v1/events");
      const counts = items.map(({ involvedObject, count }) => `${involvedObject.kind} ${count}`);
      deepEqual(counts.sort(), ["ConfigMap 2", "Node 1"]);
    });
  },
});

function portOf({ server }: ControlPlane): number {
  return Number(new URL(server).port);
}
