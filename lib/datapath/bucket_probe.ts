import { connect } from "node:tls";
import { deadline, orAbort } from "../base/abort.ts";
import type { RepositoryParameters } from "./repository_parameters.ts";

const limitMs = 10_000;

type S3Place = RepositoryParameters & { readonly store: "s3" };

/**
 * Whether an S3 store has the bucket, asked without keys: a store refuses a stranger at a bucket
 * that exists (403) and says NoSuchBucket where there is none. True whenever it cannot be told.
 */
export async function hasBucket(place: S3Place, signal: AbortSignal): Promise<boolean> {
  using limit = deadline(signal, limitMs, "Asking the store for the bucket");
  const ask = place.skipVerify && !place.plainHttp ? askUnchecked : askChecked;
  try {
    return !isMissing(await ask(place, limit.signal));
  } catch {
    return true;
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function isMissing({ status, text }: Answer): boolean {
  return status === 404 && text.includes("NoSuchBucket");
}

async function askChecked(
  { endpoint, bucket, plainHttp, caCerts }: S3Place,
  signal: AbortSignal,
): Promise<Answer> {
  using client = Deno.createHttpClient(caCerts === undefined ? {} : { caCerts: [caCerts] });
  const url = `${plainHttp ? "http" : "https"}://${endpoint}/${encodeURIComponent(bucket)}`;
  const answer = await fetch(url, { client, signal, redirect: "manual" });
  return { status: answer.status, text: answer.body ? await textOf(answer.body) : "" };
}

/** The one request is written by hand: neither `fetch` nor node:https can leave out the check. */
async function askUnchecked({ endpoint, bucket }: S3Place, signal: AbortSignal): Promise<Answer> {
  const { hostname, port } = new URL(`https://${endpoint}`);
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 443),
    rejectUnauthorized: false,
  });
  try {
    socket.write(
      `GET /${encodeURIComponent(bucket)} HTTP/1.0\r\nHost: ${endpoint}\r\n\r\n`,
    );
    const text = await orAbort(textOf(socket), signal);
    return { status: Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1]), text };
  } finally {
    socket.destroy();
  }
}

const longest = 64 * 1_024;

async function textOf(socket: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of socket) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longest) break;
  }
  return text;
}
