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
