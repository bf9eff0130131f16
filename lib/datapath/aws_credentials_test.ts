import assert from "node:assert/strict";
import { parseAwsProfile } from "./aws_credentials.ts";

const text = `
# a comment
[default]
aws_access_key_id = AKDEFAULT
aws_secret_access_key=secret/with=signs+

[profile other]\r
AWS_ACCESS_KEY_ID=AKOTHER\r
aws_secret_access_key = s2\r
aws_session_token = token==\r
; another comment
[role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[half]
aws_access_key_id=AK
`;

Deno.test("the keys of a profile are read, also from Windows and config file forms", () => {
  assert.deepEqual(parseAwsProfile(text, "default"), {
    found: "keys",
    keys: { accessKeyId: "AKDEFAULT", secretAccessKey: "secret/with=signs+" },
  });
  assert.deepEqual(parseAwsProfile(text, "other"), {
    found: "keys",
    keys: { accessKeyId: "AKOTHER", secretAccessKey: "s2", sessionToken: "token==" },
  });
});

Deno.test("a profile that assumes a role is told apart from a missing one", () => {
  assert.deepEqual(parseAwsProfile(text, "role"), { found: "unsupported", setting: "role_arn" });
  const profiles = ["default", "other", "role", "half"];
  assert.deepEqual(parseAwsProfile(text, "absent"), { found: "nothing", profiles });
  assert.deepEqual(parseAwsProfile(text, "half"), { found: "nothing", profiles });
  assert.deepEqual(parseAwsProfile("nonsense", "default"), { found: "nothing", profiles: [] });
});
