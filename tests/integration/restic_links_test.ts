import assert from "node:assert/strict";
import { openResticRestore } from "../../lib/datapath/restic_restore.ts";
import { eventsOf } from "../support/kopia.ts";
import { resticBench } from "../support/restic.ts";
import { tempFolder } from "../support/temp.ts";

/** Writes into what it meets, as a restic older than 0.17 does. */
const oldRestic = `#!/bin/sh
case "$1" in restore) ;; *) exit 0;; esac
echo "restoring <Snapshot> to ."
echo new >top
mkdir -p sub
echo new >sub/file
exit "$(cat code)"
`;

for (const { code, end } of [{ code: 0, end: "completed" }, { code: 1, end: "failed" }]) {
  Deno.test(`no link leads an old restic out of the volume, and the others are back when it ${end}`, async () => {
    using temp = tempFolder("old-restic");
    const program = `${temp.path}/restic`;
    await Deno.writeTextFile(program, oldRestic, { mode: 0o755 });
    await using bench = await resticBench({ program });
    const outside = `${temp.path}/outside`;
    await Deno.mkdir(outside);
    await Deno.writeTextFile(`${outside}/victim`, "not to be touched");
    using target = tempFolder("target");
    const { path } = target;
    await Deno.writeTextFile(`${path}/code`, String(code));
    await Deno.symlink(outside, `${path}/sub`);
    await Deno.symlink(`${outside}/victim`, `${path}/top`);
    await Deno.symlink("/nowhere", `${path}/kept`);
    const order = { snapshotID: "deadbeef", targetPath: path };
    const events = await eventsOf(openResticRestore(bench.session(), order));

    assert.equal(events.at(-1)?.type, end);
    assert.deepEqual([...Deno.readDirSync(outside)].map(({ name }) => name), ["victim"]);
    assert.equal(await Deno.readTextFile(`${outside}/victim`), "not to be touched");
    assert.equal(await Deno.readTextFile(`${path}/sub/file`), "new\n");
    assert.equal(Deno.readLinkSync(`${path}/kept`), "/nowhere");
  });
}
