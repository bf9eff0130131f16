import assert from "node:assert/strict";
import { digestOf, readConfigMap } from "./config_map.ts";

const configMap = (data?: Readonly<Record<string, string>>) => ({
  metadata: { namespace: "bk", name: "cfg", resourceVersion: "41" },
  ...(data && { data }),
});
const number = (globalConfig: number) => JSON.stringify({ loadConcurrency: { globalConfig } });

Deno.test("the value of the only key is the configuration, whatever the key's name", () => {
  const { source, config, findings } = readConfigMap(configMap({ "any name": number(4) }));
  assert.deepEqual(config, { loadConcurrency: { globalConfig: 4 } });
  assert.deepEqual(findings, []);
  const { digest, ...rest } = source;
  assert.deepEqual(rest, {
    namespace: "bk",
    name: "cfg",
    key: "any name",
    resourceVersion: "41",
  });
  assert.match(digest ?? "", /^[0-9a-f]{16}$/);
});

Deno.test("several keys are an error that names them all, every time", () => {
  const keys = ["b.json", "a.json"];
  for (let round = 0; round < 50; round++) {
    const data = Object.fromEntries(keys.reverse().map((key, at) => [key, number(2 + 3 * at)]));
    const { source, config, findings } = readConfigMap(configMap(data));
    assert.equal(config, undefined);
    assert.equal(source.key, undefined);
    assert.deepEqual(findings, [{
      severity: "error",
      message: 'ConfigMap "cfg" has 2 keys, "a.json", "b.json", and nothing says which one ' +
        "counts; leave one",
    }]);
  }
});

Deno.test("a ConfigMap without data, or with binaryData alone, is an error that says so", () => {
  assert.match(readConfigMap(configMap()).findings[0]?.message ?? "", /has no data/);
  assert.match(readConfigMap(configMap({})).findings[0]?.message ?? "", /has no data/);
  const binary = { ...configMap(), binaryData: { "a.json": btoa("{}") } };
  assert.match(readConfigMap(binary).findings[0]?.message ?? "", /binaryData only/);
});

Deno.test("binaryData beside the one key of data does not count", () => {
  const both = { ...configMap({ a: number(3) }), binaryData: { b: "" } };
  assert.deepEqual(readConfigMap(both).config, { loadConcurrency: { globalConfig: 3 } });
});

Deno.test("a document that cannot be read keeps its source, and gives no configuration", () => {
  const { source, config, findings } = readConfigMap(configMap({ a: '{"loadConcurrency' }));
  assert.equal(config, undefined);
  assert.equal(source.key, "a");
  assert.deepEqual(findings.map(({ severity, line }) => [severity, line]), [["error", 1]]);
});

Deno.test("the digest is of the data alone, in any order", () => {
  assert.equal(digestOf({ data: { a: "1", b: "2" } }), digestOf({ data: { b: "2", a: "1" } }));
  assert.notEqual(digestOf({ data: { a: "1" } }), digestOf({ data: { a: "2" } }));
  assert.notEqual(digestOf({ data: { a: "1" } }), digestOf({ data: { b: "1" } }));
  assert.equal(digestOf({}), digestOf({ data: {} }));
});
