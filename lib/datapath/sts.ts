import { createHash, createHmac } from "node:crypto";
import { deadline } from "../base/abort.ts";
import { messageOf, MovementError } from "../base/error.ts";
import type { AwsKeys, AwsRole } from "./aws_credentials.ts";

export interface StsOptions {
  readonly region: string;
  /** The value of AWS_ENDPOINT_URL_STS: another place than the region's own. */
  readonly endpoint?: string;
}

const limitMs = 30_000;

/**
 * Takes on a role: keys that are good for an hour unless the role says otherwise. Throws
 * `MovementError` RepositoryAccessDenied when AWS refuses, RepositoryUnreachable without an answer,
 * StorageLocationInvalid or CredentialsMissing when it cannot even be asked.
 */
export async function assumeRole(
  { keys, role }: { readonly keys: AwsKeys; readonly role: AwsRole },
  { region, endpoint = `https://sts.${region}.${domainOf(region)}` }: StsOptions,
  signal: AbortSignal,
): Promise<AwsKeys> {
  const doing = `Cannot take on the role "${role.arn}"`;
  const url = URL.parse(endpoint);
  if (url === null) {
    throw new MovementError(
      "StorageLocationInvalid",
      `${doing}: "${endpoint}" is no URL; correct config.region of the BackupStorageLocation, or ` +
        "AWS_ENDPOINT_URL_STS of the agent",
    );
  }
  if (!Object.values(keys).every((value) => /^[!-~]*$/.test(value))) {
    throw new MovementError(
      "CredentialsMissing",
      `${doing}: the keys of its source_profile have characters that no key has; copy them anew`,
    );
  }
  const request = signed({ url, body: bodyOf(role), region, now: new Date() }, keys);
  const { status, text } = await ask(request, doing, signal);
  const [accessKeyId, secretAccessKey, sessionToken] = [
    "AccessKeyId",
    "SecretAccessKey",
    "SessionToken",
  ]
    .map((name) => textIn(text, name));
  if (status === 200 && accessKeyId && secretAccessKey && sessionToken) {
    return { accessKeyId, secretAccessKey, sessionToken };
  }
  throw refusal(doing, { status, text });
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(request: Request, doing: string, signal: AbortSignal): Promise<Answer> {
  using limit = deadline(signal, limitMs, "Asking AWS for a role");
  try {
    // Another place would be handed the session's token.
    const answer = await fetch(request, { signal: limit.signal, redirect: "error" });
    return { status: answer.status, text: await answer.text() };
  } catch (cause) {
    signal.throwIfAborted();
    throw new MovementError(
      "RepositoryUnreachable",
      `${doing}: "${new URL(request.url).origin}" gives no answer (${
        messageOf(cause)
      }); check the ` +
        "network, and the region of the BackupStorageLocation",
      { cause },
    );
  }
}

function refusal(doing: string, { status, text }: Answer): MovementError {
  const words = [textIn(text, "Code"), textIn(text, "Message")].filter(Boolean).join(": ");
  const said = `${doing}: AWS says ${words || `HTTP ${status} and no reason`}`;
  return status >= 500
    ? new MovementError("RepositoryUnreachable", `${said}; try again later`)
    : new MovementError(
      "RepositoryAccessDenied",
      `${said}; check the keys of source_profile and the role's trust policy`,
    );
}

function domainOf(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

function bodyOf({ arn, sessionName, seconds, externalId }: AwsRole): string {
  return new URLSearchParams({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: arn,
    RoleSessionName: sessionName,
    ...(seconds !== undefined && { DurationSeconds: String(seconds) }),
    ...(externalId !== undefined && { ExternalId: externalId }),
  }).toString();
}

export interface Unsigned {
  readonly url: URL;
  readonly body: string;
  readonly region: string;
  readonly now: Date;
}

const contentType = "application/x-www-form-urlencoded; charset=utf-8";

/** A POST to STS with Amazon's signature, version 4. */
export function signed(
  { url, body, region, now }: Unsigned,
  { accessKeyId, secretAccessKey, sessionToken }: AwsKeys,
): Request {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/${region}/sts/aws4_request`;
  const headers: Record<string, string> = {
    "content-type": contentType,
    host: url.host,
    "x-amz-date": time,
    ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
  };
  const names = Object.keys(headers).join(";"); // in order already
  const canonical = [
    ...["POST", url.pathname, ""],
    ...Object.entries(headers).map(([name, value]) => `${name}:${value}`),
    ...["", names, sha256(body)],
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
  const key = scope.split("/")
    .reduce<string | Uint8Array>((key, part) => hmac(key, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, toSign).toHex();
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, ` +
    `SignedHeaders=${names}, Signature=${signature}`;
  const { host: _, ...sent } = headers;
  return new Request(url, { method: "POST", body, headers: { ...sent, authorization } });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return new Uint8Array(createHmac("sha256", key).update(text).digest());
}

function textIn(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]?.trim();
}
