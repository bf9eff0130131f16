import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { makeAuthority } from "../../tests/support/pki.ts";
import { tempFolder } from "../../tests/support/temp.ts";
import { ConfigError } from "../base/error.ts";
import type { Trust } from "./vsphere_conf.ts";
import { openWire, type Wire, WireError } from "./wire.ts";

const never = new AbortController().signal;

interface Site extends AsyncDisposable {
  readonly port: number;
  readonly caFile: string;
  /** Of its certificate. */
  readonly sha1: string;
  readonly sha256: string;
  /** Bodies of the requests so far. */
  readonly received: readonly string[];
}

interface SiteOptions {
  readonly selfSigned?: boolean;
  readonly name?: string;
  readonly answer?: (request: Request) => Response | Promise<Response>;
}

/** A server with a certificate for 127.0.0.1, or another name. */
async function startSite(
  { selfSigned = false, name = "IP:127.0.0.1", answer = () => new Response("yes") }: SiteOptions =
    {},
): Promise<Site> {
  const folder = tempFolder("wire");
  const authority = await makeAuthority(folder.path);
  const make = selfSigned ? authority.selfSigned : authority.issue;
  const { certFile, keyFile } = await make("vc", {
    subject: "/CN=vc",
    extensions: [`subjectAltName=${name}`, "extendedKeyUsage=serverAuth"],
  });
  const [cert, key] = await Promise.all([certFile, keyFile].map((path) => Deno.readTextFile(path)));
  const received: string[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", cert: cert!, key: key!, onListen() {} },
    async (request) => {
      received.push(await request.text());
      return await answer(request);
    },
  );
  const { fingerprint: sha1, fingerprint256: sha256 } = new X509Certificate(cert!);
  return {
    port: server.addr.port,
    caFile: authority.caFile,
    sha1,
    sha256,
    received,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      folder[Symbol.dispose]();
    },
  };
}

function wireTo({ port }: Pick<Site, "port">, trust: Trust): Promise<Wire> {
  return openWire({ host: "127.0.0.1", port, trust });
}

async function post(wire: Wire, signal = never): Promise<string> {
  const answer = await wire.send({ method: "POST", path: "/", headers: {}, body: "ask" }, signal);
  let text = "";
  for await (const piece of answer.body) text += new TextDecoder().decode(piece);
  return text;
}

const trusting: readonly (readonly [string, SiteOptions, (site: Site) => Trust])[] = [
  ["its authority", {}, ({ caFile }) => ({ by: "authority", files: [caFile] })],
  ["nothing", { name: "DNS:other" }, () => ({ by: "nothing" })],
  [
    "the SHA-1 of a self-signed certificate for another name",
    { selfSigned: true, name: "DNS:vc.example,DNS:other" },
    ({ sha1 }) => ({ by: "thumbprint", thumbprint: sha1 }),
  ],
  [
    "the SHA-256 of a self-signed certificate",
    { selfSigned: true },
    ({ sha256 }) => ({ by: "thumbprint", thumbprint: sha256 }),
  ],
];

for (const [name, options, trustIn] of trusting) {
  Deno.test(`with trust by ${name} requests are answered over a kept connection`, async () => {
    await using site = await startSite(options);
    using wire = await wireTo(site, trustIn(site));
    assert.equal(await post(wire), "yes");
    assert.equal(await post(wire), "yes");
    assert.deepEqual(site.received, ["ask", "ask"]);
  });
}

const other = Array(20).fill("AB").join(":");
const refusing: readonly (readonly [string, SiteOptions, (site: Site) => Trust, RegExp])[] = [
  ["an unknown authority", {}, () => ({ by: "system" }), /UnknownIssuer.*authority as ca-file$/],
  [
    "another name",
    { name: "DNS:vc.example" },
    ({ caFile }) => ({ by: "authority", files: [caFile] }),
    /not accepted: .*name.*Name the vCenter as its certificate does$/i,
  ],
  [
    "another fingerprint",
    { selfSigned: true },
    () => ({ by: "thumbprint", thumbprint: other }),
    new RegExp(`has the fingerprint ([0-9A-F]{2}:){19}[0-9A-F]{2}, not ${other} as configured`),
  ],
  [
    "the right fingerprint, but an unknown authority",
    {},
    ({ sha256 }) => ({ by: "thumbprint", thumbprint: sha256 }),
    /has the configured fingerprint, but .*UnknownIssuer.*as ca-file instead/,
  ],
];

for (const [name, options, trustIn, expected] of refusing) {
  Deno.test(`a server with ${name} is refused before anything is sent`, async () => {
    await using site = await startSite(options);
    using wire = await wireTo(site, trustIn(site));
    for (let tries = 0; tries < 2; tries++) {
      const error = await errorOf(post(wire));
      assert.equal(error.fault, "certificate");
      assert.match(error.message, expected);
    }
    assert.deepEqual(site.received, []);
  });
}

Deno.test("nobody listening is said to be so", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  for (const trust of [{ by: "nothing" }, { by: "thumbprint", thumbprint: other }] as const) {
    using wire = await wireTo({ port }, trust);
    const error = await errorOf(post(wire));
    assert.equal(error.fault, "connect");
    assert.match(error.message, /^no connection to 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  }
});

Deno.test("a request whose connection ends without an answer is not sent again", async () => {
  let requests = 0;
  await using server = await rawTls(async (connection) => {
    if (await connection.read(new Uint8Array(1_000)) !== null) requests++;
  });
  using wire = await wireTo(server, { by: "authority", files: [server.caFile] });
  assert.equal((await errorOf(post(wire))).fault, "lost");
  assert.equal(requests, 1);
});

// The server sees the end of the connection before this side has given its handle back.
const late = { sanitizeResources: false };

Deno.test("an abort ends an answer that is being read, and its connection", late, async () => {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n";
  const ended = Promise.withResolvers<void>();
  await using server = await rawTls(async (connection) => {
    await connection.write(new TextEncoder().encode(head));
    const buffer = new Uint8Array(1_000);
    while (await connection.read(buffer).catch(() => null) !== null);
    ended.resolve();
  });
  using wire = await wireTo(server, { by: "nothing" });
  const abort = new AbortController();
  const answer = await wire.send({ method: "GET", path: "/", headers: {} }, abort.signal);
  const reading = (async () => {
    for await (const piece of answer.body) if (piece.length > 0) abort.abort(new Error("enough"));
  })();
  await assert.rejects(reading, /^Error: enough$/);
  await ended.promise;
});

/** Calls `serve` with each connection, and then closes it. */
async function rawTls(serve: (connection: Deno.TlsConn) => Promise<void>) {
  using folder = tempFolder("wire");
  const authority = await makeAuthority(folder.path);
  const { certFile, keyFile } = await authority.issue("vc", {
    subject: "/CN=vc",
    extensions: ["subjectAltName=IP:127.0.0.1"],
  });
  const [cert, key] = await Promise.all([certFile, keyFile].map((path) => Deno.readTextFile(path)));
  const caFile = await Deno.makeTempFile();
  await Deno.copyFile(authority.caFile, caFile);
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, cert: cert!, key: key! });
  const accepting = (async () => {
    for await (const connection of listener) {
      await serve(connection).catch(() => {});
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    caFile,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Deno.remove(caFile);
    },
  };
}

Deno.test("a ca-file that is missing or holds no certificate is named", async () => {
  using folder = tempFolder("wire");
  await Deno.writeTextFile(`${folder.path}/ca.pem`, "secret");
  for (const name of ["none.pem", "ca.pem"]) {
    const trust: Trust = { by: "authority", files: [`${folder.path}/${name}`] };
    await assert.rejects(wireTo({ port: 1 }, trust), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, new RegExp(`ca-file ".*/${name}": `));
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
});

async function errorOf(promise: Promise<unknown>): Promise<WireError> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert.ok(error instanceof WireError, `${error}`);
  return error;
}
