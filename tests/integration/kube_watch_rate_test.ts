import { equal, match, ok } from "node:assert/strict";
import { sleep } from "../../lib/base/abort.ts";
import { createClient } from "../../lib/kube/client.ts";
import { followConfigMaps, namespace, never } from "../support/follow_config_maps.ts";
import { startWatchServer, type Trouble } from "../support/watch_server.ts";

Deno.test("whatever a server does to watches, it is asked at most twice in any second", async () => {
  const troubles: Trouble[] = ["end", { cutAfter: 0 }, { cutAfter: 140 }];
  await Promise.all(troubles.map(async (trouble) => {
    await using server = startWatchServer();
    server.set("a", "1");
    server.trouble = (what) => {
      if (what === "list") return undefined;
      server.set("a", "2");
      return trouble;
    };
    await using client = createClient(
      { server: server.url, namespace, source: "the test", credentials: { type: "none" } },
      { userAgent: "test" },
    );
    await using following = followConfigMaps(client);
    await sleep(6_000, never);
    const times = [...server.watches];
    ok(times.length >= 3, `${times}`);
    for (const from of times) {
      const within = times.filter((time) => time >= from && time < from + 1_000);
      ok(within.length <= 2, `${JSON.stringify(trouble)}: ${times}`);
    }
    equal(following.store.size, 1);
  }));
});

Deno.test("watches that are always too late list at most twice in any second", async () => {
  await using server = startWatchServer();
  server.trouble = (what) => {
    server.set("a", "1");
    if (what === "watch") server.forget();
    return undefined;
  };
  await using client = createClient(
    { server: server.url, namespace, source: "the test", credentials: { type: "none" } },
    { userAgent: "test" },
  );
  await using following = followConfigMaps(client);
  await sleep(5_000, never);
  for (const from of server.lists) {
    ok(server.lists.filter((time) => time >= from && time < from + 1_000).length <= 2);
  }
  match(following.warnings.join(), /410/);
});
