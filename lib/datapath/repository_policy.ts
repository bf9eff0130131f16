/** What every source of a repository inherits: the values that Velero's uploader sets. */
const forever = 2_147_483_647;
const largeFile = { mib: 2_048, bytes: 2_048 * 1_024 * 1_024 };

const retention = ["Latest", "Hourly", "Daily", "Weekly", "Monthly", "Annual"];

/**
 * The arguments that give a user's policy Velero's values. Velero writes them for each source before
 * each upload; sources inherit them from their user as well, so that once per repository is enough.
 */
export function policyArguments(owner: string): readonly string[] {
  return [
    ...["policy", "set", owner],
    ...retention.map((period) => `--keep-${period.toLowerCase()}=${forever}`),
    ...["--compression=none", "--ignore-unknown-types=true", "--manual"],
    `--parallel-upload-above-size-mib=${largeFile.mib}`,
  ];
}

/** Whether the effective policy, as `policy show --json` prints it, has Velero's values. */
export function hasVeleroPolicy(json: string): boolean {
  const policy = parse(json);
  const kept = retention.every((period) => policy["retention"]?.[`keep${period}`] === forever);
  return kept &&
    policy["compression"]?.["compressorName"] === "none" &&
    policy["errorHandling"]?.["ignoreUnknownTypes"] === true &&
    policy["scheduling"]?.["manual"] === true &&
    policy["upload"]?.["parallelUploadAboveSize"] === largeFile.bytes;
}

type Policy = Record<string, Record<string, unknown> | null | undefined>;

function parse(json: string): Policy {
  try {
    return JSON.parse(json) ?? {};
  } catch {
    return {};
  }
}
