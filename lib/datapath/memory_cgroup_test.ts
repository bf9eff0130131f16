import assert from "node:assert/strict";
import { tempFolder } from "../../tests/support/temp.ts";
import { countMemoryKills, readMemoryLimit } from "./memory_cgroup.ts";

async function places(files: Readonly<Record<string, string>>) {
  const folder = tempFolder("cgroup");
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder.path}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder.path}/${name}`, text);
  }
  return { folder, places: { membership: `${folder.path}/self`, root: `${folder.path}/fs` } };
}

const v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
const v2 = "low 0\nhigh 0\nmax 5\noom 2\noom_kill 7\noom_group_kill 1\n";

const cases = [
  { name: "v2 at its own path", self: "0::/pod/x", file: "fs/pod/x/memory.events", text: v2, n: 7 },
  { name: "v2 seen from inside", self: "0::/host/x", file: "fs/memory.events", text: v2, n: 7 },
  {
    name: "v1 beside an empty v2 line",
    self: "0::/\n4:cpu,memory:/a/b",
    file: "fs/memory/a/b/memory.oom_control",
    text: v1,
    n: 3,
  },
  {
    name: "v1 seen from inside",
    self: "4:memory:/host/path",
    file: "fs/memory/memory.oom_control",
    text: v1,
    n: 3,
  },
  { name: "nothing readable", self: "nonsense", file: "fs/other", text: "", n: 0 },
];

for (const { name, self, file, text, n } of cases) {
  Deno.test(`the number of memory kills is found: ${name}`, async () => {
    const at = await places({ self, [file]: text });
    using _ = at.folder;
    assert.equal(await countMemoryKills(at.places), n);
  });
}

const limits = [
  {
    name: "v2",
    self: "0::/pod/x",
    file: "fs/pod/x/memory.max",
    text: "536870912\n",
    bytes: 536870912,
  },
  {
    name: "v2 without one",
    self: "0::/pod/x",
    file: "fs/pod/x/memory.max",
    text: "max\n",
    bytes: undefined,
  },
  {
    name: "v1",
    self: "4:memory:/a",
    file: "fs/memory/a/memory.limit_in_bytes",
    text: "1073741824\n",
    bytes: 1073741824,
  },
  {
    name: "v1 without one",
    self: "4:memory:/a",
    file: "fs/memory/a/memory.limit_in_bytes",
    text: "9223372036854771712\n",
    bytes: undefined,
  },
];

for (const { name, self, file, text, bytes } of limits) {
  Deno.test(`the memory limit of the container is found: ${name}`, async () => {
    const at = await places({ self, [file]: text });
    using _ = at.folder;
    assert.equal(await readMemoryLimit(at.places), bytes);
  });
}
