import type { KubeObject } from "../../lib/kube/object.ts";

/** What is done to an answer: cut after so many bytes, or ended in order and empty. */
export type Trouble = { readonly cutAfter: number } | "end" | undefined;

/** A plain HTTP server that speaks list and watch for ConfigMaps and can cut at any byte. */
export interface WatchServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** `performance.now()` of each request. */
  readonly lists: readonly number[];
  readonly watches: readonly number[];
  /** Is asked before each answer. */
  trouble: (what: "list" | "watch") => Trouble;
  /** What the server has now. */
  objects(): readonly KubeObject[];
  set(name: string, data: string): void;
  remove(name: string): void;
  /** Watches from before now are answered by 410. */
  forget(): void;
}

interface Change {
  readonly type: "ADDED" | "DELETED";
  readonly version: number;
  readonly object: KubeObject;
}

type Write = (text: string) => Promise<void>;

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n" +
  "transfer-encoding: chunked\r\n\r\n";
const lastChunk = "0\r\n\r\n";

/** Starts it on a free port of loopback; one connection carries one answer. */
export function startWatchServer(): WatchServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const held = new Map<string, KubeObject>();
  const history: Change[] = [];
  const lists: number[] = [];
  const watches: number[] = [];
  const serving = new Map<Deno.TcpConn, Promise<void>>();
  let [version, oldest] = [100, 100];
  let news = Promise.withResolvers<void>();

  const note = (type: Change["type"], name: string, data: string) => {
    version++;
    const metadata = { name, namespace: "s", resourceVersion: String(version) };
    const object = { metadata, data: { data } } as KubeObject;
    history.push({ type, version, object });
    if (type === "ADDED") held.set(name, object);
    news.resolve();
    news = Promise.withResolvers();
  };
  const sendList = async (write: Write) => {
    const metadata = { resourceVersion: String(version) };
    await write(chunk({ kind: "ConfigMapList", metadata, items: [...held.values()] }) + lastChunk);
  };
  const sendChanges = async (write: Write, from: number) => {
    if (from < oldest) {
      const object = { kind: "Status", status: "Failure", reason: "Expired", code: 410 };
      return await write(chunk({ type: "ERROR", object }) + lastChunk);
    }
    for (let at = from; !ended;) {
      const change = history.find(({ version }) => version > at);
      if (change === undefined) {
        await news.promise;
      } else {
        await write(chunk({ type: change.type, object: change.object }));
        at = change.version;
      }
    }
  };
  const serve = async (connection: Deno.TcpConn) => {
    const path = await readHead(connection);
    const what = path.includes("watch=true") ? "watch" : "list";
    (what === "list" ? lists : watches).push(performance.now());
    const trouble = server.trouble(what);
    const cutAfter = typeof trouble === "object" ? trouble.cutAfter : Infinity;
    const write = cutting(connection, cutAfter);
    await write(head);
    if (trouble === "end") await write(lastChunk);
    else if (what === "list") await sendList(write);
    else await sendChanges(write, Number(path.match(/resourceVersion=(\d+)/)?.[1]));
  };
  let ended = false;
  const accepting = (async () => {
    for await (const connection of listener) {
      const served = serve(connection).catch(() => {}).finally(() => {
        serving.delete(connection);
        closeQuietly(connection);
      });
      serving.set(connection, served);
    }
  })();
  const server: WatchServer = {
    url: `http://127.0.0.1:${listener.addr.port}`,
    lists,
    watches,
    trouble: () => undefined,
    objects: () => [...held.values()],
    set: (name, data) => note("ADDED", name, data),
    remove(name) {
      if (held.delete(name)) note("DELETED", name, "");
    },
    forget: () => void (oldest = version),
    async [Symbol.asyncDispose]() {
      ended = true;
      listener.close();
      await accepting;
      const rest = [...serving.values()];
      for (const connection of serving.keys()) closeQuietly(connection);
      news.resolve();
      await Promise.all(rest);
    },
  };
  return server;
}

function chunk(value: unknown): string {
  const text = `${JSON.stringify(value)}\n`;
  return `${new TextEncoder().encode(text).length.toString(16)}\r\n${text}\r\n`;
}

/** A write that throws when it has sent `limit` bytes in all. */
function cutting(connection: Deno.TcpConn, limit: number): Write {
  let left = limit;
  return async (text) => {
    const bytes = new TextEncoder().encode(text);
    const part = bytes.subarray(0, Math.min(left, bytes.length));
    for (let at = 0; at < part.length;) at += await connection.write(part.subarray(at));
    left -= part.length;
    if (left <= 0) throw new Error("cut");
  };
}

async function readHead(connection: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(8_192);
  let text = "";
  while (!text.includes("\r\n\r\n")) {
    const read = await connection.read(buffer);
    if (read === null) throw new Error("the client has gone");
    text += new TextDecoder().decode(buffer.subarray(0, read));
  }
  return text.slice(0, text.indexOf("\r\n"));
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // It was closed at the end of the server.
  }
}
