import { linked, sleep } from "../lib/base/abort.ts";
import { ConfigError, messageOf } from "../lib/base/error.ts";
import { logger } from "../lib/base/log.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import { formatChecks, liveness, readiness, type Vitals } from "./health.ts";
import type { ListenAddress } from "./server_options.ts";

export interface MetricsListener extends AsyncDisposable {
  readonly addr: Deno.NetAddr;
}

export interface Pages {
  readonly metrics: Metrics;
  readonly vitals: Vitals;
}

const log = logger("metrics");

/**
 * Serves /metrics, /healthz and /readyz until it is disposed, which closes every connection: a client
 * that is slow or silent does not hold up the end. A taken port is a `ConfigError` at once. The one
 * listener of the agent: the original's second one on :8080 only made starts fail.
 */
export function listenForMetrics(
  pages: Pages,
  { hostname, port }: ListenAddress,
): MetricsListener {
  const open = new AbortController();
  const { signal } = open;
  const openAt = (hostname: string, port: number) => openServer(pages, { hostname, port, signal });
  try {
    const first = hostname === ""
      ? listenEverywhere((hostname) => openAt(hostname, port))
      : openAt(hostname, port);
    const { addr } = first;
    const served = keepServing(first, () => openAt(addr.hostname, addr.port), signal);
    return {
      addr,
      async [Symbol.asyncDispose]() {
        open.abort();
        await served;
      },
    };
  } catch (error) {
    throw new ConfigError(
      `Cannot serve metrics at "${hostname}:${port}"; free the port or choose another with --metrics-address`,
      { cause: error },
    );
  }
}

interface Server {
  readonly addr: Deno.NetAddr;
  /** Rejects when it could not take a connection, and those that it had have ended. */
  readonly ended: Promise<void>;
}

function openServer(
  pages: Pages,
  { signal, ...at }: ListenAddress & { readonly signal: AbortSignal },
): Server {
  const own = linked(signal);
  const { addr, finished } = Deno.serve(
    { ...at, signal: own.signal, onListen: () => {} },
    ({ url }) => answer(pages, URL.parse(url)),
  );
  const ended = finished.finally(() => {
    own.abort();
    own[Symbol.dispose]();
  });
  return { addr, ended };
}

const reopenAfterMs = 1_000;

/**
 * The runtime gives a server up for good when it cannot take one connection, as for want of file
 * handles, which whoever reaches the port can bring about. Movements must not end with it.
 */
async function keepServing(
  first: Server,
  reopen: () => Server,
  signal: AbortSignal,
): Promise<void> {
  let server: Server | undefined = first;
  while (!signal.aborted) {
    try {
      server ??= reopen();
      await server.ended;
    } catch (error) {
      if (signal.aborted) return;
      log.warn("The metrics listener failed and is opened again", { error: messageOf(error) });
      server = undefined;
      await sleep(reopenAfterMs, signal).catch(() => {}); // the loop sees the abort
    }
  }
}

/** Null: the Host header is none. Thrown, it would be a stack trace in the log for each who asks so. */
async function answer({ metrics, vitals }: Pages, url: URL | null): Promise<Response> {
  if (url === null) return new Response("the Host header is no host\n", { status: 400 });
  const { pathname, searchParams } = url;
  const judge = { "/healthz": liveness, "/readyz": readiness }[pathname];
  if (judge !== undefined) {
    if (judge === readiness) await vitals.heart.take();
    const form = searchParams.has("verbose") ? "verbose" : "short";
    const checks = judge(vitals, Date.now());
    const { status, text } = formatChecks(pathname.slice(1), checks, { form });
    return new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
  }
  if (pathname !== "/metrics") {
    return new Response("not found; see /metrics, /healthz, /readyz\n", { status: 404 });
  }
  const { text, contentType } = await metrics.render();
  return new Response(text, { headers: { "content-type": contentType } });
}

/** On both families; on IPv4 alone where the node has no IPv6. */
function listenEverywhere<T>(listen: (hostname: string) => T): T {
  try {
    return listen("::");
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) throw error;
    return listen("0.0.0.0");
  }
}
