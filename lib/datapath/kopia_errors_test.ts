import assert from "node:assert/strict";
import type { Reason } from "../base/reason.ts";
import { explainFailure } from "./kopia_errors.ts";
import type { ChildExit } from "./child_process.ts";

const facts = { doing: 'back up "/v"', folder: "/agent", secrets: ["the-password", "the-key"] };

function failed(changes: Partial<ChildExit>): ChildExit {
  return { code: 1, outOfMemory: false, stdout: "", lines: [], ...changes };
}

interface Case {
  readonly name: string;
  readonly reason: Reason;
  readonly message: RegExp;
  /** As kopia 0.23.1 wrote it, but for the cases marked so. */
  readonly lines: readonly string[];
}

const packFull =
  "error writing pack: can't save pack data blob p02: error writing pack file: unable " +
  "to complete PutBlobInPath:/mnt/r/p/020/3e.f despite 2 retries: can't write temporary file: " +
  "write /mnt/r/p/020/3e.f.tmp.78: no space left on device";
const storageConfig =
  'can\'t connect to storage: error retrieving storage config from bucket "b": ';

const cases: readonly Case[] = [
  {
    name: "wrong password",
    reason: "RepositoryPassword",
    message: /invalid repository password; the password in Secret "velero-repo-credentials"/,
    lines: [
      "failed to open repository: unable to create format manager: invalid repository password",
      "open repository: unable to open repository: unable to create format manager: " +
      "invalid repository password",
    ],
  },
  {
    name: "missing folder",
    reason: "RepositoryNotInitialized",
    message: /no such file or directory; nothing is at the place/,
    lines: [
      "can't connect to storage: cannot access storage path: stat /r: " +
      "no such file or directory",
    ],
  },
  {
    name: "empty store",
    reason: "RepositoryNotInitialized",
    message: /repository not initialized in the provided storage/,
    lines: ["error connecting to repository: repository not initialized in the provided storage"],
  },
  {
    name: "refused connection",
    reason: "RepositoryUnreachable",
    message: /connection refused; the store does not answer/,
    lines: [
      `${storageConfig}Get "http://127.0.0.1:17071/b/?location=": dial tcp 127.0.0.1:17071: ` +
      "connect: connection refused",
    ],
  },
  {
    name: "unknown host",
    reason: "RepositoryUnreachable",
    message: /no such host/,
    lines: [
      `${storageConfig}Get "http://h:1/b/?location=": dial tcp: lookup h on 10.0.0.1:53: ` +
      "no such host",
    ],
  },
  {
    name: "plain HTTP behind an https URL",
    reason: "RepositoryUnreachable",
    message: /no TLS connection that can be trusted; check s3Url/,
    lines: [
      `${storageConfig}Get "https://127.0.0.1:17070/b/?location=": http: server gave HTTP ` +
      "response to HTTPS client",
    ],
  },
  {
    name: "unknown authority",
    reason: "RepositoryUnreachable",
    message: /unknown authority; .*caCert/,
    lines: [
      `${storageConfig}Get "https://127.0.0.1:1/b/?location=": tls: failed to verify ` +
      "certificate: x509: certificate signed by unknown authority",
    ],
  },
  {
    name: "wrong secret key",
    reason: "RepositoryAccessDenied",
    message: /signature we calculated does not match/,
    lines: [
      `open repository: unable to open repository: cannot open storage: ${storageConfig}` +
      "The request signature we calculated does not match the signature you provided. Check your " +
      "key and signing method.",
    ],
  },
  {
    name: "no keys",
    reason: "RepositoryAccessDenied",
    message: /Access Denied\./,
    lines: [
      `open repository: unable to open repository: cannot open storage: ${storageConfig}` +
      "Access Denied.",
    ],
  },
  {
    name: "unknown key id (the words of AWS)",
    reason: "RepositoryAccessDenied",
    message: /Access Key Id/,
    lines: [`${storageConfig}The AWS Access Key Id you provided does not exist in our records.`],
  },
  {
    name: "expired temporary keys (the words of AWS)",
    reason: "RepositoryAccessDenied",
    message: /token has expired/,
    lines: [`${storageConfig}The provided token has expired.`],
  },
  {
    name: "no role of a machine",
    reason: "CredentialsMissing",
    message: /there are no credentials, and the machine gives us none/,
    lines: [
      `${storageConfig}Get "http://169.254.169.254/latest/meta-data/iam/security-credentials/": ` +
      "dial tcp 169.254.169.254:80: connect: connection refused",
    ],
  },
  {
    name: "missing bucket (the words of AWS)",
    reason: "BucketMissing",
    message: /The specified bucket does not exist; make the bucket/,
    lines: [`${storageConfig}The specified bucket does not exist`],
  },
  {
    name: "full store, found at the end",
    reason: "RepositoryFull",
    message: /no space left on device; the store is full/,
    lines: [
      "Snapshotting default@default:x ...",
      `flush error: error flushing contents: ${packFull}`,
    ],
  },
  {
    name: "full store, found at a file",
    reason: "RepositoryFull",
    message: /no space left on device/,
    lines: [
      ` ! Error when processing "f4": unable to get result: unable to write content chunk 6 ` +
      `of FILE:f4: error writing previously failed pack: ${packFull}`,
    ],
  },
  {
    name: "full node",
    reason: "NodeDiskFull",
    message: /free space on the node under "\/agent"/,
    lines: [
      "unable to add 96 to metadata: unable to complete PutBlobInPath:/agent/r/cache/96.f despite " +
      "2 retries: can't write temporary file: write /agent/r/cache/96.f.tmp: no space left on device",
      "flush error: error flushing contents: error flushing indexes: unable to add committed " +
      "content: error adding content to cache: can't write to temp file: write " +
      "/agent/r/cache/indexes/tmp1: no space left on device",
    ],
  },
  {
    name: "full node at connecting",
    reason: "NodeDiskFull",
    message: /no space left/,
    lines: [
      "error connecting to repository: unable to write config file: error writing file: cannot " +
      'write data to tempfile "/agent/t.conf2": write /agent/t.conf2: no space left on device',
    ],
  },
  {
    name: "lost store in the middle",
    reason: "RepositoryUnreachable",
    message: /connection refused/,
    lines: [
      "async write error: unable to write content chunk 2 of FILE:f1: unable to write pack: " +
      "error writing pack: can't save pack data blob p6: error writing pack file: unable to " +
      'complete PutBlob(p6) despite 10 retries: Put "http://127.0.0.1:1/b/p6": dial tcp ' +
      "127.0.0.1:1: connect: connection refused",
    ],
  },
  {
    name: "volume folder missing",
    reason: "HostPathMissing",
    message: /lstat \/v: no such file or directory; the volume's folder is not there/,
    lines: [
      "Snapshotting default@default:x ...",
      "encountered 2 errors:",
      "failed to prepare source: unable to get local filesystem entry: resolveSymlink: stat: lstat " +
      "/v: no such file or directory",
      "upload error: unsupported source: default@default:x",
    ],
  },
  {
    name: "volume folder that went away",
    reason: "HostPathMissing",
    message: /no such file or directory; the volume's folder is not there any more$/,
    lines: ["Snapshotting default@default:x ...", "upload error: no such file or directory"],
  },
  {
    name: "something new",
    reason: "KopiaFailed",
    message: /^Cannot back up "\/v": kopia: error: unknown long flag '--new', try --help$/,
    lines: ["first words", "kopia: error: unknown long flag '--new', try --help", "", " "],
  },
  {
    name: "no word at all",
    reason: "KopiaFailed",
    message: /exit code 1 and said nothing$/,
    lines: [],
  },
];

for (const { name, reason, message, lines } of cases) {
  Deno.test(`${name} is ${reason}`, () => {
    const failure = explainFailure(failed({ lines }), facts);
    assert.equal(failure.reason, reason, failure.message);
    assert.match(failure.message, message);
    assert.match(failure.message, /^Cannot back up "\/v": \S/);
    assert.equal(failure.snapshotID, undefined);
  });
}
