/** Velero's own CRDs, and which of them a run of the tests is about. */
import { runProcess } from "./process.ts";

const versions = ["v1.15.2", "v1.16.2", "v1.17.2", "v1.18.3"] as const;

/** A release of Velero whose own CRDs can be installed; `tests/tools/velero_crds` fetches them. */
export type VeleroVersion = typeof versions[number];

/** What `LONGSHORE_CRDS` names; without it the tests install manifests/crds. */
export const veleroUnderTest: VeleroVersion | undefined = readVersion(
  Deno.env.get("LONGSHORE_CRDS") ?? "",
);

/** Whether the CRDs under test have `spec.cancel`, and for restores `status.node`. */
export const isCancelKnown = veleroUnderTest === undefined || veleroUnderTest >= "v1.17";

/** The folder with the YAML files of a release; of ours when none is named. */
export async function crdFolder(version: VeleroVersion | undefined): Promise<string> {
  if (version === undefined) return new URL("../../manifests/crds", import.meta.url).pathname;
  const program = new URL("../tools/velero_crds", import.meta.url).pathname;
  const { code, stdout, stderr } = await runProcess(program, [version]);
  if (code !== 0) throw new Error(`The CRDs of Velero ${version} cannot be fetched: ${stderr}`);
  return stdout.trim();
}

function readVersion(text: string): VeleroVersion | undefined {
  if (text === "") return undefined;
  const found = versions.find((version) => version === text);
  if (found === undefined) {
    throw new Error(`LONGSHORE_CRDS is "${text}", and must be one of ${versions.join(", ")}`);
  }
  return found;
}
