/** What objects say about the program that moves their data, and its settings. */
import { MovementError } from "../base/error.ts";

export interface UploaderSpec {
  readonly uploaderType?: string;
  readonly uploaderSettings?: Readonly<Record<string, string>> | null;
}

export type Uploader = "kopia" | "restic";

/** The program that an object asks for; none named means restic. Throws `MovementError`. */
export function uploaderOf(spec: UploaderSpec | undefined): Uploader {
  const name = spec?.uploaderType || "restic";
  if (name === "kopia" || name === "restic") return name;
  throw new MovementError(
    "UploaderUnsupported",
    `The uploader "${name}" is not known; configure Velero with --uploader-type=kopia`,
  );
}

/** Restic has no such option: silence would be a setting that does nothing. */
export function refuseSetting({ uploaderSettings }: UploaderSpec, what: Setting): void {
  const text = uploaderSettings?.[what.setting];
  if (text === undefined || text === "" || text === "0") return;
  throw new MovementError(
    "UploaderSettingInvalid",
    `The uploader setting ${what.setting} is not for restic; ${what.advice}`,
  );
}

export interface Setting {
  readonly setting: string;
  /** What to do about a value that cannot be used. */
  readonly advice: string;
}

/** A positive whole number; absent or 0 leaves it to us: the number of processors. */
export function parallelFiles(
  { uploaderSettings }: UploaderSpec,
  { setting, advice }: Setting,
): number | undefined {
  const text = uploaderSettings?.[setting];
  if (text === undefined || text === "" || text === "0") return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw unusable({ setting, advice }, text, "a whole number");
}

/** In the words that Go's parser takes; absent is false. */
export function isSettingTrue({ uploaderSettings }: UploaderSpec, what: Setting): boolean {
  const text = uploaderSettings?.[what.setting];
  if (text === undefined || text === "" || /^(0|f|F|false|FALSE|False)$/.test(text)) return false;
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
  throw unusable(what, text, "true or false");
}

function unusable({ setting, advice }: Setting, text: string, wanted: string): MovementError {
  return new MovementError(
    "UploaderSettingInvalid",
    `The uploader setting ${setting} ${JSON.stringify(text)} is not ${wanted}; ${advice}`,
  );
}
