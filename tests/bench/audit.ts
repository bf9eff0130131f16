/** Every request of the agents, as the API server itself notes them. */

/** The user that the agents are; requests of others are not noted. */
export const agentUser = "bench-agent";

export interface AuditedRequest {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly atMs: number;
}

export interface Audit {
  readonly apiServerArgs: readonly string[];
  /** What was finished at or after this time (`Date.now()`). */
  since(ms: number): Promise<readonly AuditedRequest[]>;
}

const writeVerbs = ["create", "update", "patch", "delete", "deletecollection"];

export function isWrite({ verb }: AuditedRequest): boolean {
  return writeVerbs.includes(verb);
}

/** Prepares an audit log in the folder; hand its flags to the API server. */
export async function prepareAudit(folder: string): Promise<Audit> {
  const policy = `${folder}/audit-policy.json`;
  const log = `${folder}/audit.log`;
  await Deno.writeTextFile(
    policy,
    JSON.stringify({
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "Metadata", users: [agentUser] }, { level: "None" }],
    }),
  );
  return {
    apiServerArgs: ["--audit-policy-file", policy, "--audit-log-path", log],
    async since(ms) {
      const text = await Deno.readTextFile(log).catch(() => ""); // no request, no file
      return text.split("\n").filter((line) => line !== "").map(parse)
        .filter(({ atMs }) => atMs >= ms);
    },
  };
}

function parse(line: string): AuditedRequest {
  const { verb, objectRef = {}, stageTimestamp } = JSON.parse(line);
  const { resource = "", subresource = "", name = "" } = objectRef;
  return { verb, resource, subresource, name, atMs: Date.parse(stageTimestamp) };
}
