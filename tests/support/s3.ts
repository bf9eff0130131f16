import type { RepositoryParameters } from "../../lib/datapath/repository_parameters.ts";
import { sleep } from "../../lib/base/abort.ts";
import { makeAuthority } from "./pki.ts";
import { freePorts } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { tempFolder } from "./temp.ts";
import { tool } from "./tools.ts";

export interface S3Server extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly endpoint: string;
  /** PEM text of the authority that signed its certificate; absent for plain HTTP. */
  readonly caCerts?: string;
  /** The keys of its only user, as environment variables. */
  readonly keys: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
  /** Where the buckets lie as folders. */
  readonly folder: string;
  /** A repository's place in the bucket "backups". */
  readonly parameters: RepositoryParameters & { readonly store: "s3" };
  /** Kills the server. */
  stop(): Promise<void>;
}

export interface S3Options {
  readonly tls?: boolean;
}

/** A real S3 server (versitygw) over a folder, with one bucket "backups". */
export async function startS3({ tls = false }: S3Options = {}): Promise<S3Server> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(tempFolder("s3"));
  const folder = `${path}/buckets`;
  await Deno.mkdir(`${folder}/backups`, { recursive: true });
  const certificate = tls ? await makeCertificate(path) : undefined;
  const [port] = freePorts(1) as [number];
  const endpoint = `127.0.0.1:${port}`;
  const keys = { AWS_ACCESS_KEY_ID: "AKTESTUSER", AWS_SECRET_ACCESS_KEY: "the-secret-of-s3" };
  const server = stack.use(startProcess(await tool("versitygw"), [
    ...["--quiet", "--port", endpoint],
    ...(certificate === undefined ? [] : ["--cert", certificate.certFile]),
    ...(certificate === undefined ? [] : ["--key", certificate.keyFile]),
    ...["posix", "--nometa", folder],
  ], {
    env: {
      ROOT_ACCESS_KEY_ID: keys.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_ACCESS_KEY: keys.AWS_SECRET_ACCESS_KEY,
    },
  }));
  await untilListening(port, server);
  const owned = stack.move();
  const trust = certificate === undefined ? {} : { caCerts: certificate.caCerts };
  return {
    endpoint,
    ...trust,
    keys,
    folder,
    parameters: {
      store: "s3",
      bucket: "backups",
      prefix: "pre/kopia/ns/",
      endpoint,
      plainHttp: !tls,
      skipVerify: false,
      ...trust,
    },
    async stop() {
      server.kill("SIGKILL");
      await server.status;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function makeCertificate(folder: string) {
  const authority = await makeAuthority(folder);
  const pair = await authority.issue("s3", {
    subject: "/CN=s3",
    extensions: ["subjectAltName=IP:127.0.0.1", "extendedKeyUsage=serverAuth"],
  });
  return { ...pair, caCerts: await Deno.readTextFile(authority.caFile) };
}

async function untilListening(port: number, server: RunningProcess) {
  const { signal } = new AbortController();
  let ended = false;
  server.status.then(() => ended = true);
  for (let tries = 0; !ended && tries < 1_000; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await sleep(20, signal);
    }
  }
  throw new Error(`versitygw does not listen on port ${port}:\n${server.stderr()}`);
}
