import assert from "node:assert/strict";
import { tempFolder } from "../../tests/support/temp.ts";
import { ConfigError } from "../base/error.ts";
import { formatFinding } from "../base/finding.ts";
import {
  type ConfOptions,
  parseVsphereConf,
  readVsphereConf,
  type VsphereConf,
} from "./vsphere_conf.ts";

const one = `[Global]
cluster-id = c1
[VirtualCenter "vc.example"]
user = "svc@vsphere.local"
password = "a\\\\b#c"
`;

const vCenter = {
  host: "vc.example",
  port: 443,
  user: "svc@vsphere.local",
  password: "a\\b#c",
  trust: { by: "system" },
  datacenters: [],
};

Deno.test("one vCenter with the least settings gets every default", () => {
  assert.deepEqual(valueOf(one), {
    clusterId: "c1",
    supervisorId: "",
    clusterDistribution: "",
    queryLimit: 10_000,
    listVolumeThreshold: 50,
    vCenters: [vCenter],
  });
});

Deno.test("a vCenter inherits from [Global] what it does not say, and says the rest itself", () => {
  const conf = valueOf(`[Global]
supervisor-id = sv
cluster-distribution = "Tanzu"
query-limit = 0x10
user = g@x
password = global
port = 1443
datacenters = "dc1, dc2"
insecure-flag
thumbprint = zz
[virtualcenter "a"]
password =
[VirtualCenter "b"]
user = DOMAIN\\"x
user = "DOMAIN\\\\b"
password = own
port = 0x1bb
insecure-flag = false
[Labels]
topology-categories = k8s-zone
`);
  assert.equal(conf.supervisorId, "vSphereSupervisorID-sv");
  assert.equal(conf.clusterDistribution, "Tanzu");
  assert.equal(conf.queryLimit, 16);
  const common = { trust: { by: "nothing" }, datacenters: ["dc1", "dc2"] };
  assert.deepEqual(conf.vCenters, [
    { host: "a", port: 1443, user: "g@x", password: "global", ...common },
    { host: "b", port: 443, user: "DOMAIN\\b", password: "own", ...common },
  ]);
});

const sha1 = "aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd";
const trusts: readonly (readonly [string, unknown, Partial<ConfOptions>?])[] = [
  ["insecure-flag = yes\nca-file = /ca.pem", { by: "nothing" }],
  [
    `ca-file = /a.pem:/b.pem\nthumbprint = ${sha1}`,
    { by: "authority", files: ["/a.pem", "/b.pem"] },
  ],
  [`thumbprint = ${sha1}`, { by: "thumbprint", thumbprint: sha1.toUpperCase() }],
  [`thumbprint = ${"ab".repeat(32)}`, { by: "thumbprint", thumbprint: colons("AB", 32) }],
  ["", { by: "system" }],
  ["ca-file = /x", { by: "authority", files: ["/vmca.pem"] }, { supervisorCaFile: "/vmca.pem" }],
  ["insecure-flag = 1", { by: "nothing" }, { supervisorCaFile: "/vmca.pem" }],
];

for (const [lines, expected, options] of trusts) {
  const where = options === undefined ? "" : " on a supervisor";
  Deno.test(`${JSON.stringify(lines)} means trust by ${JSON.stringify(expected)}${where}`, () => {
    assert.deepEqual(valueOf(`${one}${lines}\n`, options).vCenters[0]?.trust, expected);
  });
}

Deno.test("what has no effect is a warning with its place, and the rest is read", () => {
  const text = `[Other]\nx = y\n[Snapshot]\nx = y\n${one}tumbprint = x\nca-file = /mine.pem\n`;
  const parsed = parseVsphereConf(text, { environment: {}, supervisorCaFile: "/vmca.pem" });
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.findings.map(formatFinding), [
    "[other] (line 1, column 1): this section is not known and has no effect",
    '[VirtualCenter "vc.example"] tumbprint (line 10, column 1): this name is not known and has ' +
    "no effect",
    '[VirtualCenter "vc.example"] ca-file (line 11, column 1): has no effect on a supervisor: ' +
    '"/vmca.pem" is used',
  ]);
  assert.ok(parsed.findings.every(({ severity }) => severity === "warning"));
});

Deno.test("all faults are told at once, with their places and without a value", () => {
  const parsed = parseVsphereConf(
    `[Global]
cluster-id = ${"secret".repeat(11)}
supervisor-id = ${"s".repeat(65)}
query-limit = secret
insecure-flag = secret
[VirtualCenter "a"]
user = secret
port = 70000
thumbprint = secret
[VirtualCenter ]
user = x@y
password
`,
    { environment: { VSPHERE_VCENTER_2: "env", VCENTER_2_PORT: "secret" } },
  );
  assert.ok(!parsed.ok);
  assert.doesNotMatch(JSON.stringify(parsed.findings), /secret/);
  assert.deepEqual(parsed.findings.map((finding) => formatFinding(finding).slice(0, 75)), [
    "[Global] query-limit (line 4, column 1): must be a whole number",
    "[Global] insecure-flag (line 5, column 1): must be true or false",
    "[VirtualCenter] password (line 12, column 1): needs a value: write = behind",
    "variable VCENTER_2_PORT: must be a whole number",
    "[Global] cluster-id (line 2, column 1): has 66 characters, at most 64 can b",
    "[Global] supervisor-id (line 3, column 1): has 65 characters, at most 64 ca",
    "more than one vCenter needs topology-categories in [Labels]",
    '[VirtualCenter "a"] user (line 7, column 1): must be user@domain or DOMAIN\\',
    '[VirtualCenter "a"] password: must not be empty',
    '[VirtualCenter "a"] port (line 8, column 1): must be from 1 to 65535',
    '[VirtualCenter "a"] thumbprint (line 9, column 1): must be the SHA-1 or SHA',
    '[VirtualCenter ""] host: needs the vCenter\'s name or address in double quot',
    '[VirtualCenter ""] password: must not be empty',
    '[VirtualCenter "env"] user: must not be empty',
    '[VirtualCenter "env"] password: must not be empty',
  ]);
});

Deno.test("no vCenter and six of them are faults", () => {
  const { findings: [none] } = parseVsphereConf("[Global]\n", { environment: {} });
  assert.match(none?.message ?? "", /^no vCenter is configured: .*VSPHERE_VCENTER/);
  const sections = ["1", "2", "3", "4", "5", "6"].map((host) =>
    `[VirtualCenter "${host}"]\nuser = a@b\npassword = p\n`
  );
  const text = `[Labels]\ntopology-categories = x\n${sections.join("")}`;
  const { findings: [many] } = parseVsphereConf(text, { environment: {} });
  assert.match(many?.message ?? "", /^6 vCenters are configured, at most 5/);
  const five = text.slice(0, text.indexOf('[VirtualCenter "6"]'));
  assert.equal(valueOf(five).vCenters.length, 5);
});

Deno.test("without a file the environment configures a vCenter, also with = in the password", () => {
  const environment = {
    VSPHERE_VCENTER: "env.example",
    VSPHERE_USER: "env@x",
    VSPHERE_PASSWORD: "a=b=c",
    VSPHERE_PORT: "8443",
    VSPHERE_DATACENTER: "dc",
    VSPHERE_INSECURE: "true",
  };
  assert.deepEqual(valueOf(undefined, { environment }).vCenters, [{
    host: "env.example",
    port: 8443,
    user: "env@x",
    password: "a=b=c",
    trust: { by: "nothing" },
    datacenters: ["dc"],
  }]);
});

Deno.test("the environment wins over the only vCenter of the file, empty variables do not", () => {
  const environment = { VSPHERE_PASSWORD: "new", VSPHERE_USER: "", VSPHERE_VCENTER: "" };
  assert.deepEqual(valueOf(one, { environment }).vCenters, [{ ...vCenter, password: "new" }]);
});

Deno.test("of several vCenters only the named one takes the variables, and more can be added", () => {
  const text = `${one}[VirtualCenter "b"]\nuser = b@x\npassword = pb\n` +
    "[Labels]\ntopology-categories = z\n";
  const environment = {
    VSPHERE_VCENTER: "b",
    VSPHERE_PASSWORD: "new",
    VSPHERE_VCENTER_x: "c",
    VCENTER_x_USERNAME: "c@x",
    VCENTER_x_INSECURE: "1",
  };
  const { vCenters } = valueOf(text, { environment });
  assert.deepEqual(vCenters.map(({ host, password }) => [host, password]), [
    ["vc.example", vCenter.password],
    ["b", "new"],
    ["c", "new"], // from [Global], which VSPHERE_PASSWORD sets as well
  ]);
  assert.deepEqual(vCenters[2]?.trust, { by: "nothing" });
  assert.deepEqual(vCenters[1]?.trust, { by: "system" });
});

Deno.test("a file is read, an absent one leaves it to the environment", async () => {
  using folder = tempFolder("conf");
  const path = `${folder.path}/vsphere.conf`;
  await Deno.writeTextFile(path, one);
  const { conf } = await readVsphereConf(path, { environment: {} });
  assert.deepEqual(conf.vCenters, [vCenter]);
  const environment = { VSPHERE_VCENTER: "e", VSPHERE_USER: "a@b", VSPHERE_PASSWORD: "p" };
  const absent = await readVsphereConf(`${folder.path}/none`, { environment });
  assert.equal(absent.conf.vCenters[0]?.host, "e");
});

const unreadable: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["a syntax fault", bytes("[Global]\nuser = a\\b"), /vsphere\.conf": line 2, column 8: a backsla/],
  ["a byte order mark", bytes("\ufeff[Global]"), /line 1, column 1: .*byte order mark/],
  ["no UTF-8", new Uint8Array([0x5b, 0xff]), /it is not UTF-8 text/],
  ["no vCenter", bytes("[Global]"), /vsphere\.conf": no vCenter is configured/],
];

for (const [name, content, expected] of unreadable) {
  Deno.test(`a file with ${name} is refused under its name`, async () => {
    using folder = tempFolder("conf");
    const path = `${folder.path}/vsphere.conf`;
    await Deno.writeFile(path, content);
    await assert.rejects(readVsphereConf(path, { environment: {} }), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, expected);
      return true;
    });
  });
}

function valueOf(text: string | undefined, options: Partial<ConfOptions> = {}): VsphereConf {
  const parsed = parseVsphereConf(text, { environment: {}, ...options });
  assert.ok(parsed.ok, parsed.findings.map(formatFinding).join("; "));
  return parsed.value;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function colons(pair: string, count: number): string {
  return Array(count).fill(pair).join(":");
}
