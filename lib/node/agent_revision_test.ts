import assert from "node:assert/strict";
import { configMapFlag } from "./agent_daemon_set.ts";
import { agentRevision, compareRevisions, readAgentConfig } from "./agent_revision.ts";

const source = { namespace: "bk", name: "cfg", resourceVersion: "12" };
const scrape = (stale: 0 | 1, info = "") =>
  `# HELP longshore_config_stale x\nlongshore_config_stale ${stale}\n${info}`;
const infoOf = (name: string, version: string) =>
  `longshore_config_info{configmap="${name}",key="a.json",resource_version="${version}"} 1\n`;

const cases: readonly (readonly [string, string, string, RegExp])[] = [
  ["the same revision", scrape(0, infoOf("cfg", "12")), "current", /runs with resourceVersion 12$/],
  [
    "an older revision with the same data",
    scrape(0, infoOf("cfg", "9")),
    "current",
    /resourceVersion 9; the data of resourceVersion 12 is the same/,
  ],
  [
    "an older revision",
    scrape(1, infoOf("cfg", "9")),
    "differs",
    /resourceVersion 9, the ConfigMap is at 12; restart/,
  ],
  ["another ConfigMap", scrape(0, infoOf("other", "3")), "differs", /ConfigMap "other"/],
  ["no ConfigMap", scrape(0), "differs", /without a ConfigMap/],
  ["something else", "up 1\n", "unknown", /no agent that tells/],
];

for (const [what, text, state, message] of cases) {
  Deno.test(`an agent that runs with ${what} is ${state}`, () => {
    const revision = compareRevisions(source, readAgentConfig(text));
    assert.equal(revision.state, state);
    assert.match(revision.message, message);
  });
}

Deno.test("an agent is asked for its metrics, and one that cannot be asked is not known", async () => {
  const { signal } = new AbortController();
  let address = "";
  {
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      ({ url }) =>
        url.endsWith("/metrics")
          ? new Response(scrape(0, infoOf("cfg", "12")))
          : new Response("", { status: 404 }),
    );
    address = `127.0.0.1:${server.addr.port}`;
    assert.equal((await agentRevision(address, source, signal)).state, "current");
  }
  const gone = await agentRevision(address, source, signal);
  assert.equal(gone.state, "unknown");
  assert.match(gone.message, new RegExp(`cannot be asked at ${address} from here: .+`));
});

Deno.test("the agents' ConfigMap is read from their flags, in each form", () => {
  const server = ["node-agent", "server"];
  assert.equal(configMapFlag([...server, "--node-agent-configmap=a"]), "a");
  assert.equal(configMapFlag([...server, "--node-agent-configmap", "b", "-n", "x"]), "b");
  assert.equal(configMapFlag([...server, "--node-agent-config=c"]), "c");
  assert.equal(
    configMapFlag([...server, "--node-agent-configmap=a", "--node-agent-configmap=d"]),
    "d",
  );
  assert.equal(configMapFlag([...server, "--node-agent-configmap="]), undefined);
  assert.equal(configMapFlag(server), undefined);
});
