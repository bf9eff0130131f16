export interface CgroupPlaces {
  /** The file that names the cgroups of this process. */
  readonly membership: string;
  /** Where the cgroup file systems are mounted. */
  readonly root: string;
}

const usual: CgroupPlaces = { membership: "/proc/self/cgroup", root: "/sys/fs/cgroup" };

/**
 * How many processes of our memory cgroup the kernel has killed for want of memory (cgroup v1 and
 * v2); 0 where it cannot be read. The same number before and after a SIGKILL tells the kernel's hand
 * from another's.
 */
export async function countMemoryKills(places: CgroupPlaces = usual): Promise<number> {
  for (const file of counterFiles(await read(places.membership), places.root)) {
    const count = (await read(file)).match(/^oom_kill (\d+)$/m)?.[1];
    if (count !== undefined) return Number(count);
  }
  return 0;
}

/** The smallest memory limit of our cgroup in bytes; undefined without one. */
export async function readMemoryLimit(places: CgroupPlaces = usual): Promise<number | undefined> {
  const events = counterFiles(await read(places.membership), places.root);
  const limits: number[] = [];
  for (const file of events) {
    const folder = file.slice(0, file.lastIndexOf("/"));
    const name = file.endsWith(".events") ? "memory.max" : "memory.limit_in_bytes";
    const bytes = Number(await read(`${folder}/${name}`) || NaN);
    if (bytes > 0 && bytes < noLimit) limits.push(bytes);
  }
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** cgroup v1 says "none" by a number near 2^63; no node has as much as this. */
const noLimit = 2 ** 50;

/** Inside a container the membership shows the host's path while the mount shows only our own. */
function counterFiles(membership: string, root: string): string[] {
  return membership.split("\n").flatMap((line) => {
    const [, controllers, path = ""] = line.match(/^\d+:([^:]*):(.*)$/) ?? [];
    if (controllers === "") return [`${root}${path}/memory.events`, `${root}/memory.events`];
    if (!controllers?.split(",").includes("memory")) return [];
    const v1 = `${root}/memory`;
    return [`${v1}${path}/memory.oom_control`, `${v1}/memory.oom_control`];
  });
}

async function read(file: string): Promise<string> {
  return await Deno.readTextFile(file).catch(() => "");
}
