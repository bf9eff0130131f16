import { ConfigError } from "../lib/base/error.ts";
import type { Metrics } from "../lib/base/metrics.ts";
import type { ListenAddress } from "./server_options.ts";

export interface MetricsListener extends AsyncDisposable {
  readonly addr: Deno.NetAddr;
}

/**
 * Serves /metrics until it is disposed, which closes every connection: a client that is slow or silent
 * does not hold up the end. A taken port is a `ConfigError` at once. The one listener of the agent:
 * the original's second one on :8080 only made starts fail.
 */
export function listenForMetrics(
  metrics: Metrics,
  { hostname, port }: ListenAddress,
): MetricsListener {
  const open = new AbortController();
  const { signal } = open;
  const answer = async (request: Request) => {
    if (new URL(request.url).pathname !== "/metrics") {
      return new Response("not found; see /metrics\n", { status: 404 });
    }
    const { text, contentType } = await metrics.render();
    return new Response(text, { headers: { "content-type": contentType } });
  };
  const listen = (hostname: string) =>
    Deno.serve({ hostname, port, signal, onListen: () => {} }, answer);
  try {
    const { addr, finished } = hostname === "" ? listenEverywhere(listen) : listen(hostname);
    return {
      addr,
      async [Symbol.asyncDispose]() {
        open.abort();
        await finished;
      },
    };
  } catch (error) {
    throw new ConfigError(
      `Cannot serve metrics at "${hostname}:${port}"; free the port or choose another with --metrics-address`,
      { cause: error },
    );
  }
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
