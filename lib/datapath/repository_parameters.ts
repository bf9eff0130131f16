import type { BackupStorageLocation } from "../api/backup_storage_location.ts";
import { MovementError } from "../base/error.ts";
import { posix } from "node:path";

/** Where a repository is, without anything secret. */
export type RepositoryParameters =
  | { readonly store: "filesystem"; readonly path: string }
  | {
    readonly store: "s3";
    readonly bucket: string;
    /** Ends with a slash. */
    readonly prefix: string;
    /** Host, and port where it is not the usual one. */
    readonly endpoint: string;
    readonly region?: string;
    readonly plainHttp: boolean;
    readonly skipVerify: boolean;
    /** PEM certificates. */
    readonly caCerts?: string;
  };

export interface LocationSecrets {
  /** The text of `caCertRef`, which wins over `caCert`. */
  readonly caCerts?: string;
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
  { caCerts }: LocationSecrets = {},
): RepositoryParameters {
  const { spec } = location;
  const provider = spec.provider.includes("/") ? spec.provider : `velero.io/${spec.provider}`;
  const s3Url = spec.config?.["s3Url"] ?? "";
  switch (provider) {
    case "velero.io/fs":
      return filesystem(location, volumeNamespace);
    case "velero.io/aws":
      return s3(location, volumeNamespace, caCerts);
    case "velero.io/azure":
    case "velero.io/gcp":
      throw invalid(
        location,
        `spec.provider "${spec.provider}" is not supported yet`,
        "use an S3 or a filesystem location",
      );
    default:
      if (s3Url !== "") return s3(location, volumeNamespace, caCerts);
      throw invalid(
        location,
        `spec.provider "${spec.provider}" is not known`,
        "set config.s3Url if the store speaks S3",
      );
  }
}

/**
 * What follows `repository connect`. Nothing secret: the keys and the password come by the
 * environment alone. `caFile` holds the parameters' CA certificates; kopia reads it now and only now.
 */
export function connectArguments(
  parameters: RepositoryParameters,
  { caFile }: { readonly caFile: string },
): readonly string[] {
  if (parameters.store === "filesystem") return ["filesystem", `--path=${parameters.path}`];
  const { bucket, prefix, endpoint, region, plainHttp, skipVerify, caCerts } = parameters;
  return [
    "s3",
    `--bucket=${bucket}`,
    `--prefix=${prefix}`,
    `--endpoint=${endpoint}`,
    ...(region === undefined ? [] : [`--region=${region}`]),
    ...(plainHttp ? ["--disable-tls"] : []),
    ...(skipVerify ? ["--disable-tls-verification"] : []),
    ...(caCerts === undefined ? [] : [`--root-ca-pem-path=${caFile}`]),
    // Given but empty: kopia then takes the keys from the environment each time it starts, and
    // writes none into its configuration file.
    ...["--access-key=", "--secret-access-key=", "--session-token="],
  ];
}

/** The error for a storage location that cannot be used: what is wrong, and what to do. */
export function invalid(
  location: BackupStorageLocation,
  problem: string,
  advice: string,
): MovementError {
  return new MovementError(
    "StorageLocationInvalid",
    `Cannot use BackupStorageLocation "${location.metadata.name}": ${problem}; ${advice}`,
  );
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
  return {
    store: "filesystem",
    path: posix.join(root, prefixOf(location), "kopia", volumeNamespace),
  };
}

function s3(
  location: BackupStorageLocation,
  volumeNamespace: string,
  caCertsOfSecret: string | undefined,
): RepositoryParameters {
  const { config = {}, objectStorage } = location.spec;
  const bucket = trimSlashes(objectStorage?.bucket || config["bucket"] || "");
  if (bucket === "") {
    throw invalid(location, "objectStorage.bucket is missing", "name the bucket there");
  }
  const region = config["region"] ?? "";
  const { endpoint, plainHttp } = endpointOf(location);
  const caCerts = caCertsOfSecret ?? decodeCaCert(location);
  return {
    store: "s3",
    bucket,
    prefix: `${posix.join(prefixOf(location), "kopia", volumeNamespace)}/`,
    endpoint,
    ...(region === "" ? {} : { region }),
    plainHttp,
    skipVerify: config["insecureSkipTLSVerify"] === "true",
    ...(caCerts === undefined ? {} : { caCerts }),
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

function decodeCaCert(location: BackupStorageLocation): string | undefined {
  const text = location.spec.objectStorage?.caCert ?? "";
  if (text === "") return undefined;
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    throw invalid(location, "objectStorage.caCert is not base64", "put the PEM text in as base64");
  }
}

function prefixOf({ spec }: BackupStorageLocation): string {
  return trimSlashes(spec.objectStorage?.prefix || spec.config?.["prefix"] || "");
}

function trimSlashes(text: string): string {
  return text.replace(/^\/+|\/+$/g, "");
}
