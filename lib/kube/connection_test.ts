import assert from "node:assert/strict";
import { ConfigError } from "../base/error.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { connect, type ConnectOptions } from "./connection.ts";

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
const ca = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n";
const cert = "-----BEGIN CERTIFICATE-----\ncert\n-----END CERTIFICATE-----\n";
const key = "-----BEGIN PRIVATE KEY-----\nkey\n-----END PRIVATE KEY-----\n";

type Fields = Record<string, unknown>;

/** JSON is YAML too. */
function kubeconfig(cluster: Fields, user: Fields = {}, name = "x"): string {
  return JSON.stringify({
    "current-context": name,
    contexts: [{ name, context: { cluster: "c", user: "u", namespace: "velero" } }],
    clusters: [{ name: "c", cluster: { server: "https://c.example:6443/", ...cluster } }],
    users: [{ name: "u", user }],
  });
}

async function connectTo(text: string, options: ConnectOptions = {}) {
  using folder = tempFolder("kubeconfig");
  const file = `${folder.path}/config`;
  await Deno.writeTextFile(file, text);
  return await connect({ kubeconfig: file, ...options });
}

async function problemOf(text: string, options: ConnectOptions = {}): Promise<string> {
  try {
    await connectTo(text, options);
  } catch (error) {
    assert.ok(error instanceof ConfigError, `${error}`);
    return error.message;
  }
  throw new Error("no error was thrown");
}

Deno.test("data in the kubeconfig: authority, client certificate, namespace, server", async () => {
  const connection = await connectTo(kubeconfig({ "certificate-authority-data": base64(ca) }, {
    "client-certificate-data": base64(cert),
    "client-key-data": base64(key),
  }));
  assert.match(connection.source, /^context "x" of ".*\/config"$/);
  const { source: _, ...rest } = connection;
  assert.deepEqual(rest, {
    server: "https://c.example:6443",
    namespace: "velero",
    credentials: { type: "none" },
    ca,
    certificate: { cert, key },
  });
});

Deno.test("files are found beside the kubeconfig that names them", async () => {
  using folder = tempFolder("kubeconfig");
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder.path}/${name}`, text);
  await Deno.mkdir(`${folder.path}/pki`);
  await Promise.all([write("pki/ca", ca), write("pki/cert", cert), write("pki/key", key)]);
  await write(
    "config",
    kubeconfig({ "certificate-authority": "pki/ca" }, {
      "client-certificate": "pki/cert",
      "client-key": `${folder.path}/pki/key`,
      tokenFile: "token",
      token: "not used",
    }),
  );
  const connection = await connect({ kubeconfig: `${folder.path}/config` });
  assert.equal(connection.ca, ca);
  assert.deepEqual(connection.certificate, { cert, key });
  assert.deepEqual(connection.credentials, { type: "tokenFile", path: `${folder.path}/token` });
});

Deno.test("token, password, impersonation, proxy, insecure and server name are understood", async () => {
  const of = async (cluster: Fields, user: Fields) => await connectTo(kubeconfig(cluster, user));
  const token = await of({ "proxy-url": "http://p:1" }, { token: "abc", as: "jane" });
  assert.deepEqual(token.credentials, { type: "header", authorization: "Bearer abc" });
  assert.equal(token.proxyUrl, "http://p:1");
  assert.deepEqual(token.headers, { "Impersonate-User": "jane" });
  const basic = await of({ "insecure-skip-tls-verify": true }, { username: "a", password: "ü" });
  const pair = `Basic ${base64("a:ü")}`;
  assert.deepEqual(basic.credentials, { type: "header", authorization: pair });
  assert.equal(basic.insecure, true);
  assert.equal((await of({ "tls-server-name": "k" }, {})).tlsServerName, "k");
  const plain = await of({ server: "http://127.0.0.1:8001", "insecure-skip-tls-verify": true }, {});
  assert.equal(plain.insecure, undefined);
  assert.equal((await of({ server: "h:6443" }, {})).server, "https://h:6443");
  assert.equal((await of({ server: "https://r/k8s/c1//" }, {})).server, "https://r/k8s/c1");
});

Deno.test("a plugin's relative command is beside the kubeconfig, and it is told of the cluster", async () => {
  const exec = { command: "./bin/login", args: ["x"], provideClusterInfo: true, apiVersion: "v" };
  const { credentials } = await connectTo(kubeconfig({}, { exec }));
  assert.ok(credentials.type === "plugin" && credentials.exec);
  assert.match(`${credentials.exec["command"]}`, /^\/.*\/bin\/login$/);
  const [info] = credentials.exec["env"] as { name: string; value: string }[];
  assert.equal(info?.name, "KUBERNETES_EXEC_INFO");
  const { spec, apiVersion } = JSON.parse(info?.value ?? "");
  assert.equal(apiVersion, "v");
  assert.deepEqual(spec, { interactive: false, cluster: { server: "https://c.example:6443/" } });
});

Deno.test("of several files the first wins, entry by entry, and paths keep their file", async () => {
  using folder = tempFolder("kubeconfig");
  const one = `${folder.path}/one`;
  const two = `${folder.path}/sub/two`;
  await Deno.mkdir(`${folder.path}/sub`);
  await Deno.writeTextFile(one, kubeconfig({ server: "https://one" }, { tokenFile: "t" }));
  const other = JSON.parse(kubeconfig({ server: "https://two" }, { tokenFile: "t" }, "y"));
  other.contexts[0].context = { cluster: "d", user: "v" };
  other.clusters.push({ name: "d", cluster: { server: "https://d" } });
  other.users.push({ name: "v", user: { tokenFile: "t" } });
  await Deno.writeTextFile(two, JSON.stringify(other));
  const kubeconfigVariable = `${folder.path}/none:${one}::${two}`;

  const first = await connect({ kubeconfigVariable });
  assert.equal(first.server, "https://one");
  assert.deepEqual(first.credentials, { type: "tokenFile", path: `${folder.path}/t` });
  const second = await connect({ kubeconfigVariable, context: "y" });
  assert.equal(second.server, "https://d");
  assert.equal(second.namespace, "default");
  assert.deepEqual(second.credentials, { type: "tokenFile", path: `${folder.path}/sub/t` });
});

async function layPod(folder: string) {
  const files = { token: `${folder}/token`, ca: `${folder}/ca.crt`, namespace: `${folder}/ns` };
  await Deno.writeTextFile(files.token, "pod-token\n");
  await Deno.writeTextFile(files.ca, ca);
  await Deno.writeTextFile(files.namespace, "velero\n");
  return { serviceHost: "fd00::1", servicePort: "443", serviceAccount: files };
}

Deno.test("in a pod the service account is used", async () => {
  using folder = tempFolder("pod");
  const pod = await layPod(folder.path);
  assert.deepEqual(await connect(pod), {
    server: "https://[fd00::1]:443",
    namespace: "velero",
    source: "the pod's service account",
    credentials: { type: "tokenFile", path: pod.serviceAccount.token },
    ca,
  });
  await Deno.remove(pod.serviceAccount.namespace);
  assert.equal((await connect(pod)).namespace, "default");
  await Deno.writeTextFile(pod.serviceAccount.ca, "");
  await assert.rejects(connect(pod), /ca\.crt" holds no certificate/);
});

Deno.test("the flag wins over KUBECONFIG, that over the pod, that over the home folder", async () => {
  using folder = tempFolder("order");
  const file = async (name: string) => {
    const path = `${folder.path}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, kubeconfig({ server: `https://${name.split("/")[0]}` }));
    return path;
  };
  await file("home/.kube/config");
  const all = {
    ...await layPod(folder.path),
    kubeconfig: await file("flag/x"),
    kubeconfigVariable: await file("variable/x"),
    home: `${folder.path}/home`,
  };
  const { kubeconfig: _, ...noFlag } = all;
  const { kubeconfigVariable: __, ...noVariable } = noFlag;
  const { serviceHost: ___, ...noPod } = noVariable;
  const servers = await Promise.all(
    [all, noFlag, noVariable, noPod].map(async (options) => (await connect(options)).server),
  );
  assert.deepEqual(servers, [
    "https://flag",
    "https://variable",
    "https://[fd00::1]:443",
    "https://home",
  ]);
});

Deno.test("where there is nothing the error says all that was tried and what to do", async () => {
  using folder = tempFolder("none");
  const { path } = folder;
  const options = {
    kubeconfigVariable: `${path}/a:${path}/b`,
    serviceHost: "h",
    servicePort: "1",
    serviceAccount: { token: `${path}/token` },
    home: path,
  };
  await assert.rejects(connect(options), {
    name: "ConfigError",
    message: `Cannot find a Kubernetes cluster. Tried KUBECONFIG (no file at "${path}/a", ` +
      `"${path}/b"); a pod's service account (no file at "${path}/token"); ` +
      `"${path}/.kube/config" (no such file). Give --kubeconfig FILE, set KUBECONFIG, or run in a ` +
      "pod with a service account",
  });
  await assert.rejects(connect({}), /KUBECONFIG \(not set\).*KUBERNETES_SERVICE_HOST/);
  await assert.rejects(
    connect({ kubeconfig: `${path}/a` }),
    /kubeconfig ".*\/a": there is no such/,
  );
});

const secret = "s3cr3t-value";
const faults: readonly (readonly [string, string, RegExp])[] = [
  ["broken YAML", `users:\n- name: u\n  user: {token: ${secret}\n- x`, /not valid YAML at line \d/],
  ["a tab", `users:\n\t- ${secret}`, /not valid YAML at line 2/],
  ["a list", `[${secret}]`, /is no mapping/],
  ["an empty file", "", /has no current-context.*--kubecontext \(it has none/],
  ["no list of users", `{"users": "${secret}"}`, /users is no list/],
  [
    "a nameless user",
    `{"users": [{"user": {"token": "${secret}"}}]}`,
    /users\[0\]\.name is not a text/,
  ],
  ["no server", kubeconfig({ server: "" }), /server of clusters "c" is missing/],
  ["a user no header can name", kubeconfig({}, { as: "jörg\n" }), /as of users "u" has characters/],
  ["a bad server", kubeconfig({ server: "ftp://h" }), /server of clusters "c" is no http/],
  ["a password in the server", kubeconfig({ server: `https://u:${secret}@h` }), /must not hold/],
  ["a password in a bad proxy", kubeconfig({ "proxy-url": `ftp://u:${secret}@h` }), /proxy-url of/],
  ["a number as token", kubeconfig({}, { token: 123 }), /token of users "u" is not a text/],
  [
    "a token of two lines",
    kubeconfig({}, { token: `${secret}\nb` }),
    /token of users "u" has char/,
  ],
  [
    "bad base64",
    kubeconfig({ "certificate-authority-data": `*${secret}` }),
    /certificate-authority-data of clusters "c" is not base64/,
  ],
  [
    "no PEM",
    kubeconfig({}, { "client-certificate-data": base64(cert), "client-key-data": base64(secret) }),
    /client-key-data of users "u" is not in PEM form/,
  ],
  [
    "no key",
    kubeconfig({}, { "client-certificate-data": base64(cert) }),
    /client-key of users "u" is missing/,
  ],
  [
    "a missing file",
    kubeconfig({}, { "client-certificate": "gone", "client-key": "gone" }),
    /client-certificate of users "u" names ".*\/gone"/,
  ],
  [
    "insecure with an authority",
    kubeconfig({ "insecure-skip-tls-verify": true, "certificate-authority-data": base64(ca) }),
    /insecure-skip-tls-verify of clusters "c" and certificate-authority exclude/,
  ],
  [
    "a plugin without command",
    kubeconfig({}, { exec: { args: [secret] } }),
    /exec.command of users/,
  ],
];

for (const [name, text, expected] of faults) {
  Deno.test(`a kubeconfig with ${name} is refused by file and field, without secrets`, async () => {
    const message = await problemOf(text);
    assert.match(message, expected);
    assert.match(message, /kubeconfig ".*\/config"/);
    assert.ok(!message.includes(secret), message);
  });
}

Deno.test("an unknown context, cluster or user is named with those that exist", async () => {
  const text = kubeconfig({});
  assert.match(await problemOf(text, { context: "z" }), /context "z" is not in it; it has x$/);
  const broken = JSON.parse(text);
  broken.contexts[0].context.cluster = "q";
  assert.match(
    await problemOf(JSON.stringify(broken)),
    /cluster of contexts "x" "q" is not in clusters; there is c$/,
  );
});
