import assert from "node:assert/strict";
import { queryVolumes, updateMetadata, type Updating } from "./cns_calls.ts";
import type { CnsUpdate } from "./cns_types.ts";
import { SoapFault } from "./fault.ts";
import type { Call } from "./soap.ts";
import { pollTasks } from "./tasks.ts";
import { type XmlNode } from "./xml.ts";
import { readXml, type XmlParts } from "./xml_reader.ts";
import { formatXml } from "./xml_writer.ts";

const never = new AbortController().signal;

/** Gives the answers in turn, and keeps the texts of the requests. */
function scripted(...answers: readonly (string | SoapFault)[]) {
  const requests: string[] = [];
  const call = async ({ body, parts }: { body: never; parts?: XmlParts<unknown> }) => {
    const answer = answers[requests.length];
    requests.push(formatXml(body));
    if (answer === undefined) throw new Error(`no answer to ${formatXml(body)}`);
    if (answer instanceof SoapFault) throw answer;
    const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
    const pieces = async function* () {
      yield new TextEncoder().encode(`<R ${xsi}>${answer}</R>`);
    };
    const { root, parts: decoded } = await readXml(pieces(), parts === undefined ? {} : { parts });
    return { node: root, parts: decoded };
  };
  return { call: call as unknown as Call, requests };
}

const page = (ids: readonly string[], cursor: string) =>
  `<returnval>${
    ids.map((id) => `<volumes><volumeId><id>${id}</id></volumeId></volumes>`).join("")
  }<cursor>${cursor}</cursor></returnval>`;
const cursor = (offset: number, total: number) =>
  `<offset>${offset}</offset><limit>2</limit><totalRecords>${total}</totalRecords>`;

async function idsOf(call: Call, filter = {}): Promise<string[][]> {
  const pages: string[][] = [];
  for await (const volumes of queryVolumes(call, filter, { signal: never, pageSize: 2 })) {
    pages.push(volumes.map(({ volumeId }) => volumeId));
  }
  return pages;
}

Deno.test("a query goes on page by page to the last record", async () => {
  const { call, requests } = scripted(
    page(["a", "b"], cursor(2, 3)),
    page(["c"], cursor(3, 3)),
  );
  assert.deepEqual(await idsOf(call, { containerClusterIds: ["c1"], names: ["n"] }), [
    ["a", "b"],
    ["c"],
  ]);
  assert.deepEqual(
    requests,
    ["0", "2"].map((offset) =>
      '<CnsQueryVolume><_this type="CnsVolumeManager">cns-volume-manager</_this>' +
      '<filter xsi:type="CnsQueryFilter"><names>n</names>' +
      "<containerClusterIds>c1</containerClusterIds>" +
      `<cursor><offset>${offset}</offset><limit>2</limit></cursor></filter></CnsQueryVolume>`
    ),
  );
});

const ends: readonly (readonly [string, string, number])[] = [
  ["no cursor of use", page(["a"], "<offset>0</offset><limit>0</limit>"), 1],
  ["an empty page", page([], cursor(2, 3)), 0],
  ["a cursor that stands still", page(["a"], cursor(0, 3)), 1],
];

for (const [name, answer, pages] of ends) {
  Deno.test(`a query ends with ${name}`, async () => {
    const { call, requests } = scripted(answer);
    assert.equal((await idsOf(call)).length, pages);
    assert.equal(requests.length, 1);
  });
}

Deno.test("no volume is asked for without a call, 1,001 are with two", async () => {
  const none = scripted();
  assert.deepEqual(await idsOf(none.call, { volumeIds: [] }), []);
  assert.equal(none.requests.length, 0);
  const two = scripted(page(["a"], cursor(1, 1)), page(["b"], cursor(1, 1)));
  const volumeIds = Array.from({ length: 1_001 }, (_, nth) => `v${nth}`);
  assert.deepEqual(await idsOf(two.call, { volumeIds }), [["a"], ["b"]]);
  assert.equal(two.requests[0]?.match(/<volumeIds>/g)?.length, 1_000);
  assert.match(two.requests[1] ?? "", /<volumeIds><id>v1000<\/id><\/volumeIds><cursor>/);
});

const cluster = { clusterId: "gc", user: "u@x", flavor: "GUEST_CLUSTER", distribution: "TKG" };
const update: CnsUpdate = {
  volumeId: "v1",
  cluster,
  entities: [{
    entityType: "PERSISTENT_VOLUME_CLAIM",
    entityName: "data",
    namespace: "ns",
    clusterId: "gc",
    labels: { tier: "<a&b>", app: "db" },
    references: [{
      entityType: "PERSISTENT_VOLUME",
      entityName: "pv",
      namespace: "",
      clusterId: "gc",
    }],
  }],
};
const task = '<returnval type="Task">task-7</returnval>';
const property = (name: string, value: string) => `<propSet><name>${name}</name>${value}</propSet>`;
const state = (name: string) => property("info.state", `<val>${name}</val>`);
const success = (results: string) =>
  `<returnval>${state("success")}${property("info.result", `<val>${results}</val>`)}</returnval>`;
const result = (id: string, fault = "") =>
  `<volumeResults><volumeId><id>${id}</id></volumeId>${fault}</volumeResults>`;

function updating(call: Call, unknown: readonly string[] = []): Updating {
  const collector = { type: "PropertyCollector", value: "pc" };
  const awaitTask = pollTasks(call, collector, { firstMs: 1, maxMs: 1 });
  return { call, awaitTask, unknownElements: new Set(unknown) };
}

Deno.test("an update has its elements in the schema's order, labels sorted", async () => {
  const { call, requests } = scripted(task, success(result("v1")));
  const removed: CnsUpdate = {
    ...update,
    cluster: { ...cluster, remove: true },
    entities: [{ ...update.entities[0]!, labels: {}, references: [], namespace: "", remove: true }],
  };
  await updateMetadata(updating(call), [update, removed], never);
  const clusterText = "<clusterType>KUBERNETES</clusterType><clusterId>gc</clusterId>" +
    "<vSphereUser>u@x</vSphereUser><clusterFlavor>GUEST_CLUSTER</clusterFlavor>" +
    "<clusterDistribution>TKG</clusterDistribution>";
  const spec = (own: string, entity: string) =>
    "<updateSpecs><volumeId><id>v1</id></volumeId><metadata>" +
    `<containerCluster>${own}</containerCluster>` +
    `<entityMetadata xsi:type="CnsKubernetesEntityMetadata">${entity}</entityMetadata>` +
    `<containerClusterArray>${own}</containerClusterArray></metadata></updateSpecs>`;
  assert.equal(
    requests[0],
    '<CnsUpdateVolumeMetadata><_this type="CnsVolumeManager">cns-volume-manager</_this>' +
      spec(
        clusterText,
        "<entityName>data</entityName><labels><key>app</key><value>db</value></labels>" +
          "<labels><key>tier</key><value>&lt;a&amp;b&gt;</value></labels><clusterId>gc</clusterId>" +
          "<entityType>PERSISTENT_VOLUME_CLAIM</entityType><namespace>ns</namespace>" +
          "<referredEntity><entityType>PERSISTENT_VOLUME</entityType><entityName>pv</entityName>" +
          "<clusterId>gc</clusterId></referredEntity>",
      ) +
      spec(
        `${clusterText}<delete>true</delete>`,
        "<entityName>data</entityName><delete>true</delete><clusterId>gc</clusterId>" +
          "<entityType>PERSISTENT_VOLUME_CLAIM</entityType>",
      ) + "</CnsUpdateVolumeMetadata>",
  );
  assert.match(requests[1] ?? "", /<obj type="Task">task-7<\/obj>/);
});

Deno.test("an old vCenter is not told what it does not know", async () => {
  const { call, requests } = scripted(task, success(result("v1")));
  const unknown = ["clusterFlavor", "clusterDistribution", "containerClusterArray"];
  await updateMetadata(
    updating(call, [...unknown, "clusterId", "referredEntity"]),
    [update],
    never,
  );
  assert.doesNotMatch(requests[0] ?? "", /Flavor|Distribution|Array|referred/);
  assert.equal(requests[0]?.match(/<clusterId>/g)?.length, 1); // of the cluster
});

Deno.test("results are matched by volume, and a missing one is a failure", async () => {
  const fault = '<fault><fault xsi:type="CnsVolumeNotFoundFault"/>' +
    "<localizedMessage>unknown</localizedMessage></fault>";
  const { call } = scripted(
    task,
    `<returnval>${state("running")}</returnval>`,
    success(result("v3") + result("v2", fault)),
  );
  const updates = ["v1", "v2", "v3"].map((volumeId) => ({ ...update, volumeId }));
  const results = await updateMetadata(updating(call), updates, never);
  assert.deepEqual([...results.keys()], ["v1", "v2", "v3"]);
  assert.deepEqual(results.get("v3"), { ok: true });
  assert.deepEqual(results.get("v2"), {
    ok: false,
    fault: {
      type: "CnsVolumeNotFoundFault",
      message: "CnsVolumeNotFoundFault: unknown",
      class: "gone",
    },
  });
  const missing = results.get("v1");
  assert.ok(missing !== undefined && !missing.ok);
  assert.equal(missing.fault.class, "retry");
  assert.match(missing.fault.message, /^no result/);
});

const failed = `<returnval>${state("error")}${
  property(
    "info.error",
    '<val><fault xsi:type="InvalidArgument"><invalidProperty>spec</invalidProperty></fault>' +
      "<localizedMessage>wrong</localizedMessage></val>",
  )
}</returnval>`;
const gone = new SoapFault(
  { type: "ManagedObjectNotFound", message: "x", class: "retry" },
  "RetrieveProperties",
);
const endings: readonly (readonly [string, string | SoapFault, string, RegExp])[] = [
  ["a task that fails", failed, "permanent", /failed: InvalidArgument: wrong; property spec$/],
  [
    "a task that vanishes",
    gone,
    "retry",
    /failed: vCenter has lost the task, perhaps by a restart$/,
  ],
];

for (const [name, answer, kind, expected] of endings) {
  Deno.test(`${name} fails the whole update and says how`, async () => {
    const { call } = scripted(task, answer);
    await assert.rejects(updateMetadata(updating(call), [update], never), (error) => {
      assert.ok(error instanceof SoapFault);
      assert.equal(error.fault.class, kind);
      assert.match(error.message, expected);
      return true;
    });
  });
}

Deno.test("no update is no call", async () => {
  const { call, requests } = scripted();
  assert.equal((await updateMetadata(updating(call), [], never)).size, 0);
  assert.equal(requests.length, 0);
});

Deno.test("a task that never ends is given up after its time", async () => {
  const running: XmlNode = { name: "R", type: "", refType: "", text: "", children: [] };
  const call = (() => Promise.resolve({ node: running, parts: [] })) as unknown as Call;
  const awaitTask = pollTasks(call, { type: "PropertyCollector", value: "pc" }, {
    firstMs: 1,
    maxMs: 1,
    limitMs: 20,
  });
  await assert.rejects(
    awaitTask({ type: "Task", value: "task-1" }, never),
    /^TimeoutError: The task task-1 of vCenter took longer than 0.02 s$/,
  );
});
