import { posix } from "node:path";
import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { bucketOf, decodeCaCert, invalid, prefixOf, storeOf } from "./storage_location.ts";

interface Bucket {
  readonly bucket: string;
  /** Ends with a slash. */
  readonly prefix: string;
  /** PEM certificates. */
  readonly caCerts?: string;
}

/** Where a repository is, without anything secret. */
export type RepositoryParameters =
  | { readonly store: "filesystem"; readonly path: string }
  | Bucket & {
    readonly store: "s3";
    /** Host, and port where it is not the usual one. */
    readonly endpoint: string;
    readonly region?: string;
    readonly plainHttp: boolean;
    readonly skipVerify: boolean;
  }
  | Bucket & {
    readonly store: "azure";
    readonly account: string;
    /** What follows the account in the host's name. */
    readonly domain: string;
  }
  | Bucket & { readonly store: "gcs" };

export interface LocationSecrets {
  /** The text of `caCertRef`, which wins over `caCert`. */
  readonly caCerts?: string;
  /** AZURE_CLOUD_NAME of the credentials. */
  readonly azureCloud?: string;
}

/**
 * The place of the kopia repository of a namespace's volumes, laid out as Velero does. Throws
 * `MovementError` StorageLocationInvalid for what kopia's command line cannot express.
 *
 * `s3ForcePathStyle` needs nothing: kopia takes the path style for every endpoint but those of
 * Amazon, Google and Alibaba.
 */
export function repositoryParameters(
  location: BackupStorageLocation,
  volumeNamespace: string,
  secrets: LocationSecrets = {},
): RepositoryParameters {
  const store = storeOf(location);
  if (store === "filesystem") return filesystem(location, volumeNamespace);
  const caCerts = secrets.caCerts ?? decodeCaCert(location);
  const place = {
    bucket: bucketOf(location),
    prefix: `${posix.join(prefixOf(location), "kopia", volumeNamespace)}/`,
    ...(caCerts !== undefined && { caCerts }),
  };
  switch (store) {
    case "s3":
      return { store, ...place, ...s3(location) };
    case "azure":
      return { store, ...place, ...azure(location, secrets.azureCloud) };
    case "gcs":
      return { store, ...place };
    default:
      return store satisfies never;
  }
}

function filesystem(
  location: BackupStorageLocation,
  volumeNamespace: string,
): RepositoryParameters {
  const root = location.spec.config?.["fspath"] ?? "";
  if (!root.startsWith("/")) {
    const problem = root === ""
      ? "config.fspath is missing"
      : `config.fspath "${root}" is relative`;
    throw invalid(location, problem, "set it to an absolute path that is mounted in the agent");
  }
  const path = posix.join(root, prefixOf(location), "kopia", volumeNamespace);
  return { store: "filesystem", path };
}

function s3(location: BackupStorageLocation) {
  const { config = {} } = location.spec;
  const region = config["region"] ?? "";
  return {
    ...endpointOf(location),
    ...(region !== "" && { region }),
    skipVerify: config["insecureSkipTLSVerify"] === "true",
  };
}

/** Without a URL it is AWS: kopia finds the regional host by itself, also without a region. */
function endpointOf(location: BackupStorageLocation) {
  const text = location.spec.config?.["s3Url"] ?? "";
  if (text === "") return { endpoint: "s3.amazonaws.com", plainHttp: false };
  const url = URL.parse(text.includes("://") ? text : `https://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.host === "") {
    throw invalid(location, `config.s3Url "${text}" is not a URL`, "write https://host[:port]");
  }
  if (url.pathname !== "/" || url.search !== "" || url.username !== "") {
    throw invalid(
      location,
      "config.s3Url has more than a host",
      "write https://host[:port]; the bucket and the prefix stand in objectStorage",
    );
  }
  return { endpoint: url.host, plainHttp: url.protocol === "http:" };
}

/** Of Azure's clouds, by AZURE_CLOUD_NAME. */
const azureDomains: Readonly<Record<string, string>> = {
  "": "blob.core.windows.net",
  AZURECLOUD: "blob.core.windows.net",
  AZUREPUBLICCLOUD: "blob.core.windows.net",
  AZURECHINACLOUD: "blob.core.chinacloudapi.cn",
  AZUREUSGOVERNMENT: "blob.core.usgovcloudapi.net",
  AZUREUSGOVERNMENTCLOUD: "blob.core.usgovcloudapi.net",
};

function azure(location: BackupStorageLocation, cloud = "") {
  const account = location.spec.config?.["storageAccount"] ?? "";
  if (account === "") {
    throw invalid(location, "config.storageAccount is missing", "name the storage account there");
  }
  const uri = location.spec.config?.["storageAccountURI"] ?? "";
  if (uri !== "") return { account, domain: domainOf(location, { account, uri }) };
  const domain = azureDomains[cloud.toUpperCase()];
  if (domain !== undefined) return { account, domain };
  throw invalid(
    location,
    `its credentials have the AZURE_CLOUD_NAME "${cloud}", which is not known`,
    "correct it, or set config.storageAccountURI",
  );
}

/** kopia takes only `https://<account>.<domain>`. */
function domainOf(
  location: BackupStorageLocation,
  { account, uri }: { readonly account: string; readonly uri: string },
): string {
  const url = URL.parse(uri);
  const isPlain = url?.protocol === "https:" && /^\/?$/.test(url.pathname) && url.search === "";
  if (url !== null && isPlain && url.host.startsWith(`${account.toLowerCase()}.`)) {
    return url.host.slice(account.length + 1);
  }
  throw invalid(
    location,
    `config.storageAccountURI "${uri}" is not of the form https://${account}.<domain>, the only ` +
      "one that kopia can use",
    "give the store such a name",
  );
}
