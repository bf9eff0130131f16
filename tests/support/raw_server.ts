/** A request as it came over the wire. */
export interface RawRequest {
  /** `GET /path HTTP/1.1` and the header lines. */
  readonly head: string;
  readonly body: string;
  /** Counts from 0 over all connections. */
  readonly nth: number;
}

export interface RawServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly requests: readonly RawRequest[];
  /** Connections that are open now. */
  openConnections(): number;
}

/** Writes an answer, bytes as they are. "close" then closes the connection, "keep" leaves it open. */
export type RawAnswer = (
  request: RawRequest,
  write: (text: string) => Promise<void>,
) => Promise<"keep" | "close">;

/** An HTTP/1.1 server whose answers may be cut, late or wrong at any byte. */
export function rawServer(answer: RawAnswer): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: RawRequest[] = [];
  const open = new Set<Deno.TcpConn>();
  const serving: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      serving.push(serve(connection).catch(() => {}).finally(() => close(connection)));
    }
  })();

  async function serve(connection: Deno.TcpConn): Promise<void> {
    const write = async (text: string) => {
      const writer = connection.writable.getWriter();
      await writer.write(new TextEncoder().encode(text)).finally(() => writer.releaseLock());
    };
    let pending = "";
    for await (const chunk of connection.readable) {
      pending += new TextDecoder().decode(chunk);
      const end = pending.indexOf("\r\n\r\n");
      if (end < 0) continue;
      const head = pending.slice(0, end);
      const length = Number(head.match(/^content-length: (\d+)/im)?.[1] ?? 0);
      if (pending.length < end + 4 + length) continue;
      const body = pending.slice(end + 4, end + 4 + length);
      pending = pending.slice(end + 4 + length);
      const request = { head, body, nth: requests.length };
      requests.push(request);
      if (await answer(request, write) === "close") return;
    }
  }

  function close(connection: Deno.TcpConn): void {
    open.delete(connection);
    try {
      connection.close();
    } catch {
      // The peer was first.
    }
  }

  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    requests,
    openConnections: () => open.size,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) close(connection);
      await accepting;
      await Promise.all(serving);
    },
  };
}
