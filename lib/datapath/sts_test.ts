import assert from "node:assert/strict";
import { MovementError } from "../base/error.ts";
import { assumeRole, signed } from "./sts.ts";

const never = new AbortController().signal;
const keys = { accessKeyId: "AKEXAMPLE", secretAccessKey: "the/secret+key" };
const role = {
  arn: "arn:aws:iam::1:role/x",
  sessionName: "longshore",
  seconds: 7200,
  externalId: "id",
};

/** What curl 7.88 --aws-sigv4 made of the same request. */
const recorded = [
  {
    keys,
    names: "content-type;host;x-amz-date",
    signature: "eeb21b41d6cd9cd9a5d8f7532a6626eef586e1db503894f4774524099f03ec07",
  },
  {
    keys: { ...keys, sessionToken: "the/token==" },
    names: "content-type;host;x-amz-date;x-amz-security-token",
    signature: "20da35dcdebea481e77510e0fdbda4c4d32b873f1310bcdccf482634e2853c4b",
  },
];

for (const { keys, names, signature } of recorded) {
  Deno.test(`a request is signed as curl signs it: ${names}`, () => {
    const request = signed({
      url: new URL("http://127.0.0.1:18765"),
      body: "Action=AssumeRole&RoleArn=a%3Ab",
      region: "eu-west-1",
      now: new Date("2026-12-01T14:09:59.123Z"),
    }, keys);
    assert.equal(
      request.headers.get("authorization"),
      "AWS4-HMAC-SHA256 Credential=AKEXAMPLE/20261201/eu-west-1/sts/aws4_request, " +
        `SignedHeaders=${names}, Signature=${signature}`,
    );
    assert.equal(request.headers.get("x-amz-date"), "20261201T140959Z");
  });
}

/** A place that gives one answer, and the questions it got. */
function sts(status: number, text: string) {
  const asked: URLSearchParams[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    asked.push(new URLSearchParams(await request.text()));
    return new Response(text, { status });
  });
  const options = { region: "eu-west-1", endpoint: `http://127.0.0.1:${server.addr.port}` };
  return { asked, options, [Symbol.asyncDispose]: () => server.shutdown() };
}

const credentials = "<AssumeRoleResponse><AssumeRoleResult><Credentials>" +
  "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>new</SecretAccessKey>" +
  "<SessionToken>to+ken==</SessionToken><Expiration>2026-12-01T15:00:00Z</Expiration>" +
  "</Credentials></AssumeRoleResult></AssumeRoleResponse>";

Deno.test("a role's keys are what AWS answers to all that the profile says", async () => {
  await using place = sts(200, credentials);
  assert.deepEqual(await assumeRole({ keys, role }, place.options, never), {
    accessKeyId: "ASIA",
    secretAccessKey: "new",
    sessionToken: "to+ken==",
  });
  assert.deepEqual(Object.fromEntries(place.asked[0] ?? []), {
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: role.arn,
    RoleSessionName: "longshore",
    DurationSeconds: "7200",
    ExternalId: "id",
  });
});

const refusals = [
  {
    text: "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error>",
    says: /role "arn:aws:iam::1:role\/x": AWS says AccessDenied: not you; check .*trust policy/,
  },
  { text: "", says: /AWS says HTTP 403 and no reason; / },
];

for (const { text, says } of refusals) {
  Deno.test(`a refused role is told: ${says.source}`, async () => {
    await using place = sts(403, text);
    await assert.rejects(assumeRole({ keys, role }, place.options, never), (error) => {
      assert(error instanceof MovementError);
      assert.equal(error.reason, "RepositoryAccessDenied");
      assert.match(error.message, says);
      assert(!error.message.includes(keys.secretAccessKey));
      return true;
    });
  });
}

Deno.test("a place that does not answer is told with the cause", async () => {
  const options = { region: "eu-west-1", endpoint: "http://127.0.0.1:9" };
  await assert.rejects(assumeRole({ keys, role }, options, never), (error) => {
    assert(error instanceof MovementError);
    assert.equal(error.reason, "RepositoryUnreachable");
    assert.match(error.message, /"http:\/\/127\.0\.0\.1:9" gives no answer \(.+\)/);
    return true;
  });
});

const unaskable = [
  {
    what: "a region that makes no URL",
    changes: { region: "eu west" },
    reason: "StorageLocationInvalid",
    says: /"https:\/\/sts\.eu west\.amazonaws\.com" is no URL; correct config\.region/,
  },
  {
    what: "a token that no request can carry",
    changes: { token: "the\u201dtoken" },
    reason: "CredentialsMissing",
    says: /keys of its source_profile have characters that no key has/,
  },
];

for (const { what, changes, reason, says } of unaskable) {
  Deno.test(`${what} is told as that, without the secret`, async () => {
    const { region = "eu-west-1", token = "token" } = changes;
    const given = { keys: { ...keys, sessionToken: token }, role };
    await assert.rejects(assumeRole(given, { region }, never), (error) => {
      assert(error instanceof MovementError);
      assert.equal(error.reason, reason);
      assert.match(error.message, says);
      assert(!error.message.includes(token));
      return true;
    });
  });
}

Deno.test("the session's token is not carried on to another place", async () => {
  let carried = 0;
  await using other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    carried++;
    return new Response(credentials);
  });
  const location = `http://127.0.0.1:${other.addr.port}/`;
  await using place = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(null, { status: 307, headers: { location } }),
  );
  const options = { region: "eu-west-1", endpoint: `http://127.0.0.1:${place.addr.port}` };
  await assert.rejects(assumeRole({ keys, role }, options, never), { name: "MovementError" });
  assert.equal(carried, 0);
});

Deno.test("an AWS in trouble is not told as one that refuses", async () => {
  await using place = sts(503, "");
  await assert.rejects(assumeRole({ keys, role }, place.options, never), {
    reason: "RepositoryUnreachable",
    message: /AWS says HTTP 503 and no reason; try again later/,
  });
});
