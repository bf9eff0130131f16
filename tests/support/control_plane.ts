import { sleep } from "../../lib/base/abort.ts";
import { type Access, request } from "./admin_request.ts";
import { certificateUser, writeKubeconfig } from "./kubeconfig.ts";
import { type Authority, type KeyPair, makeAuthority, makeSigningKey } from "./pki.ts";
import { freePorts } from "./ports.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

export interface ControlPlaneOptions {
  /** More flags of kube-apiserver, such as `--watch-cache=false`. */
  readonly apiServerArgs?: readonly string[];
  /** Added to the environment of both servers. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its files go; kept at the end. The default is a folder of its own, removed at the end. */
  readonly folder?: string;
}

/**
 * A real etcd and kube-apiserver on loopback, with RBAC. No kubelet, scheduler or controller runs:
 * pods stay as they are written, nothing is garbage-collected, a deleted namespace stays Terminating.
 */
export interface ControlPlane extends AsyncDisposable {
  readonly folder: string;
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  readonly etcdServer: string;
  /** File: an administrator by client certificate, everything inlined. */
  readonly kubeconfig: string;
  /** File: an administrator by bearer token. */
  readonly tokenKubeconfig: string;
  readonly caFile: string;
  readonly adminCert: string;
  readonly adminKey: string;
  readonly pids: { readonly etcd: number; readonly apiServer: number };
  /** Makes namespace and account; the folder has `token`, `ca.crt` and `namespace` as in a pod. */
  serviceAccount(namespace: string, name: string): Promise<string>;
  /** File: another user, by client certificate. */
  userKubeconfig(name: string, groups: readonly string[]): Promise<string>;
  /** One request as administrator, beside the client under test; throws unless it is a 2xx. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  killApiServer(): Promise<void>;
  /** SIGTERM: new connections are refused at once, open watches may live on for 60 s. */
  stopApiServer(): Promise<void>;
  /** On the same port; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /**
   * Drops etcd's history up to now. Watches from earlier versions are then answered by 410 when the
   * API server has no watch cache (`--watch-cache=false`) or has been started anew.
   */
  compact(): Promise<void>;
}

/** Starts a control plane and awaits its readiness: about 4 s on two idle cores. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  await using stack = new AsyncDisposableStack();
  const folder = options.folder ?? stack.use(tempFolder("control-plane")).path;
  await Deno.mkdir(folder, { recursive: true });
  const programs = { etcd: await tool("etcd"), apiServer: await tool("kube-apiserver") };
  const [client, peer, secure] = freePorts(3) as [number, number, number];
  const server = `https://127.0.0.1:${secure}`;
  const etcdServer = `http://127.0.0.1:${client}`;
  const keys = await makeKeys(folder);
  const { caFile } = keys.authority;
  const { env = {} } = options;
  const placed = (name: string) => ({ env, cwd: folder, logFile: `${folder}/${name}.log` });

  const etcd = stack.use(startServer(programs.etcd, etcdArgs(etcdServer, peer), placed("etcd")));
  const startApiServer = async () => {
    const args = [...apiServerArgs(keys, etcdServer, secure), ...options.apiServerArgs ?? []];
    const started = startServer(programs.apiServer, args, placed("apiserver"));
    await untilReady({ server, caFile, admin: keys.admin, etcd, apiServer: started });
    return started;
  };
  let apiServer = await startApiServer();
  stack.defer(() => apiServer.end("SIGKILL"));

  const call = <T>(method: string, path: string, body?: unknown) =>
    request<T>({ server, caFile, admin: keys.admin }, { method, path, body });
  const kubeconfigOf = (name: string, user: Readonly<Record<string, string>>) =>
    writeKubeconfig(`${folder}/${name}`, { server, caFile, user });
  const owned = stack.move();
  return {
    folder,
    server,
    etcdServer,
    kubeconfig: await kubeconfigOf("kubeconfig", await certificateUser(keys.admin)),
    tokenKubeconfig: await kubeconfigOf("kubeconfig-token", { token: keys.token }),
    caFile,
    adminCert: keys.admin.certFile,
    adminKey: keys.admin.keyFile,
    get pids() {
      return { etcd: etcd.pid, apiServer: apiServer.pid };
    },
    serviceAccount: (namespace, name) => layServiceAccount(call, { folder, namespace, name }),
    async userKubeconfig(name, groups) {
      const safe = name.replace(/[^\w.-]/g, "-");
      const subject = [...groups.map((group) => `/O=${group}`), `/CN=${name}`].join("");
      const extensions = ["extendedKeyUsage=clientAuth"];
      const pair = await keys.authority.issue(`user-${safe}`, { subject, extensions });
      return await kubeconfigOf(`kubeconfig-${safe}`, await certificateUser(pair));
    },
    call,
    killApiServer: () => apiServer.end("SIGKILL"),
    stopApiServer: () => apiServer.end("SIGTERM"),
    async startApiServer() {
      apiServer = await startApiServer();
    },
    compact: () => compact(etcdServer),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Keys {
  readonly authority: Authority;
  readonly serving: KeyPair;
  readonly admin: KeyPair;
  readonly signing: { readonly privateFile: string; readonly publicFile: string };
  readonly token: string;
  readonly tokenFile: string;
}

async function makeKeys(folder: string): Promise<Keys> {
  const authority = await makeAuthority(folder);
  const names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc";
  const serving = await authority.issue("serving", {
    subject: "/CN=kube-apiserver",
    extensions: [`subjectAltName=${names}`, "extendedKeyUsage=serverAuth"],
  });
  const admin = await authority.issue("admin", {
    subject: "/O=system:masters/CN=admin",
    extensions: ["extendedKeyUsage=clientAuth"],
  });
  const signing = await makeSigningKey(folder, "service-account");
  const token = crypto.randomUUID().replaceAll("-", "");
  const tokenFile = `${folder}/tokens.csv`;
  await Deno.writeTextFile(tokenFile, `${token},admin-token,1,"system:masters"\n`);
  return { authority, serving, admin, signing, token, tokenFile };
}

function etcdArgs(client: string, peerPort: number): string[] {
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    ...["--data-dir", "etcd", "--log-level", "error", "--quota-backend-bytes", "8589934592"],
    "--unsafe-no-fsync", // test data only, and writes are several times faster
    ...["--listen-client-urls", client, "--advertise-client-urls", client],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
    ...["--initial-cluster", `default=${peer}`],
  ];
}

function apiServerArgs(keys: Keys, etcdServer: string, port: number): string[] {
  return [
    ...["--etcd-servers", etcdServer],
    ...["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"],
    ...["--secure-port", String(port), "--endpoint-reconciler-type", "none"],
    ...["--tls-cert-file", keys.serving.certFile, "--tls-private-key-file", keys.serving.keyFile],
    ...["--client-ca-file", keys.authority.caFile, "--token-auth-file", keys.tokenFile],
    ...["--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24"],
    ...["--service-account-issuer", "https://kubernetes.default.svc"],
    ...["--service-account-key-file", keys.signing.publicFile],
    ...["--service-account-signing-key-file", keys.signing.privateFile],
    // No controller makes the default account that this plugin wants for each pod.
    ...["--disable-admission-plugins", "ServiceAccount"],
    // So that many objects are loaded quickly.
    ...["--max-requests-inflight", "2000", "--max-mutating-requests-inflight", "1000"],
  ];
}

interface Starting extends Access {
  readonly etcd: ServerProcess;
  readonly apiServer: ServerProcess;
}

const readyLimitMs = 90_000;

async function untilReady(starting: Starting) {
  const { etcd, apiServer } = starting;
  const started = performance.now();
  const never = new AbortController().signal;
  while (!await isReady(starting)) {
    const late = performance.now() - started > readyLimitMs;
    const failed = etcd.hasEnded() ? etcd : apiServer.hasEnded() || late ? apiServer : undefined;
    if (failed !== undefined) {
      await apiServer.end("SIGKILL");
      const what = failed === etcd ? "etcd" : "kube-apiserver";
      const how = late ? `was not ready after ${readyLimitMs / 1000} s` : "ended at once";
      throw new Error(`${what} ${how}:\n${failed.logTail()}`);
    }
    await sleep(50, never);
  }
}

async function isReady(access: Access): Promise<boolean> {
  try {
    return await request<string>(access, { method: "GET", path: "/readyz" }) === "ok";
  } catch {
    return false;
  }
}

interface Account {
  readonly folder: string;
  readonly namespace: string;
  readonly name: string;
}

async function layServiceAccount(call: ControlPlane["call"], account: Account): Promise<string> {
  const { namespace, name } = account;
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await createUnlessThere(call, "/api/v1/namespaces", { metadata: { name: namespace } });
  await createUnlessThere(call, accounts, { metadata: { name } });
  const { status } = await call<{ status: { token: string } }>(
    "POST",
    `${accounts}/${name}/token`,
    { spec: { expirationSeconds: 3600 } },
  );
  const folder = `${account.folder}/service-account-${namespace}-${name}`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/token`, status.token);
  await Deno.writeTextFile(`${folder}/namespace`, namespace);
  await Deno.copyFile(`${account.folder}/ca.crt`, `${folder}/ca.crt`);
  return folder;
}

async function createUnlessThere(call: ControlPlane["call"], path: string, body: unknown) {
  await call("POST", path, body).catch((error: Error) => {
    if (!error.message.includes(": 409 ")) throw error;
  });
}

async function compact(etcdServer: string) {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${etcdServer}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`etcd answered ${path} with ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  // A watch goes on from the version after its own, so the newest two must be nobody's.
  const own = { key: btoa("longshore"), value: btoa("compaction") };
  await post("/v3/kv/put", own);
  const { header } = await post("/v3/kv/put", own);
  await post("/v3/kv/compaction", { revision: header.revision, physical: true });
}
