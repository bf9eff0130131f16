/**
 * Finding a volume's folder on the node, `<host pods>/<pod uid>/volumes/<plugin>/<folder>[/mount]`.
 * Everything below the root is treated as hostile: no step of the way may be a symbolic link, and a
 * name may not be more than one path segment.
 */
import { join } from "node:path";
import { messageOf, MovementError } from "../base/error.ts";
import type { VolumeFolder } from "./pod_volume.ts";

export interface HostPathQuestion extends VolumeFolder {
  /** The folder that holds a folder for each pod of the node, `/host_pods` in a container. */
  readonly root: string;
  readonly podUid: string;
}

/** The absolute path of the volume's folder. Throws `MovementError` when there is not exactly one. */
export async function hostPath(question: HostPathQuestion): Promise<string> {
  const { root, podUid, folder, inner } = question;
  requireSegment("the pod's uid", podUid);
  requireSegment("the volume's folder", folder);
  await requireFolder(root, "the host pods folder");
  const pod = await requireFolder(join(root, podUid), "the pod's folder");
  const volumes = await requireFolder(join(pod, "volumes"), "the pod's volumes folder");
  const matches: string[] = [];
  for (const plugin of await folderNames(volumes)) {
    const path = join(volumes, plugin, folder);
    if (await kindOf(path) !== "absent") matches.push(path);
  }
  const [match, ...others] = matches;
  if (match === undefined) throw missing(`no folder "${folder}" below any plugin of "${volumes}"`);
  if (others.length > 0) {
    throw new MovementError(
      "HostPathAmbiguous",
      `Expected one folder "${folder}" below "${volumes}", found ${matches.length}: ` +
        matches.map((path) => `"${path}"`).join(", "),
    );
  }
  await requireFolder(match, "the volume's folder");
  return inner === undefined ? match : requireFolder(join(match, inner), "the volume's mount");
}

function requireSegment(what: string, text: string): void {
  if (text !== "" && text !== "." && text !== ".." && !/[/\0]/.test(text)) return;
  throw new MovementError(
    "HostPathUnsafe",
    `${what} ${JSON.stringify(text)} is not a plain file name`,
  );
}

async function requireFolder(path: string, what: string): Promise<string> {
  const kind = await kindOf(path);
  if (kind === "folder") return path;
  if (kind === "absent") throw missing(`${what} "${path}" does not exist`);
  throw new MovementError(
    "HostPathUnsafe",
    `${what} "${path}" is a ${kind}, not a folder, and is not followed`,
  );
}

function missing(what: string): MovementError {
  return new MovementError(
    "HostPathMissing",
    `Cannot find the volume on this node: ${what}; check that the agent's host-pods volume is the ` +
      '"pods" folder of the kubelet, with mountPropagation HostToContainer',
  );
}

async function kindOf(path: string): Promise<"absent" | "folder" | "symbolic link" | "file"> {
  try {
    const { isDirectory, isSymlink } = await Deno.lstat(path);
    return isSymlink ? "symbolic link" : isDirectory ? "folder" : "file";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return "absent";
    }
    throw unreadable(path, error);
  }
}

async function folderNames(path: string): Promise<string[]> {
  try {
    const names: string[] = [];
    for await (const { name, isDirectory } of Deno.readDir(path)) if (isDirectory) names.push(name);
    return names.sort();
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): MovementError {
  return new MovementError(
    "VolumeReadError",
    `Cannot look at "${path}": ${messageOf(error)}; the agent must run as root on the node`,
    { cause: error },
  );
}
