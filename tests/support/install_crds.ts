import { parse } from "yaml";
import { sleep } from "../../lib/base/abort.ts";
import type { CustomResourceDefinition } from "../../lib/api/custom_resource_definition.ts";
import type { ControlPlane } from "./control_plane.ts";
import { crdFolder, veleroUnderTest, type VeleroVersion } from "./velero_crds.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const establishedLimitMs = 30_000;

export interface CrdOptions {
  /** Whose; the default is what `LONGSHORE_CRDS` names, else ours. */
  readonly velero?: VeleroVersion | undefined;
  /** Of which group; the default is Velero's. */
  readonly group?: "velero.io" | "cns.vmware.com";
  readonly change?: (definition: CustomResourceDefinition) => CustomResourceDefinition;
}

/** Creates the CRDs and waits until objects can be made. */
export async function installCrds(
  controlPlane: ControlPlane,
  { velero = veleroUnderTest, group = "velero.io", change = (same) => same }: CrdOptions = {},
): Promise<void> {
  const folder = await crdFolder(group === "velero.io" ? velero : undefined);
  const names: string[] = [];
  for (const entry of Deno.readDirSync(folder)) {
    if (!entry.name.startsWith(`${group}_`)) continue;
    const text = await Deno.readTextFile(`${folder}/${entry.name}`);
    const definition = change(parse(text) as CustomResourceDefinition);
    await controlPlane.call("POST", definitions, definition);
    names.push(definition.metadata.name);
  }
  for (const name of names) await untilEstablished(controlPlane, name);
}

async function untilEstablished(controlPlane: ControlPlane, name: string) {
  const started = performance.now();
  const never = new AbortController().signal;
  while (true) {
    const path = `${definitions}/${name}`;
    const { status } = await controlPlane.call<CustomResourceDefinition>("GET", path);
    const isTrue = (type: string) =>
      status?.conditions?.some((condition) =>
        condition.type === type && condition.status === "True"
      );
    if (isTrue("Established")) return;
    if (performance.now() - started > establishedLimitMs) {
      throw new Error(`${name} was not established in ${establishedLimitMs / 1000} s`);
    }
    await sleep(25, never);
  }
}
