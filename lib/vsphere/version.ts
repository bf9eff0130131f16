import { deadline } from "../base/abort.ts";
import { type Wire, WireError } from "./wire.ts";
import { childrenOf, textAt, XmlError } from "./xml.ts";
import { readXml } from "./xml_reader.ts";

/** What a vCenter's storage service is called, and what it does not know yet. */
export interface VsanVersion {
  readonly version: string;
  /** Elements of a metadata update that this version would refuse. */
  readonly unknownElements: ReadonlySet<string>;
}

const since70 = ["clusterDistribution"];
const since67 = [
  ...["clusterFlavor", "clusterDistribution", "containerClusterArray"],
  ...["clusterId", "referredEntity"],
];

/** `clusterId` is the one of an entity. All later versions know everything. */
const unknownTo: Readonly<Record<string, readonly string[]>> = {
  "vSAN 6.7U3": since67,
  "7.0": since70,
  "vSAN 7.0U1": since70,
};

/** The first of /sdk/vsanServiceVersions.xml, the newest; needs no login. */
export async function readVsanVersion(
  wire: Wire,
  userAgent: string,
  signal: AbortSignal,
): Promise<VsanVersion> {
  using limit = deadline(signal, 60_000, "vCenter's answer to the question for its version");
  const path = "/sdk/vsanServiceVersions.xml";
  const headers = { "user-agent": userAgent };
  const answer = await wire.send({ method: "GET", path, headers }, limit.signal);
  if (answer.status !== 200) {
    const message =
      `vCenter answered the question for its version with HTTP status ${answer.status}`;
    for await (const _piece of answer.body) break;
    throw new WireError("status", message, { status: answer.status });
  }
  const version = textAt(
    (await read(answer.body)).find((one) => textAt(one, "version")),
    "version",
  );
  if (version === "") throw new WireError("answer", `vCenter names no version in ${path}`);
  return { version, unknownElements: new Set(unknownTo[version] ?? []) };
}

async function read(body: AsyncIterable<Uint8Array>) {
  try {
    return childrenOf((await readXml(body)).root, "namespace");
  } catch (cause) {
    if (!(cause instanceof XmlError)) throw cause;
    throw new WireError("answer", `vCenter's version cannot be read: ${cause.message}`, { cause });
  }
}
