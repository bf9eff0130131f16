import { snapshotNames } from "../api/names.ts";
import type { RepositoryParameters } from "./repository_parameters.ts";

/**
 * What follows `repository connect`. Nothing secret: the keys and the password come by the
 * environment alone. `caFile` holds the parameters' CA certificates; kopia reads it now and only now.
 */
export function connectArguments(
  parameters: RepositoryParameters,
  { caFile }: { readonly caFile: string },
): readonly string[] {
  switch (parameters.store) {
    case "filesystem":
      return ["filesystem", `--path=${parameters.path}`];
    case "s3":
      return s3Arguments(parameters, caFile);
    case "azure": {
      const { bucket, prefix, account, domain } = parameters;
      return [
        ...["azure", `--container=${bucket}`, `--prefix=${prefix}`],
        ...[`--storage-account=${account}`, `--storage-domain=${domain}`],
      ];
    }
    case "gcs":
      return ["gcs", `--bucket=${parameters.bucket}`, `--prefix=${parameters.prefix}`];
    default:
      return parameters satisfies never;
  }
}

function s3Arguments(
  { bucket, prefix, endpoint, region, plainHttp, skipVerify, caCerts }: RepositoryParameters & {
    readonly store: "s3";
  },
  caFile: string,
): readonly string[] {
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

/**
 * Who the agent is to the repository, and where its cache is. Limits as Velero derives them: 80 % data,
 * 20 % metadata; soft limits at 80 % of those.
 */
export function clientArguments(cacheLimitMB: number, folder: string): readonly string[] {
  const dataMB = Math.floor(cacheLimitMB * 0.8);
  const metadataMB = Math.floor(cacheLimitMB * 0.2);
  const [username, hostname] = snapshotNames.owner.split("@");
  return [
    ...[`--override-username=${username}`, `--override-hostname=${hostname}`],
    "--no-check-for-updates",
    `--cache-directory=${folder}/cache`,
    `--content-cache-size-limit-mb=${dataMB}`,
    `--content-cache-size-mb=${Math.max(1, Math.floor(dataMB * 0.8))}`,
    `--metadata-cache-size-limit-mb=${metadataMB}`,
    `--metadata-cache-size-mb=${Math.max(1, Math.floor(metadataMB * 0.8))}`,
  ];
}
