import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { invalid } from "./storage_location.ts";

/** How the uploader gets into an Azure container: variables with secrets, and others. */
export interface AzureAccess {
  readonly keys: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
}

export interface AzureSources {
  /** The credentials file as `parseDotenv` reads it. */
  readonly file: Readonly<Record<string, string>>;
  /** Of the agent: a workload identity's. */
  readonly environment: Readonly<Record<string, string>>;
}

const authorities: Readonly<Record<string, string>> = {
  AZURECHINACLOUD: "https://login.chinacloudapi.cn/",
  AZUREUSGOVERNMENT: "https://login.microsoftonline.us/",
  AZUREUSGOVERNMENTCLOUD: "https://login.microsoftonline.us/",
};

/**
 * As Velero chooses: the account's key (named by `storageAccountKeyEnvVar`, or AZURE_STORAGE_KEY);
 * with `useAAD` a client's secret or certificate, or a workload identity. Throws `MovementError`
 * StorageLocationInvalid for what kopia cannot do.
 */
export function azureAccess(
  location: BackupStorageLocation,
  { file, environment }: AzureSources,
): AzureAccess {
  const { config = {} } = location.spec;
  const named = config["storageAccountKeyEnvVar"];
  const key = file[named || "AZURE_STORAGE_KEY"];
  if (key) return { keys: { AZURE_STORAGE_KEY: key }, environment: {} };
  if (named) {
    throw invalid(
      location,
      `config.storageAccountKeyEnvVar names "${named}", which its credentials do not have`,
      "add it to them",
    );
  }
  if (!/^(1|t|true)$/i.test(config["useAAD"] ?? "")) {
    throw invalid(
      location,
      'without config.useAAD "true" the account\'s key would have to be fetched by the management ' +
        "API, which is not supported",
      "set config.useAAD and give its identity the role Storage Blob Data Contributor, or put the " +
        "key into the credentials and set config.storageAccountKeyEnvVar",
    );
  }
  return identity(location, { file, environment });
}

function identity(
  location: BackupStorageLocation,
  { file, environment }: AzureSources,
): AzureAccess {
  const unsupported = (name: string) =>
    invalid(
      location,
      `its credentials have ${name}, which kopia cannot use`,
      "use AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE, a workload identity, or the account's key " +
        "with config.storageAccountKeyEnvVar",
    );
  const secret = file["AZURE_CLIENT_SECRET"];
  const certificate = file["AZURE_CLIENT_CERTIFICATE"];
  if (!secret) {
    const other = [
      "AZURE_CLIENT_CERTIFICATE_PATH",
      "AZURE_CLIENT_CERTIFICATE_PASSWORD",
      "AZURE_USERNAME",
    ]
      .find((name) => file[name]);
    if (other !== undefined) throw unsupported(other);
  }
  const tokenFile = environment["AZURE_FEDERATED_TOKEN_FILE"];
  // A workload identity's names come from the pod's environment; the file may say them as well.
  const from = secret || certificate ? file : { ...environment, ...file };
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client } = from;
  if (!tenant || !client) {
    throw invalid(
      location,
      "config.useAAD is set, but its credentials lack AZURE_TENANT_ID or AZURE_CLIENT_ID",
      "add them; a managed identity without them is not supported: use a workload identity",
    );
  }
  const authority = authorityOf(location, file) ?? environment["AZURE_AUTHORITY_HOST"];
  const who = {
    AZURE_TENANT_ID: tenant,
    AZURE_CLIENT_ID: client,
    ...(authority && { AZURE_AUTHORITY_HOST: authority }),
  };
  if (secret) return { keys: { AZURE_CLIENT_SECRET: secret }, environment: who };
  if (certificate) return { keys: { AZURE_CLIENT_CERTIFICATE: certificate }, environment: who };
  if (tokenFile) {
    return { keys: {}, environment: { ...who, AZURE_FEDERATED_TOKEN_FILE: tokenFile } };
  }
  throw invalid(
    location,
    "config.useAAD is set, but there is neither AZURE_CLIENT_SECRET in its credentials nor a " +
      "workload identity (AZURE_FEDERATED_TOKEN_FILE), and a managed identity is not supported",
    "provide one of them",
  );
}

function authorityOf(
  { spec }: BackupStorageLocation,
  file: Readonly<Record<string, string>>,
): string | undefined {
  return spec.config?.["activeDirectoryAuthorityURI"] ||
    authorities[file["AZURE_CLOUD_NAME"]?.toUpperCase() ?? ""];
}

/** Variables from lines of NAME=value; values may be quoted, in double quotes with \n. */
export function parseDotenv(text: string): Readonly<Record<string, string>> {
  const line =
    /^\s*(?:export[ \t]+)?([\w.]+)[ \t]*[=:][ \t]*("(?:[^"\\]|\\[^])*"|'[^']*'|[^\r\n]*)/gm;
  const found: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(line)) {
    if (name !== undefined && value !== undefined) found[name] = plain(value);
  }
  return found;
}

function plain(value: string): string {
  if (/^".*"$/s.test(value)) {
    return value.slice(1, -1).replace(/\\([^])/g, (_, c: string) => c === "n" ? "\n" : c);
  }
  if (/^'.*'$/s.test(value)) return value.slice(1, -1);
  return value.replace(/\s+#.*$/, "").trim();
}
