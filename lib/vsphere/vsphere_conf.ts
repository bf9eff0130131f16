import { ConfigError, messageOf } from "../base/error.ts";
import { type Finding, formatFinding, isFault, type Parsed } from "../base/finding.ts";
import {
  applyEnvironment,
  type ConfSettings,
  type Environment,
  readSettings,
  type Setting,
  type Settings,
} from "./conf_settings.ts";
import { type GcfgSection, parseGcfg } from "./gcfg.ts";

/** Whom to believe that he is the vCenter, in the order in which the settings exclude each other. */
export type Trust =
  | { readonly by: "nothing" }
  | { readonly by: "authority"; readonly files: readonly string[] }
  /** SHA-1 or SHA-256 of the certificate, as `AA:BB:…`. */
  | { readonly by: "thumbprint"; readonly thumbprint: string }
  | { readonly by: "system" };

/** How to reach one vCenter. Holds a password: never log it. */
export interface VCenter {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly trust: Trust;
  readonly datacenters: readonly string[];
}

/** A checked vsphere.conf with all that is inherited filled in. Holds passwords: never log it. */
export interface VsphereConf {
  readonly clusterId: string;
  /** With its prefix; empty when none is configured. */
  readonly supervisorId: string;
  readonly clusterDistribution: string;
  readonly queryLimit: number;
  readonly listVolumeThreshold: number;
  /** One to five. */
  readonly vCenters: readonly VCenter[];
}

export interface ConfOptions {
  readonly environment: Environment;
  /** On a supervisor: its vCenter's authority, which then is used in place of any other `ca-file`. */
  readonly supervisorCaFile?: string;
}

/** Where supervisors have the authority of their vCenter. */
export const supervisorCaFile = "/etc/vmware/wcp/tls/vmca.pem";

const supervisorPrefix = "vSphereSupervisorID-";
const longestId = 64;
const mostVCenters = 5;

/** `text` is absent when there is no file: all then comes from the environment. */
export function parseVsphereConf(
  text: string | undefined,
  { environment, supervisorCaFile }: ConfOptions,
): Parsed<VsphereConf> {
  const parsed = parseGcfg(text ?? "");
  if (!parsed.ok) {
    const finding: Finding = { severity: "error", ...parsed.place, message: parsed.message };
    return { ok: false, findings: [finding] };
  }
  return check(parsed.sections, environment, supervisorCaFile);
}

/** As `parseVsphereConf`; a `ConfigError` names the file and every fault. */
export async function readVsphereConf(
  path: string,
  options: ConfOptions,
): Promise<{ readonly conf: VsphereConf; readonly findings: readonly Finding[] }> {
  const parsed = parseVsphereConf(await textOf(path), options);
  if (parsed.ok) return { conf: parsed.value, findings: parsed.findings };
  const faults = parsed.findings.filter(({ severity }) => severity === "error").map(formatFinding);
  throw new ConfigError(`Cannot use the vSphere configuration "${path}": ${faults.join("; ")}`);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    const bytes = await Deno.readFile(path);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    if (cause instanceof TypeError) {
      throw new ConfigError(`Cannot use the vSphere configuration "${path}": it is not UTF-8 text`);
    }
    throw new ConfigError(
      `Cannot read the vSphere configuration "${path}": ${messageOf(cause)}. ` +
        "Check that the file is mounted and may be read",
      { cause },
    );
  }
}

function check(
  sections: readonly GcfgSection[],
  environment: Environment,
  caFile: string | undefined,
): Parsed<VsphereConf> {
  const { settings, findings: read } = readSettings(sections);
  const findings: Finding[] = [...read, ...applyEnvironment(settings, environment)];
  const { global, vCenters, hasTopology } = settings;
  const clusterId = idOf(global, "cluster-id", findings);
  const supervisorId = idOf(global, "supervisor-id", findings);
  const amiss = (message: string) => findings.push({ severity: "error", message });
  if (vCenters.size === 0) amiss(noVCenter);
  if (vCenters.size > mostVCenters) {
    amiss(`${vCenters.size} vCenters are configured, at most ${mostVCenters} are possible`);
  }
  if (vCenters.size > 1 && !hasTopology) {
    amiss("more than one vCenter needs topology-categories in [Labels]");
  }
  const hosts = [...vCenters.keys()];
  const value: VsphereConf = {
    clusterId,
    supervisorId: supervisorId === "" ? "" : supervisorPrefix + supervisorId,
    clusterDistribution: textIn(global, "cluster-distribution"),
    queryLimit: numberIn(global, "query-limit", 10_000),
    listVolumeThreshold: numberIn(global, "list-volume-threshold", 50),
    vCenters: hosts.map((host) => vCenterOf(host, settings, { findings, caFile })),
  };
  const ok = !findings.some(({ severity }) => severity === "error");
  return ok ? { ok, value, findings } : { ok, findings: findings.filter(isFault) };
}

const noVCenter = 'no vCenter is configured: add a section [VirtualCenter "<host>"], or set ' +
  "the variable VSPHERE_VCENTER";

interface Checking {
  readonly findings: Finding[];
  readonly caFile: string | undefined;
}

/** Each value of its own, else the one of `[Global]`; a switch that is on in either is on. */
function vCenterOf(host: string, { global, vCenters }: ConfSettings, checking: Checking): VCenter {
  const own = vCenters.get(host) ?? new Map();
  const find = (name: string) => {
    const setting = own.get(name);
    return setting === undefined || setting.value === "" ? global.get(name) : setting;
  };
  const fault = (name: string, message: string) => {
    const place = placeOf(find(name)) ?? { path: `[VirtualCenter "${host}"] ${name}` };
    checking.findings.push({ severity: "error", ...place, message });
  };
  if (host.trim() === "") fault("host", "needs the vCenter's name or address in double quotes");
  const user = String(find("user")?.value ?? "");
  const password = String(find("password")?.value ?? "");
  const userFault = faultOfUser(user);
  if (userFault !== undefined) fault("user", userFault);
  if (password === "") fault("password", "must not be empty");
  const port = Number(find("port")?.value ?? 443);
  if (port < 1 || port > 65_535) fault("port", "must be from 1 to 65535");
  const insecure = own.get("insecure-flag")?.value === true ||
    global.get("insecure-flag")?.value === true;
  const trust = insecure ? { by: "nothing" } as const : trustOf(find, checking, fault);
  const datacenters = listOf(find("datacenters"), ",");
  return { host, port, user, password, trust, datacenters };
}

type Find = (name: string) => Setting | undefined;

function trustOf(
  find: Find,
  { findings, caFile }: Checking,
  fault: (name: string, message: string) => void,
): Trust {
  const configured = find("ca-file");
  const files = listOf(configured, ":");
  if (caFile !== undefined) {
    if (configured !== undefined && files.join(":") !== caFile) {
      const message = `has no effect on a supervisor: "${caFile}" is used`;
      findings.push({ severity: "warning", ...placeOf(configured), message });
    }
    return { by: "authority", files: [caFile] };
  }
  if (files.length > 0) return { by: "authority", files };
  const thumbprint = String(find("thumbprint")?.value ?? "");
  if (thumbprint === "") return { by: "system" };
  const digits = thumbprint.replaceAll(":", "").toUpperCase();
  if (!/^([0-9A-F]{40}|[0-9A-F]{64})$/.test(digits)) {
    fault("thumbprint", "must be the SHA-1 or SHA-256 of the certificate, as AA:BB:CC and so on");
  }
  return { by: "thumbprint", thumbprint: (digits.match(/../g) ?? []).join(":") };
}

function faultOfUser(user: string): string | undefined {
  if (user === "") return "must not be empty";
  if (user.includes("-----BEGIN")) {
    return "is a certificate: a login with one is not supported, give a user name and password";
  }
  if (/^([\w.-]+@[\w.-]+|[\w.-]+\\[\w.-]+)$/.test(user)) return undefined;
  return "must be user@domain or DOMAIN\\user, of letters, digits, dots, dashes and underscores " +
    "(in double quotes a backslash is written twice)";
}

function idOf(global: Settings, name: string, findings: Finding[]): string {
  const setting = global.get(name);
  const id = textIn(global, name);
  if (setting !== undefined && [...id].length > longestId) {
    const message = `has ${[...id].length} characters, at most ${longestId} can be stored`;
    findings.push({ severity: "error", ...placeOf(setting), message });
  }
  return id;
}

/** Without the value: a finding never holds one. */
function placeOf(setting: Setting | undefined) {
  if (setting === undefined) return undefined;
  const { value: _, ...place } = setting;
  return place;
}

function textIn(settings: Settings, name: string): string {
  return String(settings.get(name)?.value ?? "");
}

function numberIn(settings: Settings, name: string, otherwise: number): number {
  return Number(settings.get(name)?.value ?? otherwise);
}

function listOf(setting: Setting | undefined, separator: string): string[] {
  const parts = String(setting?.value ?? "").split(separator).map((part) => part.trim());
  return parts.filter((part) => part !== "");
}
