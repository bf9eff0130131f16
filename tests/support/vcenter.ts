import { X509Certificate } from "node:crypto";
import type { Address } from "../../lib/vsphere/wire.ts";
import { type Authority, makeAuthority } from "./pki.ts";
import { startProcess } from "./process.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

/** What the simulator has seen. */
export interface VcenterCounts {
  readonly logins: number;
  readonly refusedLogins: number;
  /** Alive now. */
  readonly sessions: number;
  /** By method, also of what was refused. */
  readonly calls: Readonly<Record<string, number>>;
}

/** A simulated vCenter over TLS, with an authority of its own. */
export interface Vcenter extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Trusting its authority. */
  readonly address: Address;
  /** The PEM file of its authority. */
  readonly caFile: string;
  /** SHA-256 of its certificate. */
  readonly thumbprint: string;
  readonly user: string;
  readonly password: string;
  counts(): Promise<VcenterCounts>;
  terminateSessions(): Promise<void>;
  /** Who logs in from now on needs it. */
  changePassword(password: string): Promise<void>;
  /** Answers everything with an HTTP status, as a gateway does whose services are away; 0 ends it. */
  answerStatus(status: number): Promise<void>;
}

export interface VcenterOptions {
  /** An ESXi host instead. */
  readonly esx?: boolean;
  /** Before each answer. */
  readonly delayMs?: number;
  /** How long an update of metadata takes after its answer. */
  readonly taskMs?: number;
  /** Its certificate is signed by its own key, not by the authority. */
  readonly selfSigned?: boolean;
  /** It presents the certificate without having its key. */
  readonly impostor?: boolean;
}

export async function startVcenter(options: VcenterOptions = {}): Promise<Vcenter> {
  const { esx = false, delayMs = 0, taskMs = 0, impostor = false } = options;
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(tempFolder("vcenter"));
  const authority = await makeAuthority(path);
  const { certFile, keyFile } = await makeCertificate(authority, options);
  const password = "p&<>\"' ß";
  const server = stack.use(startProcess(await tool("cnssim"), [
    ...["-cert", certFile, "-key", keyFile, "-pass", password, "-delay", `${delayMs}`],
    ...["-task-delay", `${taskMs}ms`],
    ...(esx ? ["-esx"] : []),
    ...(impostor ? ["-impostor"] : []),
  ]));
  const [, url, control] = (await server.line(/^ready /)).split(" ") as [string, string, string];
  const { hostname: host, port } = new URL(url);
  const ask = async (what: string, method = "POST"): Promise<unknown> => {
    const answer = await fetch(`${control}/${what}`, { method });
    return await answer.json();
  };
  const owned = stack.move();
  return {
    host,
    port: Number(port),
    address: { host, port: Number(port), trust: { by: "authority", files: [authority.caFile] } },
    caFile: authority.caFile,
    thumbprint: new X509Certificate(await Deno.readTextFile(certFile)).fingerprint256,
    user: "administrator@vsphere.local",
    password,
    counts: async () => await ask("counts", "GET") as VcenterCounts,
    terminateSessions: async () => void await ask("terminate"),
    changePassword: async (to) => void await ask(`password?to=${encodeURIComponent(to)}`),
    answerStatus: async (status) => void await ask(`status?code=${status}`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function makeCertificate(authority: Authority, { selfSigned = false }: VcenterOptions) {
  const make = selfSigned ? authority.selfSigned : authority.issue;
  return make("vcenter", {
    subject: "/CN=vcenter",
    extensions: ["subjectAltName=IP:127.0.0.1", "extendedKeyUsage=serverAuth"],
  });
}
