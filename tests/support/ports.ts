/**
 * Free loopback ports, all different. They lie below the range from which the kernel draws the ports
 * of outgoing connections, so that none of those takes one before its server is up.
 */
export function freePorts(count: number): number[] {
  const listeners: Deno.Listener[] = [];
  try {
    while (listeners.length < count) {
      const port = 20_000 + Math.floor(Math.random() * 12_000);
      try {
        listeners.push(Deno.listen({ hostname: "127.0.0.1", port }));
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      }
    }
    return listeners.map(({ addr }) => (addr as Deno.NetAddr).port);
  } finally {
    for (const listener of listeners) listener.close();
  }
}
