export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** The head of each CONNECT request. */
  readonly asked: readonly string[];
}

/** A forward proxy as `proxy-url` names one: it tunnels to the port that is asked for, on loopback. */
export function connectProxy(): ConnectProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const asked: string[] = [];
  const open = new Set<Deno.TcpConn>();
  const serving: Promise<unknown>[] = [];
  const serve = async (from: Deno.TcpConn) => {
    let head = "";
    const buffer = new Uint8Array(4_096);
    while (!head.includes("\r\n\r\n")) {
      const read = await from.read(buffer);
      if (read === null) return;
      head += new TextDecoder().decode(buffer.subarray(0, read));
    }
    asked.push(head);
    const port = Number(head.match(/^CONNECT [^:]+:(\d+)/)?.[1]);
    const to = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(to);
    await from.write(new TextEncoder().encode("HTTP/1.1 200 Connected\r\n\r\n"));
    await Promise.allSettled([
      from.readable.pipeTo(to.writable),
      to.readable.pipeTo(from.writable),
    ]);
  };
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      serving.push(serve(connection).catch(() => {}));
    }
  })();
  return {
    port: listener.addr.port,
    asked,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const connection of open) {
        try {
          connection.close();
        } catch {
          // Its peer was first.
        }
      }
      await Promise.all(serving);
    },
  };
}
