import assert from "node:assert/strict";
import { type AwsAccess, awsAccess } from "./aws_credentials.ts";

const file = `
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
[chained]
role_arn = arn:aws:iam::2:role/y
source_profile = role
role_session_name = me
duration_seconds = 7200
external_id = id-1
[of-itself]
role_arn = arn:aws:iam::3:role/z
source_profile = of-itself
aws_access_key_id = AKITSELF
aws_secret_access_key = s3
[circle-a]
role_arn = a
source_profile = circle-b
[circle-b]
role_arn = b
source_profile = circle-a
[web]
role_arn = arn:aws:iam::4:role/w
web_identity_token_file = /var/run/token
[from-environment]
role_arn = e
credential_source = Environment
[machine]
role_arn = m
credential_source = Ec2InstanceMetadata
[rootless]
role_arn = r
[process]
credential_process = /bin/keys
[sso]
sso_session = x
[mfa]
role_arn = m
source_profile = default
mfa_serial = 1
[half]
aws_access_key_id=AK
`;

const keys = { accessKeyId: "AKDEFAULT", secretAccessKey: "secret/with=signs+" };
const role = { arn: "arn:aws:iam::1:role/x", sessionName: "longshore" };
const own = { AWS_ACCESS_KEY_ID: "AKENV", AWS_SECRET_ACCESS_KEY: "s4" };
const ownKeys = { accessKeyId: "AKENV", secretAccessKey: "s4" };
const web = { AWS_ROLE_ARN: "arn", AWS_WEB_IDENTITY_TOKEN_FILE: "/t", AWS_REGION: "eu-west-1" };
const unsupported = (profile: string, setting: string) => ({ by: "unsupported", setting, profile });

interface Case {
  readonly name: string;
  readonly profile?: string;
  readonly file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly want: AwsAccess | ReturnType<typeof unsupported>;
}

const cases: readonly Case[] = [
  { name: "static keys", file, want: { by: "keys", keys, roles: [] } },
  {
    name: "a session token, in Windows' and the config file's form",
    ...{ file, profile: "other" },
    want: {
      by: "keys",
      keys: { accessKeyId: "AKOTHER", secretAccessKey: "s2", sessionToken: "token==" },
      roles: [],
    },
  },
  {
    name: "a role by another profile's keys",
    ...{ file, profile: "role" },
    want: { by: "keys", keys, roles: [role] },
  },
  {
    name: "a role by a role, with all its settings",
    ...{ file, profile: "chained" },
    want: {
      by: "keys",
      keys,
      roles: [role, {
        arn: "arn:aws:iam::2:role/y",
        sessionName: "me",
        seconds: 7200,
        externalId: "id-1",
      }],
    },
  },
  {
    name: "a role by the keys beside it",
    ...{ file, profile: "of-itself" },
    want: {
      by: "keys",
      keys: { accessKeyId: "AKITSELF", secretAccessKey: "s3" },
      roles: [{ arn: "arn:aws:iam::3:role/z", sessionName: "longshore" }],
    },
  },
  {
    name: "roles in a circle",
    ...{ file, profile: "circle-a" },
    want: unsupported("circle-a", "source_profile (a circle)"),
  },
  {
    name: "a web identity of a profile",
    ...{ file, profile: "web", environment: { AWS_REGION: "eu-west-1" } },
    want: {
      by: "itself",
      environment: {
        AWS_ROLE_ARN: "arn:aws:iam::4:role/w",
        AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/token",
        AWS_ROLE_SESSION_NAME: "longshore",
        AWS_REGION: "eu-west-1",
      },
    },
  },
  {
    name: "a role by the environment's keys",
    ...{ file, profile: "from-environment", environment: own },
    want: { by: "keys", keys: ownKeys, roles: [{ arn: "e", sessionName: "longshore" }] },
  },
  {
    name: "a role by the machine",
    ...{ file, profile: "machine" },
    want: unsupported("machine", "credential_source = Ec2InstanceMetadata"),
  },
  {
    name: "a role by nothing",
    ...{ file, profile: "rootless" },
    want: unsupported("rootless", "role_arn (without source_profile)"),
  },
  {
    name: "a process",
    ...{ file, profile: "process" },
    want: unsupported("process", "credential_process"),
  },
  { name: "a sign-on", ...{ file, profile: "sso" }, want: unsupported("sso", "sso_session") },
  { name: "a second factor", ...{ file, profile: "mfa" }, want: unsupported("mfa", "mfa_serial") },
  {
    name: "the file before a web identity",
    ...{ file, environment: web },
    want: { by: "keys", keys, roles: [] },
  },
  {
    name: "a file that says nothing, with a web identity",
    ...{ file: "[default]\nregion = eu-west-1\n", environment: web },
    want: { by: "itself", environment: web },
  },
  {
    name: "no such profile",
    ...{ file: "[default]\n[b]\n", profile: "absent" },
    want: { by: "nothing", profiles: ["default", "b"] },
  },
  {
    name: "half of the keys",
    ...{ file: "[half]\naws_access_key_id=AK", profile: "half" },
    want: { by: "nothing", profiles: ["half"] },
  },
  {
    name: "quotes, comments behind values, and colons",
    file:
      "[default] # main\naws_access_key_id: \"AK\" # mine\naws_secret_access_key='a#b;c'\t; its key",
    want: { by: "keys", keys: { accessKeyId: "AK", secretAccessKey: "a#b;c" }, roles: [] },
  },
  { name: "nonsense", file: "nonsense", want: { by: "nothing", profiles: [] } },
  {
    name: "the environment's keys before its web identity",
    environment: { ...web, ...own },
    want: { by: "keys", keys: ownKeys, roles: [] },
  },
  { name: "a web identity", environment: web, want: { by: "itself", environment: web } },
  {
    name: "a container's role",
    environment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://x/", OTHER: "y" },
    want: { by: "itself", environment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://x/" } },
  },
  { name: "the machine's role", want: { by: "itself", environment: {} } },
  {
    name: "a machine that is not to be asked",
    environment: { AWS_EC2_METADATA_DISABLED: "TRUE" },
    want: { by: "nothing", profiles: [] },
  },
];

for (const { name, file, profile = "default", environment = {}, want } of cases) {
  Deno.test(`the way into AWS: ${name}`, () => {
    assert.deepEqual(awsAccess({ ...(file && { file }), profile, environment }), want);
  });
}
