// The controller's calls of CSI: volumes and snapshots are made and deleted.
import { chmodSync, existsSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { refusal, run, status } from "./store.mjs";

const capabilities = [
  "CREATE_DELETE_VOLUME",
  "CREATE_DELETE_SNAPSHOT",
  "LIST_SNAPSHOTS",
  "LIST_VOLUMES",
  "CLONE_VOLUME",
  "SINGLE_NODE_MULTI_WRITER",
];

export function controller({ volumes, snapshots }) {
  return {
    ControllerGetCapabilities: () => ({
      capabilities: capabilities.map((type) => ({ rpc: { type } })),
    }),
    CreateVolume: (request) => ({ volume: volumeAnswer(createVolume(request)) }),
    DeleteVolume: ({ volume_id }) => {
      volumes.delete(volume_id);
      return {};
    },
    ValidateVolumeCapabilities: ({ volume_id, volume_capabilities }) => {
      volumes.find(volume_id);
      return { confirmed: { volume_capabilities } };
    },
    ListVolumes: () => ({
      entries: volumes.all().map((volume) => ({ volume: volumeAnswer(volume) })),
    }),
    CreateSnapshot: (request) => ({ snapshot: snapshotAnswer(createSnapshot(request)) }),
    DeleteSnapshot: ({ snapshot_id }) => {
      snapshots.delete(snapshot_id);
      return {};
    },
    ListSnapshots: (request) => ({
      entries: snapshots.all()
        .filter(({ id }) => !request.snapshot_id || id === request.snapshot_id)
        .filter(({ source }) => !request.source_volume_id || source === request.source_volume_id)
        .map((snapshot) => ({ snapshot: snapshotAnswer(snapshot) })),
    }),
  };

  function createVolume({ name, capacity_range, volume_capabilities, volume_content_source }) {
    const id = volumes.idOf(name);
    const size = capacity_range?.required_bytes || 1 << 20;
    const old = volumes.get(id);
    if (old !== undefined) {
      if (old.size >= size) return old;
      throw refusal(status.ALREADY_EXISTS, `volume "${name}" exists with another size`);
    }
    const block = volume_capabilities.some(({ access_type }) => access_type === "block");
    const content = volume_content_source?.type ? volume_content_source : undefined;
    const volume = { id, block, size, content };
    volumes.clear(id);
    if (content !== undefined) copyFrom(sourceOf(content), volume);
    else if (!block) {
      mkdirSync(volumes.content(volume));
      chmodSync(volumes.content(volume), 0o777);
    }
    if (block) {
      const file = volumes.content(volume);
      if (!existsSync(file)) writeFileSync(file, "");
      truncateSync(file, size);
    }
    volumes.put(volume);
    return volume;
  }

  function sourceOf({ type, snapshot, volume }) {
    const [shelf, id] = type === "snapshot"
      ? [snapshots, snapshot.snapshot_id]
      : [volumes, volume.volume_id];
    const entry = shelf.find(id);
    return { ...entry, path: shelf.content(entry) };
  }

  function copyFrom(source, volume) {
    if (source.block !== volume.block) {
      throw refusal(status.INVALID_ARGUMENT, "the volume's mode differs from the source's");
    }
    if (source.size > volume.size) {
      throw refusal(status.OUT_OF_RANGE, "the volume is smaller than its source");
    }
    copy(source.path, volumes.content(volume));
  }

  function createSnapshot({ name, source_volume_id }) {
    const id = snapshots.idOf(name);
    const old = snapshots.get(id);
    if (old !== undefined) {
      if (old.source === source_volume_id) return old;
      throw refusal(status.ALREADY_EXISTS, `snapshot "${name}" exists, of another volume`);
    }
    const volume = volumes.find(source_volume_id);
    const { block, size } = volume;
    const snapshot = { id, source: volume.id, block, size, atMs: Date.now() };
    snapshots.clear(id);
    copy(volumes.content(volume), snapshots.content(snapshot));
    snapshots.put(snapshot);
    return snapshot;
  }
}

function copy(from, to) {
  run("cp", "-a", "--sparse=always", "--reflink=auto", from, to);
}

function volumeAnswer({ id, size, content }) {
  return { volume_id: id, capacity_bytes: size, volume_context: {}, content_source: content };
}

function snapshotAnswer({ id, source, size, atMs }) {
  return {
    snapshot_id: id,
    source_volume_id: source,
    size_bytes: size,
    creation_time: { seconds: Math.floor(atMs / 1000), nanos: 0 },
    ready_to_use: true,
  };
}
