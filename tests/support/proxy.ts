import { setTimeout as sleep } from "node:timers/promises";

export interface ProxyTarget {
  readonly hostname?: string;
  readonly port: number;
}

/** Stands between a client and a server and misbehaves as networks do, below TLS. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** `performance.now()` of each connection that was accepted. */
  readonly accepted: readonly number[];
  openConnections(): number;
  /** The connections open now carry nothing any more, and stay open. New ones work. */
  silence(): void;
  /** Closes the connections open now. */
  cut(): void;
  /** From now on so many bytes a second each way on each connection; undefined = all at once. */
  slow(bytesPerSecond: number | undefined): void;
}

interface Line {
  readonly ends: readonly [Deno.TcpConn, Deno.TcpConn];
  readonly released: PromiseWithResolvers<void>;
  isSilent: boolean;
}

/** Forwards from a free port on loopback to the target. */
export function startProxy({ hostname = "127.0.0.1", port }: ProxyTarget): Proxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted: number[] = [];
  const lines = new Set<Line>();
  const work = new Set<Promise<void>>();
  let bytesPerSecond: number | undefined;

  const keep = (promise: Promise<void>) => {
    const kept = promise.catch(() => {}).finally(() => work.delete(kept));
    work.add(kept);
  };
  const serve = async (client: Deno.TcpConn) => {
    using ends = new DisposableStack();
    ends.defer(() => closeQuietly(client));
    const server = await Deno.connect({ hostname, port });
    ends.defer(() => closeQuietly(server));
    const line: Line = {
      ends: [client, server],
      released: Promise.withResolvers(),
      isSilent: false,
    };
    lines.add(line);
    ends.defer(() => lines.delete(line));
    await Promise.race([forward(line, client, server), forward(line, server, client)]);
  };
  const forward = async (line: Line, from: Deno.TcpConn, to: Deno.TcpConn) => {
    const buffer = new Uint8Array(16_384);
    for (let read = await from.read(buffer); read !== null; read = await from.read(buffer)) {
      if (line.isSilent) continue;
      if (bytesPerSecond !== undefined) await sleep(read / bytesPerSecond * 1_000);
      for (let at = 0; at < read;) at += await to.write(buffer.subarray(at, read));
    }
    // A silent line hides also that one end has gone.
    if (line.isSilent) await line.released.promise;
  };
  const cut = () => {
    for (const { ends, released } of lines) {
      released.resolve();
      ends.forEach(closeQuietly);
    }
  };

  const accepting = (async () => {
    for await (const client of listener) {
      accepted.push(performance.now());
      keep(serve(client));
    }
  })();
  return {
    port: listener.addr.port,
    accepted,
    openConnections: () => lines.size,
    silence: () => lines.forEach((line) => line.isSilent = true),
    cut,
    slow: (rate) => void (bytesPerSecond = rate),
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      cut();
      await Promise.all(work);
    },
  };
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // The other pump was first.
  }
}
