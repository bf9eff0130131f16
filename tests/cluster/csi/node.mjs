// The node's calls of CSI: as most drivers do, a volume is mounted once for the node and then bound
// into each pod.
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { attempt, refusal, run, status } from "./store.mjs";

const capabilities = ["STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "SINGLE_NODE_MULTI_WRITER"];

export function node({ volumes }, nodeName) {
  return {
    NodeGetInfo: () => ({ node_id: nodeName, max_volumes_per_node: 0 }),
    NodeGetCapabilities: () => ({
      capabilities: capabilities.map((type) => ({ rpc: { type } })),
    }),
    NodeStageVolume({ volume_id, staging_target_path: target }) {
      const volume = volumes.find(volume_id);
      if (!volume.block && !isMounted(target)) {
        mkdirSync(target, { recursive: true });
        run("mount", "--bind", volumes.content(volume), target);
      }
      return {};
    },
    NodeUnstageVolume({ staging_target_path: target }) {
      unmount(target);
      return {};
    },
    NodePublishVolume({ volume_id, staging_target_path, target_path: target, readonly }) {
      const volume = volumes.find(volume_id);
      if (isMounted(target)) return {};
      if (volume.block) publishDevice(volumes.content(volume), target);
      else publishFolder(staging_target_path, target);
      if (readonly) run("mount", "-o", "remount,bind,ro", target);
      return {};
    },
    NodeUnpublishVolume({ volume_id, target_path: target }) {
      unmount(target);
      const entry = lstatSync(target, { throwIfNoEntry: false });
      if (entry?.isDirectory()) rmdirSync(target); // never recursive: it may still hold data
      else if (entry !== undefined) unlinkSync(target);
      const volume = volumes.get(volume_id);
      if (volume?.block) {
        // The kernel waits for the last user.
        for (const device of loopDevices(volumes.content(volume))) attempt("losetup", "-d", device);
      }
      return {};
    },
    NodeGetVolumeStats({ volume_id, volume_path }) {
      const volume = volumes.get(volume_id);
      if (volume === undefined || !existsSync(volume_path)) {
        throw refusal(status.NOT_FOUND, `there is no "${volume_id}" at "${volume_path}"`);
      }
      return { usage: [{ unit: "BYTES", total: volume.size }] };
    },
  };
}

function publishFolder(from, target) {
  mkdirSync(target, { recursive: true });
  run("mount", "--bind", from, target);
}

function publishDevice(file, target) {
  const device = loopDevices(file)[0] ?? run("losetup", "-f", "--show", file);
  mkdirSync(dirname(target), { recursive: true });
  closeSync(openSync(target, "a"));
  run("mount", "--bind", device, target);
}

function loopDevices(file) {
  return attempt("losetup", "-j", file).split("\n").filter(Boolean)
    .map((line) => line.split(":")[0]);
}

function isMounted(path) {
  return readFileSync("/proc/self/mountinfo", "utf8").split("\n")
    .some((line) => line.split(" ")[4] === path);
}

function unmount(path) {
  while (isMounted(path)) run("umount", path);
}
