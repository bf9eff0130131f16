import assert from "node:assert/strict";
import { isAlreadyExists, isConflict, isForbidden } from "../../lib/kube/api_error.ts";
import { isGone, isNotFound } from "../../lib/kube/api_error.ts";
import { type ClientOptions, createClient, type KubeClient } from "../../lib/kube/client.ts";
import { connect, type Connection, type ConnectOptions } from "../../lib/kube/connection.ts";
import type { KubeObject, Resource } from "../../lib/kube/object.ts";
import { listAll, listPages } from "../../lib/kube/pages.ts";
import { connectProxy } from "../support/connect_proxy.ts";
import { type ControlPlane, startControlPlane } from "../support/control_plane.ts";
import { errorOf, never } from "../support/kube_answers.ts";
import { fillThings, things } from "../support/many_things.ts";
import { tempFolder } from "../support/temp.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Review extends KubeObject {
  readonly status?: { readonly userInfo: { readonly username: string } };
}
const core = { group: "", version: "v1" };
const configMaps: Resource<ConfigMap> = {
  ...core,
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const namespaces: Resource<KubeObject> = {
  ...core,
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};
const pods: Resource<KubeObject> = { ...core, plural: "pods", kind: "Pod", namespaced: true };
const selfSubjectReviews: Resource<Review> = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
};
function clientOf(connection: Connection, options: Partial<ClientOptions> = {}): KubeClient {
  return createClient(connection, { userAgent: "longshore-test", retries: 0, ...options });
}

async function clientFor(options: ConnectOptions): Promise<KubeClient> {
  return clientOf(await connect(options));
}

async function whoAmI(client: KubeClient): Promise<string | undefined> {
  const review: Review = { metadata: {} as Review["metadata"] }; // a review has no name
  return (await client.create(selfSubjectReviews, review, never)).status?.userInfo.username;
}

function podServiceAccount(controlPlane: ControlPlane, folder: string): ConnectOptions {
  const { hostname, port } = new URL(controlPlane.server);
  const [token, ca, namespace] = ["token", "ca.crt", "namespace"].map((name) =>
    `${folder}/${name}`
  );
  return {
    serviceHost: hostname,
    servicePort: port,
    serviceAccount: { token: token!, ca: ca!, namespace: namespace! },
  };
}

Deno.test({
  name: "the Kubernetes client against a real API server",
  ignore,
  async fn(t) {
    await using controlPlane = await startControlPlane();
    const admin = await connect({ kubeconfig: controlPlane.kubeconfig });
    await using client = clientOf(admin);
    const configMap = (name: string, more: Partial<ConfigMap> = {}): ConfigMap => ({
      ...more,
      metadata: { ...more.metadata, name, namespace: "default" },
    });

    await t.step("the client certificate says who we are", async () => {
      assert.equal(await whoAmI(client), "admin");
      const kubeconfig = await controlPlane.userKubeconfig("jane", ["sailors"]);
      await using jane = await clientFor({ kubeconfig });
      assert.equal(await whoAmI(jane), "jane");
    });

    await t.step("so does a bearer token", async () => {
      await using client = await clientFor({ kubeconfig: controlPlane.tokenKubeconfig });
      assert.equal(await whoAmI(client), "admin-token");
    });

    await t.step("a pod's service account, and its token as soon as it was swapped", async () => {
      const folder = await controlPlane.serviceAccount("velero", "one");
      const other = await controlPlane.serviceAccount("velero", "two");
      const connection = await connect(podServiceAccount(controlPlane, folder));
      assert.equal(connection.namespace, "velero");
      await using client = clientOf(connection);
      assert.equal(await whoAmI(client), "system:serviceaccount:velero:one");
      await Deno.rename(`${other}/token`, `${folder}/token`);
      assert.equal(await whoAmI(client), "system:serviceaccount:velero:two");
      await Deno.writeTextFile(`${folder}/token`, "wrong");
      assert.match((await errorOf(whoAmI(client))).message, /401 Unauthorized.*has not expired/);
    });

    await t.step("without rights the message names the rule that is missing", async () => {
      const kubeconfig = await controlPlane.userKubeconfig("nobody", []);
      await using nobody = await clientFor({ kubeconfig });
      const error = await errorOf(nobody.list(pods, { namespace: "velero" }, never));
      assert.ok(isForbidden(error));
      assert.match(
        error.message,
        /^Cannot list pods in namespace "velero": 403 Forbidden: .*User "nobody" cannot list .*\. Grant the verb "list" on "pods" in API group "" for namespace "velero" with a Role/,
      );
      const everywhere = await errorOf(nobody.list(pods, {}, never));
      assert.match(everywhere.message, /in all namespaces: 403 .* with a ClusterRole/);
    });

    await t.step("create, get, update, patch, delete, and what each is refused for", async () => {
      const made = await client.create(configMaps, configMap("cm", { data: { a: "1" } }), never);
      assert.ok(
        isAlreadyExists(await errorOf(client.create(configMaps, configMap("cm"), never))),
      );
      const name = { namespace: "default", name: "cm" };
      const resourceVersion = made.metadata.resourceVersion;
      const body = { metadata: { resourceVersion }, data: { b: "2" } };
      const patched = await client.patch(configMaps, { ...name, body }, never);
      assert.deepEqual(patched.data, { a: "1", b: "2" });
      assert.ok(isConflict(await errorOf(client.patch(configMaps, { ...name, body }, never))));
      assert.ok(isConflict(await errorOf(client.update(configMaps, made, never))));
      const read = await client.get(configMaps, name, never);
      await client.update(configMaps, { ...read, data: { c: "3" } }, never);
      assert.deepEqual((await client.get(configMaps, name, never)).data, { c: "3" });
      const wrongUid = client.delete(configMaps, { ...name, uid: "another" }, never);
      assert.ok(isConflict(await errorOf(wrongUid)));
      await client.delete(configMaps, { ...name, uid: made.metadata.uid! }, never);
      assert.ok(isNotFound(await errorOf(client.get(configMaps, name, never))));
      const unknown = await errorOf(client.list(things, {}, never));
      assert.match(unknown.message, /404 .*knows "things\.longshore\.test" \(is the Custom/);
    });

    await t.step("a patch of a pod's status is a merge patch, to the subresource", async () => {
      const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
      const pod = { metadata: { name: "p", namespace: "default" }, spec };
      await client.create(pods, pod, never);
      const patched: KubeObject & { readonly status?: { readonly phase: string } } = await client
        .patch(pods, {
          namespace: "default",
          name: "p",
          subresource: "status",
          body: { status: { phase: "Running" } },
        }, never);
      assert.equal(patched.status?.phase, "Running");
    });

    await t.step("labels and fields select", async () => {
      const metadata = { labels: { side: "port" } } as unknown as ConfigMap["metadata"];
      await client.create(configMaps, configMap("labeled", { metadata }), never);
      const namesOf = async (what: Resource<KubeObject>, where: Record<string, string>) =>
        (await client.list(what, { namespace: "default", ...where }, never))
          .items.map((item) => item.metadata.name);
      assert.deepEqual(await namesOf(configMaps, { labelSelector: "side in (port)" }), ["labeled"]);
      assert.deepEqual(await namesOf(configMaps, { fieldSelector: "metadata.name=no" }), []);
      assert.deepEqual(await namesOf(pods, { fieldSelector: "spec.nodeName=n1" }), ["p"]);
      assert.deepEqual(await namesOf(pods, { fieldSelector: "spec.nodeName=n2" }), []);
    });

    await t.step("the log of a pod without a kubelet is an error with the pod's name", async () => {
      const logs = client.podLogs({ namespace: "default", name: "p", tailLines: 5 }, never);
      const error = await errorOf(logs);
      assert.match(error.message, /^Cannot get pods\/log "p" in namespace "default": \d{3} /);
    });

    await t.step("a watch goes on from a list", async () => {
      const where = { namespace: "default" };
      const { resourceVersion } = await client.list(configMaps, where, never);
      const options = { ...where, resourceVersion, timeoutSeconds: 60, readDeadlineMs: 60_000 };
      const watch = client.watch(configMaps, options, never);
      const next = watch.next();
      await client.create(configMaps, configMap("seen"), never);
      const event = (await next).value;
      assert.ok(event?.type === "ADDED" && event.object.metadata.name === "seen");
      await watch.return(undefined);
    });

    await t.step("150 watches at once do not block calls", async () => {
      const abort = new AbortController();
      const options = { resourceVersion: "0", timeoutSeconds: 60, readDeadlineMs: 60_000 };
      const watches = Array.from(
        { length: 150 },
        () => client.watch(namespaces, options, abort.signal),
      );
      await Promise.all(watches.map((watch) => watch.next()));
      const reads = Array.from(
        { length: 50 },
        () => client.get(namespaces, { name: "default" }, never),
      );
      const started = performance.now();
      await Promise.all(reads);
      assert.ok(performance.now() - started < 5_000, "calls were blocked");
      const ends = watches.map(async (watch) => {
        while (!(await watch.next()).done);
      });
      abort.abort(new Error("enough"));
      for (const end of await Promise.allSettled(ends)) assert.equal(end.status, "rejected");
    });

    await t.step(
      "50,000 objects are listed, in pages and in one answer",
      () => listMany(client, controlPlane),
    );

    await t.step("insecure-skip-tls-verify and tls-server-name", async () => {
      const { ca: _, ...noAuthority } = admin;
      const server = admin.server.replace("127.0.0.1", "localhost");
      for (
        const connection of [
          { ...noAuthority, insecure: true },
          { ...admin, server, tlsServerName: "kubernetes.default.svc" },
        ]
      ) {
        await using client = clientOf(connection);
        assert.equal(await whoAmI(client), "admin");
      }
      await using wrong = clientOf({ ...admin, tlsServerName: "elsewhere" });
      assert.match((await errorOf(whoAmI(wrong))).message, /not valid for name "elsewhere"/);
    });

    await t.step("an unknown authority is said to be the cause", async () => {
      const { ca: _, ...noAuthority } = admin;
      await using client = clientOf(noAuthority);
      const error = await errorOf(whoAmI(client));
      assert.equal(error.reason, "CertificateInvalid");
      assert.match(error.message, /UnknownIssuer.*context "test" of ".*" does not name/);
    });

    await t.step("an exec plugin gives the token", async () => {
      const config = JSON.parse(await Deno.readTextFile(controlPlane.tokenKubeconfig));
      const { token } = config.users[0].user;
      const apiVersion = "client.authentication.k8s.io/v1";
      const credential = { apiVersion, kind: "ExecCredential", status: { token } };
      config.users[0].user = { exec: { apiVersion, command: "./login", args: ["a"] } };
      using folder = tempFolder("exec");
      const script = `#!/bin/sh\n[ "$1" = a ] && [ -n "$KUBERNETES_EXEC_INFO" ] || exit 1\n`;
      const text = `${script}echo '${JSON.stringify(credential)}'\n`;
      await Deno.writeTextFile(`${folder.path}/login`, text, { mode: 0o755 });
      await Deno.writeTextFile(`${folder.path}/config`, JSON.stringify(config));
      await using client = await clientFor({ kubeconfig: `${folder.path}/config` });
      assert.equal(await whoAmI(client), "admin-token");
    });

    await t.step("proxy-url leads calls and watches through the proxy", async () => {
      await using proxy = connectProxy();
      using _ = withoutNoProxy();
      await using client = clientOf({
        ...admin,
        proxyUrl: `http://user:pass@127.0.0.1:${proxy.port}`,
      });
      assert.equal(await whoAmI(client), "admin");
      const options = { resourceVersion: "0", timeoutSeconds: 60, readDeadlineMs: 60_000 };
      for await (const event of client.watch(namespaces, options, never)) {
        assert.equal(event.type, "ADDED");
        break;
      }
      const target = new URL(controlPlane.server).host;
      assert.equal(proxy.asked.length, 2);
      for (const head of proxy.asked) {
        assert.ok(head.startsWith(`CONNECT ${target} `), head);
        assert.match(head, /proxy-authorization: Basic dXNlcjpwYXNz/i);
      }
    });

    await t.step(
      "a killed API server is Unreachable; after its return the client goes on",
      async () => {
        const options = { resourceVersion: "1", timeoutSeconds: 60, readDeadlineMs: 60_000 };
        const { resourceVersion } = await client.list(namespaces, {}, never);
        const watch = client.watch(namespaces, { ...options, resourceVersion }, never);
        const first = watch.next();
        await client.create(namespaces, { metadata: { name: "more" } }, never);
        await first;
        const cut = errorOf(watch.next());
        await controlPlane.killApiServer();
        assert.equal((await cut).reason, "ConnectionLost");
        assert.equal((await errorOf(client.get(namespaces, { name: "default" }, never))).status, 0);
        await controlPlane.compact();
        await controlPlane.startApiServer();
        assert.equal(await whoAmI(client), "admin");
        const past = client.watch(namespaces, options, never);
        assert.ok(isGone(await errorOf(past.next())));
      },
    );
  },
});

async function listMany(client: KubeClient, controlPlane: ControlPlane) {
  const count = 50_000;
  await fillThings(controlPlane, count);
  const from = { client, what: things };
  await served(() => client.list(things, { limit: 1 }, never));
  let seen = 0;
  let last = "";
  const versions = new Set<string>();
  for await (const page of listPages(from, { namespace: "default", limit: 1_000 }, never)) {
    assert.ok(page.items.length <= 1_000);
    versions.add(page.resourceVersion);
    for (const { metadata: { name } } of page.items) {
      assert.ok(name > last, "in order, each once");
      last = name;
      seen++;
    }
  }
  assert.equal(seen, count);
  assert.equal(versions.size, 1);
  let [whole, end] = [0, ""];
  for await (const part of client.listParts(things, { namespace: "default" }, never)) {
    whole += part.items.length;
    end = part.resourceVersion ?? "";
  }
  assert.equal(whole, count);
  assert.match(end, /^\d+$/);
  const some = await listAll(from, { fieldSelector: "metadata.name=t000007" }, never);
  assert.equal(some.length, 1);
}

/** A new definition is served a moment after it was made. */
async function served(list: () => Promise<unknown>) {
  for (let tries = 0; tries < 200; tries++) {
    try {
      return await list();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  throw new Error("the new definition was not served in 10 s");
}

/** Deno lets NO_PROXY win over a proxy that is given, and it may name loopback. */
function withoutNoProxy(): Disposable {
  const names = ["NO_PROXY", "no_proxy"];
  const values = names.map((name) => [name, Deno.env.get(name)] as const);
  names.forEach((name) => Deno.env.delete(name));
  return {
    [Symbol.dispose]() {
      for (const [name, value] of values) if (value !== undefined) Deno.env.set(name, value);
    },
  };
}
