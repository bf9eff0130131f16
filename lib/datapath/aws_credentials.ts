/** Static keys for S3. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export type ParsedProfile =
  | { readonly found: "keys"; readonly keys: AwsKeys }
  /** The profile wants what kopia's command line cannot do, such as `role_arn`. */
  | { readonly found: "unsupported"; readonly setting: string }
  | { readonly found: "nothing"; readonly profiles: readonly string[] };

const dynamic = ["role_arn", "credential_process", "sso_session", "sso_start_url"];

/** Reads one profile of an AWS shared credentials file (or config file: `[profile NAME]`). */
export function parseAwsProfile(text: string, profile: string): ParsedProfile {
  const profiles = parseIni(text);
  const settings = profiles.get(profile);
  if (settings === undefined) return { found: "nothing", profiles: [...profiles.keys()] };
  const setting = dynamic.find((key) => settings.has(key));
  if (setting !== undefined) return { found: "unsupported", setting };
  const accessKeyId = settings.get("aws_access_key_id") ?? "";
  const secretAccessKey = settings.get("aws_secret_access_key") ?? "";
  const sessionToken = settings.get("aws_session_token") ?? "";
  if (accessKeyId === "" || secretAccessKey === "") {
    return { found: "nothing", profiles: [...profiles.keys()] };
  }
  const token = sessionToken === "" ? {} : { sessionToken };
  return { found: "keys", keys: { accessKeyId, secretAccessKey, ...token } };
}

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
    const [, key, value] = line.match(/^\s*([^=\s]+)\s*=\s*(.*?)\s*$/) ?? [];
    if (key !== undefined && value !== undefined) section?.set(key.toLowerCase(), value);
  }
  return sections;
}
