// Packs a folder into an OCI image archive of one layer, without a container engine. The same folder
// gives the same bytes: entries are sorted, belong to root and have no time.
//
//   node build/oci.mjs FOLDER NAME CONFIG ARCHIVE
//
// NAME     what the image is called once it is imported: localhost/longshore:dev
// CONFIG   the "config" of the image as JSON text: {"Entrypoint":["/bin/x"]}
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

const [folder, name, config, archive] = process.argv.slice(2);
if (archive === undefined) {
  console.error("usage: node build/oci.mjs FOLDER NAME CONFIG ARCHIVE");
  process.exit(2);
}
const type = "application/vnd.oci.image";
const platform = { architecture: "amd64", os: "linux" };
// Beside the archive: a rename must not cross file systems, and /tmp may be small.
const work = mkdtempSync(join(dirname(archive), ".oci-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
// Without these Node would end at once and leave the work there.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
const layout = join(work, "layout");
mkdirSync(join(layout, "blobs/sha256"), { recursive: true });

const layer = blob(tar(folder), `${type}.layer.v1.tar`);
const image = blob(
  json({
    ...platform,
    config: JSON.parse(config),
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  }),
  `${type}.config.v1+json`,
);
const manifestType = `${type}.manifest.v1+json`;
const manifest = blob(
  json({ schemaVersion: 2, mediaType: manifestType, config: image, layers: [layer] }),
  manifestType,
);
const annotations = {
  "io.containerd.image.name": name,
  "org.opencontainers.image.ref.name": name.split(":").at(-1),
};
const index = {
  schemaVersion: 2,
  mediaType: `${type}.index.v1+json`,
  manifests: [{ ...manifest, platform, annotations }],
};
writeFileSync(join(layout, "index.json"), JSON.stringify(index));
writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
renameSync(tar(layout), archive);

function tar(source) {
  const file = join(work, "tar");
  const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  const { status } = spawnSync("tar", ["-C", source, ...same, "--format=gnu", "-cf", file, "."], {
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(`cannot pack "${source}": tar gave ${status}`);
    process.exit(1);
  }
  return file;
}

function json(value) {
  const file = join(work, "json");
  writeFileSync(file, JSON.stringify(value));
  return file;
}

/** Moves a file among the blobs; answers what refers to it. */
function blob(file, mediaType) {
  const { size } = statSync(file);
  const hex = sha256(file);
  renameSync(file, join(layout, "blobs/sha256", hex));
  return { mediaType, digest: `sha256:${hex}`, size };
}

function sha256(file) {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(1 << 20);
  const open = openSync(file, "r");
  for (let length; (length = readSync(open, buffer)) > 0;) hash.update(buffer.subarray(0, length));
  closeSync(open);
  return hash.digest("hex");
}
