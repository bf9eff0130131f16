import assert from "node:assert/strict";
import type { PodVolumeBackup } from "../../lib/api/pod_volume_backup.ts";
import { startControlPlane } from "../support/control_plane.ts";
import { installCrds } from "../support/install_crds.ts";
import { podVolumeBackup } from "../support/objects.ts";
import { toolsMissing } from "../support/tools.ts";

const ignore = await toolsMissing("etcd", "kube-apiserver");

interface Review {
  readonly status: {
    readonly userInfo: { readonly username: string; readonly groups: readonly string[] };
  };
}

Deno.test({
  name: "a control plane of the tests behaves as the tests rely on",
  ignore,
  fn: async (t) => {
    await using controlPlane = await startControlPlane({ apiServerArgs: ["--watch-cache=false"] });

    await t.step("our definitions are established, with the status in the object", async () => {
      await installCrds(controlPlane);
      const path = "/apis/velero.io/v1/namespaces/velero/podvolumebackups";
      await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name: "velero" } });
      const status = { phase: "InProgress", startTimestamp: "2026-01-01T00:00:00Z" } as const;
      await controlPlane.call("POST", path, podVolumeBackup({ name: "one" }));
      await controlPlane.call("PATCH", `${path}/one`, { status });
      const read = await controlPlane.call<PodVolumeBackup>("GET", `${path}/one`);
      assert.deepEqual(read.status, status);
      await assert.rejects(controlPlane.call("PATCH", `${path}/one/status`, { status }), /404/);
      const wrong = controlPlane.call("PATCH", `${path}/one`, { status: { phase: "Resting" } });
      await assert.rejects(wrong, /422.*Resting/);
    });

    await t.step("each kubeconfig is the user that it names", async () => {
      assert.equal((await whoAmI(controlPlane.kubeconfig)).username, "admin");
      assert.equal((await whoAmI(controlPlane.tokenKubeconfig)).username, "admin-token");
      const user = await whoAmI(await controlPlane.userKubeconfig("jane", ["sailors", "night"]));
      assert.equal(user.username, "jane");
      assert.deepEqual(user.groups.slice(0, 2), ["sailors", "night"]);
    });

    await t.step("a service account's folder is laid out as in a pod", async () => {
      const folder = await controlPlane.serviceAccount("velero", "agent");
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
      assert.deepEqual(names, ["ca.crt", "namespace", "token"]);
      const token = await Deno.readTextFile(`${folder}/token`);
      const { status } = await controlPlane.call<{ status: { user: { username: string } } }>(
        "POST",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        { spec: { token } },
      );
      assert.equal(status.user.username, "system:serviceaccount:velero:agent");
    });

    await t.step("after a compaction the versions before it are gone", async () => {
      const list = await controlPlane.call<{ metadata: { resourceVersion: string } }>(
        "GET",
        "/api/v1/configmaps",
      );
      for (const name of ["later", "latest"]) {
        await controlPlane.call("POST", "/api/v1/namespaces", { metadata: { name } });
      }
      await controlPlane.compact();
      const from = `resourceVersion=${list.metadata.resourceVersion}&timeoutSeconds=5`;
      const events = await controlPlane.call("GET", `/api/v1/configmaps?watch=1&${from}`);
      assert.match(JSON.stringify(events), /"code":410/);
    });

    await t.step("the API server can be killed and started on the same port", async () => {
      const { pids, server } = controlPlane;
      await controlPlane.killApiServer();
      await assert.rejects(fetch(server));
      await controlPlane.startApiServer();
      assert.notEqual(controlPlane.pids.apiServer, pids.apiServer);
      await controlPlane.call("GET", "/apis/velero.io/v1/namespaces/velero/podvolumebackups/one");
    });
  },
});

async function whoAmI(kubeconfigFile: string): Promise<Review["status"]["userInfo"]> {
  const text = await Deno.readTextFile(kubeconfigFile);
  const { clusters: [{ cluster }], users: [{ user }] } = JSON.parse(text);
  const pem = (base64: string) => new TextDecoder().decode(Uint8Array.fromBase64(base64));
  const byCertificate = {
    cert: pem(user["client-certificate-data"] ?? ""),
    key: pem(user["client-key-data"] ?? ""),
  };
  using client = Deno.createHttpClient({
    caCerts: [pem(cluster["certificate-authority-data"])],
    ...(user.token ? {} : byCertificate),
  });
  const response = await fetch(
    `${cluster.server}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
    {
      client,
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(user.token ? { authorization: `Bearer ${user.token}` } : {}),
      },
      body: "{}",
    },
  );
  return (await response.json() as Review).status.userInfo;
}
