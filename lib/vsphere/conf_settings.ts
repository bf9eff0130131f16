import type { Finding, Position } from "../base/finding.ts";
import type { GcfgSection, GcfgVariable } from "./gcfg.ts";
import { parseGcfgBoolean, parseGcfgInteger } from "./gcfg.ts";

/** A value with where it was found; of a switch or number only what it says. */
export interface Setting extends Partial<Position> {
  /** For messages: `[Global] user` or `variable VSPHERE_USER`. */
  readonly path: string;
  readonly value: string | number | boolean;
}

export type Settings = Map<string, Setting>;

/** What a configuration sets, before anything is inherited or checked. */
export interface ConfSettings {
  readonly global: Settings;
  /** By host, in the order of the file, those of the environment last. */
  readonly vCenters: Map<string, Settings>;
  readonly hasTopology: boolean;
}

type Kind = "text" | "switch" | "integer";

const connection = {
  "user": "text",
  "password": "text",
  "port": "integer",
  "insecure-flag": "switch",
  "ca-file": "text",
  "thumbprint": "text",
  "datacenters": "text",
} as const satisfies Record<string, Kind>;

const keys: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  global: {
    ...connection,
    "cluster-id": "text",
    "supervisor-id": "text",
    "cluster-distribution": "text",
    "query-limit": "integer",
    "list-volume-threshold": "integer",
    "cnsregistervolumes-cleanup-intervalinmin": "integer",
    "cnspvcprotection-cleanup-intervalinmin": "integer",
    "volumemigration-cr-cleanup-intervalinmin": "integer",
    "csi-auth-check-intervalinmin": "integer",
    "cnsvolumeoperationrequest-cleanup-intervalinmin": "integer",
    "csi-fetch-preferred-datastores-intervalinmin": "integer",
  },
  virtualcenter: {
    ...connection,
    "targetvsanfileshareclusters": "text",
    "migration-datastore-url": "text",
  },
};

/** Sections of the CSI driver that say nothing about the connection or the metadata. */
const foreign = ["netpermissions", "labels", "topologycategory", "snapshot", "gc"];

/** The last value of each name, with a finding for all that has no effect or no meaning. */
export function readSettings(
  sections: readonly GcfgSection[],
): { readonly settings: ConfSettings; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const settings: ConfSettings = {
    global: new Map(),
    vCenters: new Map(),
    hasTopology: sections.some(namesTopology),
  };
  for (const section of sections) {
    const known = keys[section.name];
    const misplaced = section.name === "global" && section.subsection !== "";
    if (known === undefined || misplaced) {
      if (!foreign.includes(section.name)) findings.push(unknown(section));
      continue;
    }
    const into = intoOf(settings, section);
    for (const variable of section.variables) {
      const path = `${titleOf(section)} ${variable.name}`;
      const read = settingOf(variable, known[variable.name]);
      if ("fault" in read) findings.push({ ...variable.place, path, ...read.fault });
      else into.set(variable.name, { ...variable.place, path, value: read.value });
    }
  }
  return { settings, findings };
}

function intoOf({ global, vCenters }: ConfSettings, { name, subsection }: GcfgSection): Settings {
  if (name === "global") return global;
  const known = vCenters.get(subsection) ?? new Map();
  vCenters.set(subsection, known);
  return known;
}

function unknown(section: GcfgSection): Finding {
  return {
    severity: "warning",
    ...section.place,
    path: titleOf(section),
    message: "this section is not known and has no effect",
  };
}

function titleOf({ name, subsection }: GcfgSection): string {
  const title = name === "global" ? "Global" : name === "virtualcenter" ? "VirtualCenter" : name;
  return subsection === "" ? `[${title}]` : `[${title} "${subsection}"]`;
}

type Read =
  | { readonly value: string | number | boolean }
  | { readonly fault: Pick<Finding, "severity" | "message"> };

function settingOf({ value }: GcfgVariable, kind: Kind | undefined): Read {
  if (kind === undefined) {
    const message = "this name is not known and has no effect";
    return { fault: { severity: "warning", message } };
  }
  const read = valueOf(value, kind);
  return read === undefined
    ? { fault: { severity: "error", message: expected[kind] } }
    : { value: read };
}

const expected: Readonly<Record<Kind, string>> = {
  text: "needs a value: write = behind the name",
  switch: "must be true or false",
  integer: "must be a whole number",
};

function valueOf(value: string | undefined, kind: Kind): string | number | boolean | undefined {
  if (kind === "switch") return parseGcfgBoolean(value);
  return kind === "integer" ? parseGcfgInteger(value) : value;
}

function namesTopology({ name, variables }: GcfgSection): boolean {
  return name === "labels" &&
    variables.some((one) => one.name === "topology-categories" && one.value?.trim());
}

/** Environment variables that replace what the file says. */
const overrides = {
  VSPHERE_USER: "user",
  VSPHERE_PASSWORD: "password",
  VSPHERE_PORT: "port",
  VSPHERE_DATACENTER: "datacenters",
  VSPHERE_INSECURE: "insecure-flag",
} as const;

/** Those of a further vCenter, between `VCENTER_<id>_` and the end. */
const furtherOverrides = {
  USERNAME: "user",
  PASSWORD: "password",
  PORT: "port",
  DATACENTERS: "datacenters",
  INSECURE: "insecure-flag",
} as const;

export type Environment = Readonly<Record<string, string>>;

/**
 * Puts the environment above the file: in `[Global]`, and in the vCenter that VSPHERE_VCENTER names
 * (or the only one). An empty variable is as good as none.
 */
export function applyEnvironment(settings: ConfSettings, environment: Environment): Finding[] {
  const findings: Finding[] = [];
  const put = (variable: string, name: keyof typeof connection, into: readonly Settings[]) => {
    const text = environment[variable];
    if (!text) return;
    const path = `variable ${variable}`;
    const value = valueOf(text, connection[name]);
    if (value !== undefined) { for (const one of into) one.set(name, { path, value }); }
    else findings.push({ severity: "error", path, message: expected[connection[name]] });
  };
  const { global, vCenters } = settings;
  const add = (host: string) => intoOf(settings, { ...header, subsection: host });
  const host = environment["VSPHERE_VCENTER"];
  const own = host ? [add(host)] : vCenters.size === 1 ? [...vCenters.values()] : [];
  for (const [variable, name] of Object.entries(overrides)) put(variable, name, [global, ...own]);
  for (const [variable, host] of Object.entries(environment)) {
    const id = variable.match(/^VSPHERE_VCENTER_(.+)$/)?.[1];
    if (id === undefined || host === "") continue;
    const further = [add(host)];
    for (const [end, name] of Object.entries(furtherOverrides)) {
      put(`VCENTER_${id}_${end}`, name, further);
    }
  }
  return findings;
}

const header: GcfgSection = {
  name: "virtualcenter",
  subsection: "",
  place: { line: 1, column: 1 },
  variables: [],
};
