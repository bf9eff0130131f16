/** What an error of a store means, whichever program met it. */
import type { Reason } from "../base/reason.ts";

export interface StoreRule {
  readonly pattern: RegExp;
  readonly reason: Reason;
  readonly advice: string;
}

/** What an error of the store or of the repository means; the first rule that matches counts. */
const rules: readonly StoreRule[] = [
  {
    pattern: /169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal/,
    reason: "CredentialsMissing",
    advice: "there are no credentials, and the machine gives us none; set spec.credential of the " +
      "BackupStorageLocation, or give the agent an identity of the cloud",
  },
  {
    pattern: /invalid repository password/,
    reason: "RepositoryPassword",
    advice: 'the password in Secret "velero-repo-credentials" is not the one that the repository ' +
      "was made with; put the right one back",
  },
  {
    pattern: /repository not initialized|cannot access storage path/,
    reason: "RepositoryNotInitialized",
    advice: "nothing is at the place that the BackupStorageLocation names; check its bucket or " +
      "folder, its prefix and its credentials, and that the Velero server could make the repository",
  },
  {
    pattern:
      /no space left on device|disk quota exceeded|StorageFull|QuotaExceeded|quota exceeded/i,
    reason: "RepositoryFull",
    advice: "the store is full; free or add space there",
  },
  {
    pattern: /x509:|tls: |certificate|HTTP response to HTTPS client/,
    reason: "RepositoryUnreachable",
    advice:
      "no TLS connection that can be trusted; check s3Url, caCert and insecureSkipTLSVerify " +
      "of the BackupStorageLocation",
  },
  {
    pattern: /specified bucket does not exist|NoSuchBucket/,
    reason: "BucketMissing",
    advice: "make the bucket, or correct its name in the BackupStorageLocation",
  },
  {
    pattern:
      /request signature|SignatureDoesNotMatch|access ?key|Access ?Denied|Forbidden|invalid credentials|(security|session|provided) token|token.*expired|RequestTimeTooSkewed|permission denied|operation not permitted|read-only file system/i,
    reason: "RepositoryAccessDenied",
    advice: "the store refuses us; check the credentials of the BackupStorageLocation and what " +
      "they are allowed to do",
  },
  {
    pattern:
      /connection refused|no such host|timeout|timed out|connection reset|broken pipe|unreachable|no route to host|server misbehaving|unexpected EOF|: EOF|Service ?Unavailable|SlowDown|InternalError|Bad Gateway|input\/output error|stale (NFS )?file handle|despite \d+ retries/i,
    reason: "RepositoryUnreachable",
    advice: "the store does not answer; check that it runs and can be reached from this node",
  },
];

/** The rule for a line that is known to come from the store's side. */
export function storeRule(line: string): StoreRule | undefined {
  return rules.find(({ pattern }) => pattern.test(line));
}

/** Replaces every secret value in a text. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret.length > 3)
    .reduce((shown, secret) => shown.replaceAll(secret, "***"), text);
}
