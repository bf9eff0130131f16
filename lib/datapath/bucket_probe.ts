import { deadline } from "../base/abort.ts";
import type { RepositoryParameters } from "./repository_parameters.ts";

const limitMs = 10_000;

/**
 * Whether an S3 store has the bucket, asked without keys: a store refuses a stranger at a bucket
 * that exists (403) and says NoSuchBucket where there is none. True whenever it cannot be told.
 */
export async function hasBucket(
  { endpoint, bucket, plainHttp, caCerts }: RepositoryParameters & { readonly store: "s3" },
  signal: AbortSignal,
): Promise<boolean> {
  using limit = deadline(signal, limitMs, "Asking the store for the bucket");
  using client = Deno.createHttpClient(caCerts === undefined ? {} : { caCerts: [caCerts] });
  const url = `${plainHttp ? "http" : "https"}://${endpoint}/${encodeURIComponent(bucket)}`;
  try {
    const answer = await fetch(url, { client, signal: limit.signal, redirect: "manual" });
    const text = await answer.text();
    return !(answer.status === 404 && text.includes("NoSuchBucket"));
  } catch {
    return true;
  }
}
