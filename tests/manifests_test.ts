/** manifests/ against what the program does: ports, paths, flags, names, rights. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { crdName } from "../cmd/crd_probe.ts";
import { serverFlags } from "../cmd/server_options.ts";
import { command as markStale } from "../cmd/mark_stale.ts";
import { parseDuration } from "../lib/base/duration.ts";
import { defaultNamespace } from "../lib/api/names.ts";
import { podVolumeBackups } from "../lib/api/pod_volume_backup.ts";
import { podVolumeRestores } from "../lib/api/pod_volume_restore.ts";
import type { KubeObject } from "../lib/kube/object.ts";
import { readManifest, type Rule } from "./support/rights.ts";

const folder = new URL("../manifests/", import.meta.url);

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly terminationMessagePolicy: string;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: unknown;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: unknown }[];
}

type Workload = KubeObject & {
  readonly spec: { readonly template: KubeObject & { spec: PodSpec } };
};

const [agent] = await readManifest<Workload>("daemonset.yaml");
const [job] = await readManifest<Workload>("mark-stale-job.yaml");
const pod = agent?.spec.template.spec as PodSpec;
const [container] = pod.containers as [Container];

const byDefault = (name: string) => serverFlags.find((flag) => flag.name === name)?.default ?? "";
const valueOf = (name: string) => container.env.find((one) => one.name === name)?.value ?? "";
const mountOf = (name: string) =>
  container.volumeMounts.find((one) => one.name === name)?.mountPath;

async function read(path: string) {
  return parse(await Deno.readTextFile(new URL(path, folder)));
}

Deno.test("the DaemonSet calls the agent with flags that it has", () => {
  const [program, ...words] = [...container.command, ...container.args];
  assert.deepEqual([program, ...words.slice(0, 2)], ["/velero", "node-agent", "server"]);
  const flags = words.slice(2).map((word) => word.replace(/^--([^=]+).*$/, "$1"));
  for (const flag of flags) assert(serverFlags.some(({ name }) => name === flag), flag);
  const grace = words.find((word) => word.startsWith("--grace="))?.slice(8) ?? byDefault("grace");
  assert.equal(pod.terminationGracePeriodSeconds, parseDuration(grace) / 1_000 + 10);
});

Deno.test("the DaemonSet asks where the agent answers", () => {
  const [port] = container.ports;
  assert.equal(`:${port?.containerPort}`, byDefault("metrics-address"));
  const { annotations } = agent?.spec.template.metadata ?? {};
  assert.equal(annotations?.["prometheus.io/port"], String(port?.containerPort));
  assert.equal(annotations?.["prometheus.io/path"], "/metrics");
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  assert.deepEqual(probes.map(({ httpGet }) => httpGet.path), ["/healthz", "/healthz", "/readyz"]);
  for (const { httpGet } of probes) assert.equal(httpGet.port, port?.containerPort);
});

Deno.test("the DaemonSet mounts what the agent reads, under the names of Velero's", () => {
  assert.equal(mountOf("host-pods"), byDefault("host-pods"));
  assert.equal(mountOf("host-plugins"), "/var/lib/kubelet/plugins");
  const scratch = pod.volumes.find(({ name }) => name === "scratch");
  assert("emptyDir" in (scratch ?? {}), "the root is read-only");
  for (const name of ["VELERO_SCRATCH_DIR", "HOME", "TMPDIR"]) {
    assert.equal(valueOf(name), mountOf("scratch"));
  }
  assert(valueOf("AWS_SHARED_CREDENTIALS_FILE").startsWith(`${mountOf("cloud-credentials")}/`));
  const names = container.env.map(({ name }) => name);
  for (const name of ["NODE_NAME", "POD_NAME", "VELERO_NAMESPACE"]) assert(names.includes(name));
});

Deno.test("the DaemonSet has the name and labels by which Velero and the other commands find it", () => {
  assert.equal(agent?.metadata.name, "node-agent");
  assert.deepEqual(agent?.spec.template.metadata.labels, {
    ...{ component: "velero", name: "node-agent", role: "node-agent" },
  });
});

Deno.test("on a cluster that also has Windows nodes no pod of ours goes there", () => {
  for (const workload of [agent, job]) {
    assert.deepEqual(workload?.spec.template.spec.nodeSelector, { "kubernetes.io/os": "linux" });
  }
});

Deno.test("the Job calls mark-stale with flags that it has", () => {
  const [{ command, args, image } = container] = job?.spec.template.spec.containers ?? [];
  assert.deepEqual([...command, args[0]], ["/velero", "mark-stale"]);
  for (const word of args.slice(1)) {
    const flag = word.replace(/^--([^=]+).*$/, "$1");
    assert(markStale.flags.some(({ name }) => name === flag), flag);
  }
  assert.equal(image, container.image);
});

Deno.test("the kustomizations have every file, and all is in Velero's namespace", async () => {
  const { namespace, resources, images } = await read("kustomization.yaml");
  assert.equal(namespace, defaultNamespace);
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".yaml"));
  const applied = files.filter((name) => !/^kustomization|-job\.yaml$/.test(name));
  assert.deepEqual(resources.toSorted(), applied.toSorted());
  assert.equal(`${images[0].name}:${images[0].newTag}`, container.image);
  const crds = [...Deno.readDirSync(new URL("crds", folder))].map(({ name }) => name)
    .filter((name) => name.startsWith("velero.io_"));
  const { resources: listed } = await read("crds/Kustomization");
  assert.deepEqual(listed.toSorted(), crds.toSorted(), "no more than the agent is about");
  for (const file of applied) {
    for (const { kind = "", metadata } of await readManifest(file)) {
      const expected = kind.startsWith("Cluster") ? undefined : defaultNamespace;
      assert.equal(metadata.namespace, expected, `${kind} "${metadata.name}" of ${file}`);
    }
  }
});

Deno.test("the roles grant nothing by a wildcard, and name the CRDs that are read", async () => {
  const accounts = { "rbac.yaml": pod, "mark-stale-rbac.yaml": job?.spec.template.spec };
  for (const [file, user] of Object.entries(accounts)) {
    const parts = await readManifest<KubeObject & { readonly rules?: readonly Rule[] }>(file);
    const names = new Set(parts.map(({ metadata }) => metadata.name));
    assert.deepEqual([...names], [user?.serviceAccountName], file);
    const rules = parts.flatMap(({ rules }) => rules ?? []);
    assert(rules.length > 5);
    for (const { apiGroups, resources, verbs } of rules) {
      assert.doesNotMatch([...apiGroups, ...resources, ...verbs].join(), /\*/);
    }
    const crds = rules.find(({ resources }) => resources.includes("customresourcedefinitions"));
    assert.deepEqual(crds?.resourceNames, [podVolumeBackups, podVolumeRestores].map(crdName));
    assert.deepEqual(crds?.verbs, ["get"]);
  }
});

Deno.test("the patches for a stock DaemonSet say the same as our own", async () => {
  const image = (await read("drop-in/image.yaml")).spec.template.spec;
  assert.deepEqual(image, { containers: [{ name: container.name, image: container.image }] });
  const confined: PodSpec = (await read("drop-in/confined.yaml")).spec.template.spec;
  assert.equal(confined.serviceAccountName, pod.serviceAccountName);
  assert.deepEqual(confined.securityContext, pod.securityContext);
  const [{ name, env, ports: _, ...rest } = container] = confined.containers;
  assert.equal(name, container.name);
  for (const [field, value] of Object.entries(rest)) {
    assert.deepEqual(value, container[field as keyof Container], field);
  }
  for (const one of env) {
    assert.deepEqual(one, container.env.find(({ name }) => name === one.name));
  }
});
