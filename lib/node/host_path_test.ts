import assert from "node:assert/strict";
import type { Node } from "../api/core.ts";
import { distributionOf } from "./distribution.ts";
import { type ExpectedPod, type FolderFacts, judgeHostPath, mayPass } from "./host_path.ts";

const uid = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

function pod(digit: number, change: Partial<ExpectedPod> = {}): ExpectedPod {
  return {
    namespace: "app",
    name: `pod-${digit}`,
    uid: uid(digit),
    mirror: false,
    folder: uid(digit),
    ending: false,
    ...change,
  };
}

function read(...folders: string[]): FolderFacts {
  return { state: "read", folders, others: 0 };
}

function judge(folder: FolderFacts, pods: readonly ExpectedPod[], nodeObject?: Node) {
  return judgeHostPath({
    path: "/host_pods",
    node: "n1",
    folder,
    pods,
    ...(nodeObject && { nodeObject }),
  });
}

function node(change: {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly kubeletVersion?: string;
  readonly osImage?: string;
}): Node {
  const { labels = {}, annotations = {}, ...nodeInfo } = change;
  return { metadata: { name: "n1", labels, annotations }, status: { nodeInfo } };
}

const pods = [pod(1), pod(2), pod(3)];
const verdicts:
  readonly (readonly [string, FolderFacts, readonly ExpectedPod[], string, RegExp])[] = [
    [
      "every pod has its folder",
      read(uid(3), uid(1), uid(2), "x"),
      pods,
      "ok",
      /all 3 running pods/,
    ],
    ["no pod runs", read("etc"), [], "ok", /no running pod is known on node "n1"/],
    [
      "a static pod's folder has the mirror's name",
      read("h9"),
      [pod(9, { mirror: true, folder: "h9" })],
      "ok",
      /all 1/,
    ],
    [
      "the folder does not exist",
      { state: "absent" },
      [],
      "absent",
      /"\/host_pods" does not exist/,
    ],
    [
      "the folder cannot be read",
      { state: "unreadable", cause: "Permission denied" },
      [],
      "unreadable",
      /cannot be read: Permission denied/,
    ],
    [
      "other things are there",
      read("opt", "etc"),
      pods,
      "not-a-pods-root",
      /none of the 3 running pods of node "n1" has a folder there \(app\/pod-1 expects "0.*1", .*\); it holds "etc", "opt"/,
    ],
    ["nothing is there", read(), pods, "not-a-pods-root", /it holds no folder at all/],
    [
      "only pods of others are there",
      read(uid(7)),
      pods,
      "uid-mismatch",
      /3 of the 3 running pods/,
    ],
    [
      "one pod has no folder",
      read(uid(1), uid(3)),
      pods,
      "uid-mismatch",
      /1 of the 3 running pods .* \(app\/pod-2 expects "0.*2"\)/,
    ],
  ];

for (const [what, folder, expected, verdict, message] of verdicts) {
  Deno.test(`host path: ${what} → ${verdict}`, () => {
    const report = judge(folder, expected);
    assert.equal(report.verdict, verdict);
    assert.match(report.message, message);
    assert.equal(report.hint === undefined, verdict === "ok");
    assert.equal(report.podsChecked, expected.length);
  });
}

Deno.test("a report lists every missing pod, its message only the first three", () => {
  const many = [1, 2, 3, 4, 5].map((digit) => pod(digit));
  const { missing, message } = judge(read("etc", "opt", "usr", "var"), many);
  assert.deepEqual(missing, many);
  assert.match(message, /app\/pod-3 expects "[^"]*" and 2 more\)/);
  assert.doesNotMatch(message, /pod-4/);
  assert.match(message, /"etc", "opt", "usr" and 1 more$/);
});

const distributions: readonly (readonly [string, Node, RegExp])[] = [
  ["k3s", node({ kubeletVersion: "v1.33.1+k3s1" }), /"\/var\/lib\/kubelet\/pods" on k3s/],
  [
    "RKE2",
    node({ kubeletVersion: "v1.33.1+rke2r1" }),
    /"\/var\/lib\/kubelet\/pods" on RKE2.*root-dir/,
  ],
  ["k0s", node({ kubeletVersion: "v1.33.1+k0s" }), /"\/var\/lib\/k0s\/kubelet\/pods" on k0s/],
  [
    "MicroK8s",
    node({ labels: { "microk8s.io/cluster": "true" } }),
    /"\/var\/snap\/microk8s\/common\/var\/lib\/kubelet\/pods" on MicroK8s/,
  ],
  [
    "OpenShift",
    node({ labels: { "node.openshift.io/os_id": "rhel" } }),
    /OpenShift: there the agent's container must be privileged/,
  ],
  ["OpenShift", node({ osImage: "Red Hat Enterprise Linux CoreOS 9.6" }), /on OpenShift/],
  [
    "PKS",
    node({ labels: { "pks-system/cluster.name": "a" } }),
    /"\/var\/vcap\/data\/kubelet\/pods" on PKS/,
  ],
  ["RancherOS", node({ osImage: "RancherOS v1.5.8" }), /"\/opt\/rke\/var\/lib\/kubelet\/pods"/],
  [
    "a virtual cluster",
    node({ annotations: { "vcluster.loft.sh/fake-node": "true" } }),
    /run the node agent in the host cluster/,
  ],
];

for (const [name, nodeObject, hint] of distributions) {
  Deno.test(`a node that looks like ${name} gets the hint for it`, () => {
    assert.equal(distributionOf(nodeObject)?.name, name);
    assert.match(judge(read("etc"), pods, nodeObject).hint ?? "", hint);
  });
}

Deno.test("a node that looks like none gets the usual place", () => {
  const plain = node({ kubeletVersion: "v1.33.1", osImage: "Debian GNU/Linux 12" });
  assert.equal(distributionOf(plain), undefined);
  assert.match(judge(read("etc"), pods, plain).hint ?? "", /"\/var\/lib\/kubelet\/pods" on most/);
  assert.match(judge(read("etc"), pods).hint ?? "", /"\/var\/lib\/kubelet\/pods" on most/);
});

Deno.test("the kubelet's own folder in place of its pods is recognised", () => {
  const { verdict, hint } = judge(read("pods", "plugins", "pki"), pods);
  assert.equal(verdict, "not-a-pods-root");
  assert.match(hint ?? "", /mount its sub-folder "pods"/);
});

Deno.test("folders of other pods only point to another cluster", () => {
  assert.match(judge(read(uid(7)), pods).hint ?? "", /another cluster's or another node's/);
  assert.match(judge(read(uid(1)), pods).hint ?? "", /HostToContainer/);
});

Deno.test("only pods that begin or end excuse a missing folder for a moment", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  const fresh = pod(2, { startedAt: "2026-01-01T00:00:30Z" });
  const old = pod(3, { startedAt: "2025-12-31T23:59:00Z" });
  const ending = pod(4, { startedAt: "2025-12-31T23:59:00Z", ending: true });
  const passes = (...missing: ExpectedPod[]) =>
    mayPass(judge(read(uid(1)), [pod(1), ...missing]), now);
  assert.equal(passes(fresh, ending), true);
  assert.equal(passes(fresh, old), false);
  assert.equal(passes(pod(5)), false);
  assert.equal(mayPass(judge({ state: "absent" }, []), now), false);
  assert.equal(mayPass(judge(read(), []), now), false);
});
