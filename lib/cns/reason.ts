/**
 * Why the metadata of a volume was not written. The code heads the message in the object's status;
 * it is a list of its own because none of these ends a movement.
 */
export const cnsReasons = [
  "ObjectInvalid",
  "ClaimMissing",
  "ClaimUnbound",
  "VolumeMissing",
  "ReadFailed",
  "VolumeNotInCns",
  "CnsRefused",
  "CnsFailed",
  "LoginRefused",
] as const;

export type CnsReason = typeof cnsReasons[number];
