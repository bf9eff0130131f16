import assert from "node:assert/strict";
import { formatFinding } from "../base/finding.ts";
import { parseNodeAgentConfig } from "./node_agent_config.ts";

function findingsOf(document: unknown): string[] {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  return parseNodeAgentConfig(text).findings
    .map((finding) => `${finding.severity} ${formatFinding(finding)}`);
}

function valueOf(document: unknown) {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  const parsed = parseNodeAgentConfig(text);
  assert(parsed.ok, JSON.stringify(parsed.findings));
  return parsed.value;
}

const everything = {
  loadConcurrency: {
    globalConfig: 2,
    perNodeConfig: [
      { nodeSelector: { matchLabels: { size: "s" } }, number: 3 },
      {
        nodeSelector: { matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }] },
        number: 5,
      },
    ],
    prepareQueueLength: 10,
  },
  loadAffinity: [
    { nodeSelector: { matchLabels: { a: "b" } } },
    { nodeSelector: { matchLabels: { a: "c" } }, storageClass: "fast" },
  ],
  backupPVC: {
    fast: { storageClass: "copy", readOnly: true, spcNoRelabeling: true, annotations: { x: "y" } },
  },
  restorePVC: { ignoreDelayBinding: true },
  podResources: {
    cpuRequest: "100m",
    memoryRequest: "128Mi",
    cpuLimit: "0",
    memoryLimit: "1Gi",
    ephemeralStorageRequest: "1Gi",
    ephemeralStorageLimit: "2Gi",
  },
  priorityClassName: "high",
  privilegedFsBackup: true,
  cachePVC: { storageClass: "fast", residentThresholdInMB: 1024 },
  podLabels: { l: "1" },
  podAnnotations: { "example.com/a": "2" },
};

Deno.test("a document with every key of Velero 1.18 is read whole, without findings", () => {
  assert.deepEqual(valueOf(everything), everything);
  assert.deepEqual(findingsOf(everything), []);
});

Deno.test("an empty object and null are a configuration without settings", () => {
  for (const document of ["{}", "null", '{"loadConcurrency": null, "podLabels": null}']) {
    assert.deepEqual(valueOf(document), {});
    assert.deepEqual(findingsOf(document), []);
  }
});

Deno.test("keys are known in any case; keys of maps keep theirs", () => {
  assert.deepEqual(
    valueOf('{"LOADCONCURRENCY":{"globalconfig":4},"podLabels":{"App":"x","app":"y"}}'),
    { loadConcurrency: { globalConfig: 4 }, podLabels: { App: "x", app: "y" } },
  );
});

Deno.test("the last of equal keys counts, and the others are told with their place", () => {
  const document = '{"loadConcurrency":\n{"globalConfig":2,\n"GlobalConfig":7}}';
  assert.deepEqual(valueOf(document), { loadConcurrency: { globalConfig: 7 } });
  assert.deepEqual(findingsOf(document), [
    "warning loadConcurrency.globalConfig (line 2, column 2): this key is repeated in line 3, " +
    "where the value that counts stands",
  ]);
});

Deno.test("an unknown key is told with its place, and with what was likely meant", () => {
  assert.deepEqual(findingsOf('{\n  "loadConcurency": {},\n  "x y": 1}'), [
    "warning loadConcurency (line 2, column 3): this key is not known and is ignored; " +
    'is "loadConcurrency" meant?',
    'warning ["x y"] (line 3, column 3): this key is not known and is ignored',
  ]);
});

Deno.test("all wrong types are found at once, and there is no value", () => {
  const document = `{
    "loadConcurrency": {"globalConfig": "2", "perNodeConfig": [{"number": 1.0}, 7]},
    "podLabels": ["a"],
    "restorePVC": {"ignoreDelayBinding": "yes"},
    "cachePVC": {"residentThresholdInMB": 9223372036854775808}
  }`;
  assert.equal(parseNodeAgentConfig(document).ok, false);
  assert.deepEqual(findingsOf(document).filter((text) => text.startsWith("error")), [
    'error loadConcurrency.globalConfig (line 2, column 41): must be a whole number, not the text "2"',
    "error loadConcurrency.perNodeConfig[0].number (line 2, column 75): must be a whole number, not 1.0",
    "error loadConcurrency.perNodeConfig[1] (line 2, column 81): must be an object, not 7",
    "error podLabels (line 3, column 18): must be an object, not a list",
    'error restorePVC.ignoreDelayBinding (line 4, column 42): must be true or false, not the text "yes"',
    "error cachePVC.residentThresholdInMB (line 5, column 43): must be a whole number, not 9223372036854775808",
  ]);
});

Deno.test("a document that is a list, or no JSON, has no value", () => {
  assert.deepEqual(findingsOf("[]"), ["error line 1, column 1: must be an object, not a list"]);
  assert.deepEqual(findingsOf('{"loadConcurrency": {"globalConfig: 2}}'), [
    "error line 1, column 22: this is not JSON: the string has no closing quote before the text ends",
  ]);
});

Deno.test("rules and numbers without effect are told", () => {
  const document = {
    loadConcurrency: {
      globalConfig: 0,
      perNodeConfig: [
        { nodeSelector: { matchLabels: { size: "s" } }, number: 0 },
        { nodeSelector: { matchExpressions: [{ key: "zone", operator: "Near" }] }, number: 2 },
        { nodeSelector: { matchLabels: { "bad key": "x" } } },
        { nodeSelector: {}, number: 4 },
      ],
      prepareQueueLength: -1,
    },
  };
  assert.deepEqual(findingsOf(document).map((text) => text.replace(/ \(line.*?\)/, "")), [
    "warning loadConcurrency.globalConfig: 0 is not above 0; 1 is used",
    "warning loadConcurrency.perNodeConfig[0]: this rule counts for no node: " +
    "its number 0 is not above 0",
    "warning loadConcurrency.perNodeConfig[1]: this rule counts for no node: " +
    'nodeSelector.matchExpressions[0]: unknown operator "Near"',
    "warning loadConcurrency.perNodeConfig[2]: this rule counts for no node: " +
    'nodeSelector.matchLabels["bad key"]: "bad key" is not a label key (letters, digits, "-", ' +
    '"_" and "." only); it has no number',
    "info loadConcurrency.perNodeConfig[3]: an empty nodeSelector matches every node",
    "info loadConcurrency.prepareQueueLength: -1 sets no limit; a limit is a number above 0",
  ]);
});

Deno.test("podResources that are not whole count for nothing, and what is missing is named", () => {
  const partial = findingsOf('{\n "podResources": {"memoryLimit": "1Gi"}}');
  assert.equal(partial.length, 1);
  assert.match(
    partial[0] ?? "",
    /^warning podResources \(line 2, column 18\): nothing of it is used, because cpuRequest, memoryRequest, cpuLimit are missing .*effective: mover pods without requests and limits$/,
  );
  assert.match(
    findingsOf({ podResources: {} })[0] ?? "",
    /cpuRequest, memoryRequest, cpuLimit, memoryLimit are missing/,
  );
  const whole = { cpuRequest: "1", memoryRequest: "1Gi", cpuLimit: "2", memoryLimit: "2Gi" };
  assert.match(
    findingsOf({ podResources: { ...whole, cpuLimit: "two" } })[0] ?? "",
    /cpuLimit: "two" is not a quantity/,
  );
  assert.match(
    findingsOf({ podResources: { ...whole, cpuRequest: "2100m" } })[0] ?? "",
    /because cpuRequest is above cpuLimit/,
  );
  assert.deepEqual(findingsOf({ podResources: { ...whole, cpuRequest: "9", cpuLimit: "0" } }), []);
  assert.deepEqual(findingsOf({ podResources: whole }), []);
});

Deno.test("of affinities for the same class only the first counts, and the others are told", () => {
  const nodeSelector = { matchLabels: { a: "b" } };
  const document = {
    loadAffinity: [
      { nodeSelector },
      { nodeSelector },
      { nodeSelector, storageClass: "fast" },
      { nodeSelector, storageClass: "fast" },
      { nodeSelector: { matchExpressions: [{ key: "a", operator: "In" }] }, storageClass: "slow" },
    ],
  };
  assert.deepEqual(findingsOf(document).map((text) => text.replace(/ \(line.*?\)/, "")), [
    "warning loadAffinity[1]: this element is ignored: of those without a storageClass only the " +
    "first one counts",
    'warning loadAffinity[3]: this element is ignored: of those for class "fast" only the first ' +
    "one counts",
    "warning loadAffinity[4].nodeSelector: matchExpressions[0]: operator In needs values",
  ]);
});

Deno.test("a cache volume without a storage class is no cache volume", () => {
  assert.match(findingsOf({ cachePVC: {} })[0] ?? "", /storageClass is missing/);
});
