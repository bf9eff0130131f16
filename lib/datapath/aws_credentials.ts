/** Static keys for S3. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A role of AWS that is taken on with other keys. */
export interface AwsRole {
  readonly arn: string;
  readonly sessionName: string;
  /** How long the keys are good for; AWS takes an hour when it is not said. */
  readonly seconds?: number;
  readonly externalId?: string;
}

/** How the uploader gets into an S3 store. */
export type AwsAccess =
  /** With these keys, or those of the roles, taken on one with the other in this order. */
  | { readonly by: "keys"; readonly keys: AwsKeys; readonly roles: readonly AwsRole[] }
  /** By itself: from these variables, and it renews what it gets. None: from the machine's own role. */
  | { readonly by: "itself"; readonly environment: Readonly<Record<string, string>> }
  /** A setting asks for what cannot be done. */
  | { readonly by: "unsupported"; readonly setting: string; readonly profile: string }
  | { readonly by: "nothing"; readonly profiles: readonly string[] };

export interface AwsSources {
  /** The text of a shared credentials or config file; absent: only the environment tells. */
  readonly file?: string;
  readonly profile: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables of the agent that say who it is to AWS; none of them is a secret itself. */
export const awsIdentity = [
  ...["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_SESSION_NAME", "AWS_REGION"],
  ...["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"],
  ...["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
] as const;

/**
 * As Velero finds its way: the profile of the file first (static keys, or a role of it), then the
 * environment: keys, a web identity, a container's role, and without a file the machine's own role.
 */
export function awsAccess({ file, profile, environment }: AwsSources): AwsAccess {
  if (file === undefined) {
    const found = fromEnvironment(environment);
    if (found !== undefined) return found;
    const isOff = environment["AWS_EC2_METADATA_DISABLED"]?.toLowerCase() === "true";
    return isOff ? { by: "nothing", profiles: [] } : { by: "itself", environment: {} };
  }
  const profiles = parseIni(file);
  const found = fromProfile({ profiles, environment }, profile, []);
  if (found.by !== "nothing") return found;
  return fromEnvironment(environment) ?? found;
}

interface Known {
  readonly profiles: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
}

/** Nobody is there to answer or to run them. */
const impossible = ["credential_process", "sso_session", "sso_start_url", "mfa_serial"];

function fromProfile(known: Known, profile: string, behind: readonly string[]): AwsAccess {
  const settings = known.profiles.get(profile);
  if (settings === undefined) return { by: "nothing", profiles: [...known.profiles.keys()] };
  const setting = impossible.find((key) => settings.has(key));
  if (setting !== undefined) return { by: "unsupported", setting, profile };
  // A role may name its own profile as the source: the keys beside it.
  if (settings.has("role_arn") && behind.at(-1) !== profile) {
    if (behind.includes(profile)) {
      return { by: "unsupported", setting: "source_profile (a circle)", profile };
    }
    return withRole(known, settings, [...behind, profile]);
  }
  const keys = keysOf((name) => settings.get(name));
  if (keys === undefined) return { by: "nothing", profiles: [...known.profiles.keys()] };
  return { by: "keys", keys, roles: [] };
}

function withRole(
  known: Known,
  settings: ReadonlyMap<string, string>,
  chain: readonly string[],
): AwsAccess {
  const profile = chain.at(-1) ?? "";
  const role = roleOf(settings);
  const tokenFile = settings.get("web_identity_token_file");
  const source = settings.get("source_profile");
  if (tokenFile !== undefined) {
    if (chain.length > 1) {
      return { by: "unsupported", setting: "source_profile (of a web identity)", profile };
    }
    const environment = {
      AWS_ROLE_ARN: role.arn,
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AWS_ROLE_SESSION_NAME: role.sessionName,
    };
    const region = known.environment["AWS_REGION"];
    return { by: "itself", environment: { ...environment, ...(region && { AWS_REGION: region }) } };
  }
  if (source === undefined) return withSource(known, role, { settings, profile });
  const base = fromProfile(known, source, chain);
  return base.by === "keys" ? { ...base, roles: [...base.roles, role] } : base;
}

function withSource(
  { environment, profiles }: Known,
  role: AwsRole,
  { settings, profile }: {
    readonly settings: ReadonlyMap<string, string>;
    readonly profile: string;
  },
): AwsAccess {
  const source = settings.get("credential_source");
  if (source === undefined) {
    return { by: "unsupported", setting: "role_arn (without source_profile)", profile };
  }
  if (source !== "Environment") {
    return { by: "unsupported", setting: `credential_source = ${source}`, profile };
  }
  const keys = keysOf((name) => environment[name.toUpperCase()]);
  if (keys === undefined) return { by: "nothing", profiles: [...profiles.keys()] };
  return { by: "keys", keys, roles: [role] };
}

function roleOf(settings: ReadonlyMap<string, string>): AwsRole {
  const seconds = Number(settings.get("duration_seconds"));
  const externalId = settings.get("external_id");
  return {
    arn: settings.get("role_arn") ?? "",
    sessionName: settings.get("role_session_name") || "longshore",
    ...(seconds >= 900 && { seconds }),
    ...(externalId && { externalId }),
  };
}

function fromEnvironment(environment: Readonly<Record<string, string>>): AwsAccess | undefined {
  const keys = keysOf((name) => environment[name.toUpperCase()]);
  if (keys !== undefined) return { by: "keys", keys, roles: [] };
  const isSomebody = environment["AWS_WEB_IDENTITY_TOKEN_FILE"] ||
    environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] ||
    environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
  if (!isSomebody) return undefined;
  const known = awsIdentity.flatMap((name) => {
    const value = environment[name];
    return value ? [[name, value] as const] : [];
  });
  return { by: "itself", environment: Object.fromEntries(known) };
}

function keysOf(get: (name: string) => string | undefined): AwsKeys | undefined {
  const accessKeyId = get("aws_access_key_id") ?? "";
  const secretAccessKey = get("aws_secret_access_key") ?? "";
  const sessionToken = get("aws_session_token") ?? "";
  if (accessKeyId === "" || secretAccessKey === "") return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== "" && { sessionToken }) };
}

/** Comments behind a value begin with a space; a colon separates as well. */
function parseIni(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const [, name] = line.match(/^\s*\[\s*(?:profile\s+)?([^\]]*?)\s*\]/) ?? [];
    if (name !== undefined) {
      section = sections.get(name) ?? new Map();
      sections.set(name, section);
      continue;
    }
    const [property = ""] = line.split(/[ \t][#;]/, 1);
    const [, key, value] = property.match(/^\s*([^=:\s]+)\s*[=:]\s*(.*?)\s*$/) ?? [];
    if (key !== undefined && value !== undefined) section?.set(key.toLowerCase(), plain(value));
  }
  return sections;
}

/** Without quotes and escapes, as Amazon's own libraries read it. */
function plain(value: string): string {
  const [, , inner = value] = value.match(/^(["'])(.*)\1$/) ?? [];
  return inner.replaceAll('\\"', '"').replaceAll("\\'", "'");
}
