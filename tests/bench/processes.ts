/** What the kernel counts for a process. */
const ticksPerSecond = 100; // USER_HZ, the same on every Linux that Deno runs on

/** CPU time of a process and of those of its children that have ended and were waited for. */
export function cpuSeconds(pid: number): number {
  const [utime, stime, cutime, cstime] = statOf(pid);
  return (utime + stime + cutime + cstime) / ticksPerSecond;
}

/** CPU time of those of its children alone. */
export function childrensCpuSeconds(pid: number): number {
  const [, , cutime, cstime] = statOf(pid);
  return (cutime + cstime) / ticksPerSecond;
}

/** Resident memory. */
export function residentMiB(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const [, kib] = status.match(/^VmRSS:\s+(\d+) kB$/m) ?? [];
  if (kib === undefined) throw new Error(`process ${pid} has no resident memory: it has ended`);
  return Number(kib) / 1_024;
}

/** Looks at the resident memory every 200 ms until it is disposed. */
export function watchMemory(pid: number): Disposable & { readonly highestMiB: number } {
  let highestMiB = residentMiB(pid);
  const timer = setInterval(() => highestMiB = Math.max(highestMiB, residentMiB(pid)), 200);
  return {
    get highestMiB() {
      return highestMiB;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** utime, stime, cutime, cstime; see proc(5). The program's name before may hold anything. */
function statOf(pid: number): [number, number, number, number] {
  const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
  const at = (field: number) => fields[field] ?? NaN;
  return [at(11), at(12), at(13), at(14)];
}
