import { runProcess } from "./process.ts";

/** PEM files. */
export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Leaf {
  /** In openssl's form: `/O=group/CN=name`. */
  readonly subject: string;
  /** In openssl's form: `extendedKeyUsage=clientAuth`. */
  readonly extensions: readonly string[];
}

/** A certificate authority whose files lie in one folder; made by openssl, valid for ten years. */
export interface Authority {
  readonly caFile: string;
  /** Signs a new key; the files are named after `name`. */
  issue(name: string, leaf: Leaf): Promise<KeyPair>;
  /** The same, but its certificate is signed by its own key. */
  selfSigned(name: string, leaf: Leaf): Promise<KeyPair>;
}

export async function makeAuthority(folder: string): Promise<Authority> {
  // Without a configuration of our own the machine's adds extensions of a CA to every certificate.
  const config = `${folder}/openssl.cnf`;
  await Deno.writeTextFile(config, "[req]\ndistinguished_name = name\n[name]\n");
  const make = async (name: string, leaf: Leaf, ca?: KeyPair): Promise<KeyPair> => {
    const pair = { certFile: `${folder}/${name}.crt`, keyFile: `${folder}/${name}.key` };
    await openssl([
      ...["req", "-x509", "-config", config, "-days", "3650", "-subj", leaf.subject],
      ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ...["-out", pair.certFile, "-keyout", pair.keyFile],
      ...(ca === undefined ? [] : ["-CA", ca.certFile, "-CAkey", ca.keyFile]),
      ...leaf.extensions.flatMap((extension) => ["-addext", extension]),
    ]);
    return pair;
  };
  const ca = await make("ca", {
    subject: "/CN=longshore-test-ca",
    extensions: ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"],
  });
  const signing = (leaf: Leaf): Leaf => ({
    ...leaf,
    extensions: ["keyUsage=critical,digitalSignature", ...leaf.extensions],
  });
  return {
    caFile: ca.certFile,
    issue: (name, leaf) => make(name, signing(leaf), ca),
    selfSigned: (name, leaf) => make(name, signing(leaf)),
  };
}

/** A signing key and its public half, as service accounts need them. */
export async function makeSigningKey(folder: string, name: string) {
  const privateFile = `${folder}/${name}.key`;
  const publicFile = `${folder}/${name}.pub`;
  const curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
  await openssl(["genpkey", ...curve, "-out", privateFile]);
  await openssl(["pkey", "-in", privateFile, "-pubout", "-out", publicFile]);
  return { privateFile, publicFile };
}

async function openssl(args: readonly string[]) {
  const { code, stderr } = await runProcess("openssl", args);
  if (code !== 0) throw new Error(`openssl ${args.join(" ")} failed: ${stderr.trim()}`);
}
