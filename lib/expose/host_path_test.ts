import assert from "node:assert/strict";
import { join } from "node:path";
import { MovementError } from "../base/error.ts";
import type { Reason } from "../base/reason.ts";
import { hostPath } from "./host_path.ts";

const podUid = "0b7b2f4e-0000-4000-8000-000000000001";

/** A host pods folder with the given folders below it, removed afterwards. */
async function withRoot(folders: string[], run: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const folder of folders) await Deno.mkdir(join(root, folder), { recursive: true });
    await run(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function refused(run: Promise<string>, reason: Reason, text: RegExp): Promise<void> {
  await assert.rejects(run, (error) => {
    assert.ok(error instanceof MovementError, String(error));
    assert.equal(error.reason, reason);
    assert.match(error.message, text);
    return true;
  });
}

Deno.test("an emptyDir is found below its plugin", () =>
  withRoot([`${podUid}/volumes/kubernetes.io~empty-dir/data`], async (root) => {
    assert.equal(
      await hostPath({ root, podUid, folder: "data" }),
      join(root, podUid, "volumes/kubernetes.io~empty-dir/data"),
    );
  }));

Deno.test("a CSI volume is its mount folder", () =>
  withRoot([`${podUid}/volumes/kubernetes.io~csi/pv1/mount`], async (root) => {
    const path = await hostPath({ root, podUid, folder: "pv1", inner: "mount" });
    assert.ok(path.endsWith("kubernetes.io~csi/pv1/mount"));
  }));

Deno.test("an absent root, pod, volume or mount is missing, and the message says which", async () => {
  await refused(
    hostPath({ root: "/does/not/exist", podUid, folder: "d" }),
    "HostPathMissing",
    /host pods/,
  );
  await withRoot([`${podUid}/volumes/kubernetes.io~csi/pv1`], async (root) => {
    await refused(
      hostPath({ root, podUid: "other", folder: "d" }),
      "HostPathMissing",
      /"[^"]*\/other"/,
    );
    await refused(hostPath({ root, podUid, folder: "pv2" }), "HostPathMissing", /"pv2"/);
    const mount = hostPath({ root, podUid, folder: "pv1", inner: "mount" });
    await refused(mount, "HostPathMissing", /the volume's mount/);
  });
});

Deno.test("two plugins with the same folder are ambiguous", () =>
  withRoot([`${podUid}/volumes/a/data`, `${podUid}/volumes/b/data`], async (root) => {
    await refused(hostPath({ root, podUid, folder: "data" }), "HostPathAmbiguous", /found 2/);
  }));

for (const link of ["", "/volumes", "/volumes/a/data", "/volumes/a/data/mount"]) {
  Deno.test(`a symbolic link at "<pod>${link}" is not followed`, async () => {
    const outside = await Deno.makeTempDir();
    try {
      await Deno.mkdir(join(outside, "volumes/a/data/mount"), { recursive: true });
      await withRoot([], async (root) => {
        const place = join(root, podUid + link);
        await Deno.mkdir(join(place, ".."), { recursive: true });
        await Deno.symlink(join(outside, link), place);
        const asked = hostPath({ root, podUid, folder: "data", inner: "mount" });
        await refused(asked, "HostPathUnsafe", /symbolic link/);
      });
    } finally {
      await Deno.remove(outside, { recursive: true });
    }
  });
}

Deno.test("a linked plugin folder is passed over", () =>
  withRoot([`${podUid}/volumes/real/other`, "outside/data"], async (root) => {
    await Deno.symlink(join(root, "outside"), join(root, podUid, "volumes/linked"));
    await refused(hostPath({ root, podUid, folder: "data" }), "HostPathMissing", /"data"/);
  }));

for (const name of ["..", ".", "", "a/b", "a\0b"]) {
  Deno.test(`the name ${JSON.stringify(name)} cannot lead out of the pod's folder`, () =>
    withRoot([], async (root) => {
      await refused(hostPath({ root, podUid: name, folder: "data" }), "HostPathUnsafe", /uid/);
      await refused(hostPath({ root, podUid, folder: name }), "HostPathUnsafe", /plain file name/);
    }));
}
