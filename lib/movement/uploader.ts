/** What objects say about the program that moves their data, and its settings. */
import { MovementError } from "../base/error.ts";

export interface UploaderSpec {
  readonly uploaderType?: string;
  readonly uploaderSettings?: Readonly<Record<string, string>> | null;
}

/** Throws `MovementError` for another program than kopia; none named means restic. */
export function requireKopia(spec: UploaderSpec | undefined): void {
  if (spec?.uploaderType === "kopia") return;
  throw new MovementError(
    "UploaderUnsupported",
    `The uploader "${spec?.uploaderType || "restic"}" is not supported; ` +
      "configure Velero with --uploader-type=kopia, and restore what restic has stored with restic",
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
