import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigError, UsageError } from "../lib/base/error.ts";
import type { FlagValues, World } from "./command.ts";
import { listenAddress, serverFlags, serverOptions } from "./server_options.ts";

const defaults: FlagValues = Object.fromEntries(
  serverFlags.map((flag) => [flag.name, flag.default]),
);

function options(flags: FlagValues, env: Readonly<Record<string, string>> = {}) {
  const world: World = {
    version: "0",
    out: () => {},
    err: () => {},
    env: (name) => ({ NODE_NAME: "n1", ...env })[name],
    signal: new AbortController().signal,
  };
  return serverOptions({ ...defaults, ...flags }, world);
}

Deno.test("the defaults are those of the original", async () => {
  const { resourceTimeoutMs, metricsAddress, namespace, logLevel, logFormat } = await options({});
  assert.equal(resourceTimeoutMs, 600_000);
  assert.deepEqual(metricsAddress, { hostname: "", port: 8085 });
  assert.equal(namespace, "velero");
  assert.equal(logLevel, "info");
  assert.equal(logFormat, "text");
});

Deno.test("the namespace comes from the flag, the client's configuration, the environment", async () => {
  const home = await Deno.makeTempDir();
  try {
    const env = { HOME: home, VELERO_NAMESPACE: "from-env" };
    assert.equal((await options({}, env)).namespace, "from-env");
    await Deno.mkdir(join(home, ".config/velero"), { recursive: true });
    const file = join(home, ".config/velero/config.json");
    await Deno.writeTextFile(file, '{"namespace":"from-file"}');
    assert.equal((await options({}, env)).namespace, "from-file");
    assert.equal((await options({ namespace: "from-flag" }, env)).namespace, "from-flag");
    await Deno.writeTextFile(file, "{broken");
    await assert.rejects(options({}, env), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /config\.json" is not JSON; correct or remove it/);
      return true;
    });
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("a node without a name is refused with what to set", async () => {
  await assert.rejects(options({}, { NODE_NAME: "" }), /set NODE_NAME in the pod/);
  assert.equal((await options({ "node-name": "n9" }, { NODE_NAME: "" })).node, "n9");
});

Deno.test("a bad duration names its flag and shows a good one", async () => {
  for (
    const name of ["resource-timeout", "grace", "progress-interval", "data-mover-prepare-timeout"]
  ) {
    await assert.rejects(options({ [name]: "10 minutes" }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, new RegExp(`^--${name}: "10 minutes" is not a duration; .*10m`));
      return true;
    });
  }
  await assert.rejects(options({ grace: "-1s" }), /--grace: a duration below zero/);
});

Deno.test("a duration that no timer can hold is cut to one that it can", async () => {
  const { graceMs, resourceTimeoutMs } = await options({
    "grace": "100000h",
    "resource-timeout": "1000h",
  });
  for (const ms of [graceMs + 8_000, resourceTimeoutMs]) assert.ok(ms > 1e9 && ms < 2 ** 31);
});

Deno.test("flags of later releases are accepted and reported", async () => {
  const { unused } = await options({ "backup-repository-configmap": "a" });
  assert.deepEqual(unused, ["backup-repository-configmap"]);
});

Deno.test("the ConfigMap is named by either spelling, and the right one wins", async () => {
  const none = await options({});
  assert.equal(none.nodeAgentConfigMap, undefined);
  assert.deepEqual([none.hasMisspeltConfigMap, none.strictConfig], [false, false]);
  const right = await options({ "node-agent-configmap": "a", "strict-config": true });
  assert.equal(right.nodeAgentConfigMap, "a");
  assert.deepEqual([right.hasMisspeltConfigMap, right.strictConfig], [false, true]);
  const other = await options({ "node-agent-config": "b" });
  assert.deepEqual([other.nodeAgentConfigMap, other.hasMisspeltConfigMap], ["b", true]);
  const both = await options({ "node-agent-config": "b", "node-agent-configmap": "a" });
  assert.equal(both.nodeAgentConfigMap, "a");
});

Deno.test("a listen address is host:port or :port", () => {
  assert.deepEqual(listenAddress("127.0.0.1:0"), { hostname: "127.0.0.1", port: 0 });
  assert.deepEqual(listenAddress("[::1]:9000"), { hostname: "::1", port: 9000 });
  for (const text of ["8085", "host:", ":99999", ""]) {
    assert.throws(() => listenAddress(text), /host:port or :port/);
  }
});
