import { dirname, isAbsolute, join } from "node:path";
import { ConfigError } from "../base/error.ts";
import type { Certificate, Connection, Credentials } from "./connection.ts";
import { type Entry, type Fields, isFields, type Kubeconfig } from "./kubeconfig.ts";

/** The connection of a context (default: the current one). Throws `ConfigError`, never a secret. */
export async function resolveContext(
  config: Kubeconfig,
  wanted: string | undefined,
): Promise<Connection> {
  const { context, cluster, user } = entriesOf(config, wanted);
  const { server, overTls } = serverOf(cluster);
  const ca = overTls ? await pemOf(cluster, "certificate-authority") : undefined;
  const insecure = overTls && cluster.fields["insecure-skip-tls-verify"] === true;
  if (insecure && ca !== undefined) {
    throw bad(cluster, "insecure-skip-tls-verify", "and certificate-authority exclude each other");
  }
  const tlsServerName = overTls ? textOf(cluster, "tls-server-name") : undefined;
  const proxyUrl = proxyOf(cluster);
  const certificate = user && await certificateOf(user);
  const headers = user && impersonationOf(user);
  return {
    server,
    namespace: textOf(context, "namespace") ?? "default",
    source: `context "${context.name}" of "${context.file}"`,
    credentials: user ? credentialsOf(user, cluster, ca) : { type: "none" },
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(insecure ? { insecure } : {}),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(headers === undefined ? {} : { headers }),
  };
}

interface Place extends Entry {
  readonly list: "contexts" | "clusters" | "users";
}

function entriesOf(config: Kubeconfig, wanted: string | undefined) {
  const files = config.files.map((file) => `"${file}"`).join(", ");
  const name = wanted || config.currentContext;
  if (name === undefined) {
    throw new ConfigError(
      `Cannot use kubeconfig ${files}: it has no current-context. Name one of its contexts ` +
        `with --kubecontext (it has ${namesOf(config.contexts)})`,
    );
  }
  const entry = config.contexts.get(name);
  if (entry === undefined) {
    throw new ConfigError(
      `Cannot use kubeconfig ${files}: context "${name}" is not in it; ` +
        `it has ${namesOf(config.contexts)}`,
    );
  }
  const context: Place = { ...entry, list: "contexts" };
  const referred = (field: "cluster" | "user", list: "clusters" | "users"): Place | undefined => {
    const target = textOf(context, field);
    if (target === undefined) return undefined;
    const found = config[list].get(target);
    if (found === undefined) {
      throw bad(context, field, `"${target}" is not in ${list}; there is ${namesOf(config[list])}`);
    }
    return { ...found, list };
  };
  const cluster = referred("cluster", "clusters");
  if (cluster === undefined) throw bad(context, "cluster", "is missing");
  return { context, cluster, user: referred("user", "users") };
}

function namesOf(entries: ReadonlyMap<string, Entry>): string {
  const names = [...entries.keys()];
  const more = names.length > 20 ? `, … (${names.length} in all)` : "";
  return names.length === 0 ? "none" : `${names.slice(0, 20).join(", ")}${more}`;
}

function serverOf(cluster: Place): { readonly server: string; readonly overTls: boolean } {
  const text = textOf(cluster, "server");
  if (text === undefined) throw bad(cluster, "server", "is missing");
  const url = URL.parse(text.includes("://") ? text : `https://${text}`);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw bad(cluster, "server", "is no http or https address");
  }
  if (url.username !== "" || url.password !== "") {
    throw bad(cluster, "server", "must not hold a user name or password");
  }
  const path = url.pathname.replace(/\/+$/, "");
  return { server: `${url.origin}${path}`, overTls: url.protocol === "https:" };
}

function proxyOf(cluster: Place): string | undefined {
  const text = textOf(cluster, "proxy-url");
  if (text === undefined) return undefined;
  const protocols = ["http:", "https:", "socks5:", "socks5h:"];
  if (!protocols.includes(URL.parse(text)?.protocol ?? "")) {
    throw bad(cluster, "proxy-url", "is no http, https or socks5 address");
  }
  return text;
}

async function certificateOf(user: Place): Promise<Certificate | undefined> {
  const cert = await pemOf(user, "client-certificate");
  const key = await pemOf(user, "client-key");
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined) throw bad(user, "client-certificate", "is missing, but there is a key");
  if (key === undefined) throw bad(user, "client-key", "is missing, but there is a certificate");
  return { cert, key };
}

/** As in client-go a token file wins over a token, and both over a password. */
function credentialsOf(user: Place, cluster: Place, ca: string | undefined): Credentials {
  const tokenFile = textOf(user, "tokenFile");
  if (tokenFile !== undefined) return { type: "tokenFile", path: besideFile(user, tokenFile) };
  const token = textOf(user, "token");
  if (token !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw bad(
        user,
        "token",
        "has characters that no token can have (a space or an end of line?)",
      );
    }
    return { type: "header", authorization: `Bearer ${token}` };
  }
  const username = textOf(user, "username");
  if (username !== undefined) {
    const pair = new TextEncoder().encode(`${username}:${textOf(user, "password") ?? ""}`);
    return { type: "header", authorization: `Basic ${pair.toBase64()}` };
  }
  const exec = fieldsOf(user, "exec");
  const authProvider = fieldsOf(user, "auth-provider");
  if (exec === undefined && authProvider === undefined) return { type: "none" };
  return {
    type: "plugin",
    where: `user "${user.name}" in "${user.file}"`,
    ...(exec === undefined ? {} : { exec: pluginOf(user, exec, { cluster, ca }) }),
    ...(authProvider === undefined ? {} : { authProvider }),
  };
}

/** The command's path made absolute, and KUBERNETES_EXEC_INFO, which client-node leaves out. */
function pluginOf(
  user: Place,
  exec: Fields,
  { cluster, ca }: { readonly cluster: Place; readonly ca: string | undefined },
): Fields {
  const { command, env } = exec;
  if (typeof command !== "string" || command === "") throw bad(user, "exec.command", "is missing");
  if (env !== undefined && env !== null && !Array.isArray(env)) {
    throw bad(user, "exec.env", "is no list");
  }
  const described = {
    server: textOf(cluster, "server"),
    "tls-server-name": textOf(cluster, "tls-server-name"),
    "insecure-skip-tls-verify": cluster.fields["insecure-skip-tls-verify"] === true || undefined,
    "certificate-authority-data": ca && new TextEncoder().encode(ca).toBase64(),
    "proxy-url": textOf(cluster, "proxy-url"),
  };
  const info = {
    kind: "ExecCredential",
    apiVersion: exec["apiVersion"] ?? "client.authentication.k8s.io/v1",
    spec: {
      interactive: false,
      ...(exec["provideClusterInfo"] === true ? { cluster: described } : {}),
    },
  };
  return {
    ...exec,
    command: command.includes("/") ? besideFile(user, command) : command,
    env: [...(env ?? []), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }],
  };
}

function impersonationOf(user: Place): Readonly<Record<string, string>> | undefined {
  const as = textOf(user, "as");
  if (as === undefined) return undefined;
  const groups = user.fields["as-groups"];
  if (groups !== undefined || user.fields["as-user-extra"] !== undefined) {
    // Several headers of one name cannot be sent with fetch, and half a user would be another one.
    throw bad(user, "as-groups", "and as-user-extra are not supported; use a user of its own");
  }
  const uid = textOf(user, "as-uid");
  for (const [field, text] of [["as", as], ["as-uid", uid]] as const) {
    if (text !== undefined && !/^[\x21-\x7e]+$/.test(text)) {
      throw bad(user, field, "has characters that no HTTP header can carry");
    }
  }
  return { "Impersonate-User": as, ...(uid === undefined ? {} : { "Impersonate-Uid": uid }) };
}

/** A PEM text from `<field>-data` (base64) or the file in `<field>`. */
async function pemOf(place: Place, field: string): Promise<string | undefined> {
  const data = textOf(place, `${field}-data`);
  if (data !== undefined) {
    try {
      const bytes = Uint8Array.fromBase64(data);
      return checkedPem(new TextDecoder().decode(bytes), place, `${field}-data`);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw bad(place, `${field}-data`, "is not base64");
    }
  }
  const path = textOf(place, field);
  if (path === undefined) return undefined;
  const file = besideFile(place, path);
  try {
    return checkedPem(await Deno.readTextFile(file), place, field);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(badText(place, field, `names "${file}", which cannot be read`), {
      cause,
    });
  }
}

function checkedPem(text: string, place: Place, field: string): string {
  if (!text.includes("-----BEGIN ")) throw bad(place, field, "is not in PEM form");
  return text;
}

function besideFile({ file }: Place, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

function textOf(place: Place, field: string): string | undefined {
  const value = place.fields[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw bad(place, field, "is not a text");
  return value;
}

function fieldsOf(place: Place, field: string): Fields | undefined {
  const value = place.fields[field];
  if (value === undefined || value === null) return undefined;
  if (!isFields(value)) throw bad(place, field, "is no mapping");
  return value;
}

function bad(place: Place, field: string, what: string): ConfigError {
  return new ConfigError(badText(place, field, what));
}

function badText({ file, list, name }: Place, field: string, what: string): string {
  return `Cannot use kubeconfig "${file}": ${field} of ${list} "${name}" ${what}`;
}
