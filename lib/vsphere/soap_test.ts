import assert from "node:assert/strict";
import { type Log, logger } from "../base/log.ts";
import { SoapFault } from "./fault.ts";
import { readServiceContent } from "./service_content.ts";
import {
  type Call,
  callOver,
  type CallRecord,
  soapExchange,
  type SoapRequest,
  withRetry,
  withTrace,
} from "./soap.ts";
import { readVsanVersion } from "./version.ts";
import { type Wire, type WireAnswer, WireError, type WireRequest } from "./wire.ts";
import { textAt } from "./xml.ts";
import { element } from "./xml_writer.ts";

const never = new AbortController().signal;
const options = { userAgent: "longshore-test", vsanVersion: "7.1" };
const ask: SoapRequest = { service: "vsan", body: element("Ask", element("id", "1")) };

interface Scripted {
  readonly status?: number;
  readonly text?: string;
  readonly setCookies?: readonly string[];
  readonly fails?: WireError;
  readonly silent?: true;
}

/** Gives the answers in turn, the last one for ever, and keeps the requests. */
function scripted(...answers: readonly Scripted[]) {
  const requests: WireRequest[] = [];
  const wire: Wire = {
    send(request, signal): Promise<WireAnswer> {
      const answer = answers[Math.min(requests.length, answers.length - 1)]!;
      requests.push(request);
      if (answer.fails) return Promise.reject(answer.fails);
      if (answer.silent) {
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason))
        );
      }
      const { status = 200, text = "", setCookies = [] } = answer;
      const pieces = async function* () {
        yield new TextEncoder().encode(text);
      };
      return Promise.resolve({ status, setCookies, body: pieces() });
    },
    [Symbol.dispose]() {},
  };
  return { wire, requests };
}

const envelope = (body: string) =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${body}</s:Body></s:Envelope>`;
const fault = (type: string) =>
  envelope(`<s:Fault><faultstring>why</faultstring><detail><${type}Fault/></detail></s:Fault>`);
const good = envelope("<AskResponse><returnval>7</returnval></AskResponse>");

Deno.test("a call is an envelope for its service, with the session's cookie", async () => {
  const { wire, requests } = scripted({ text: good });
  const { node } = await callOver(soapExchange(wire, options), 'x="a b"')(ask, never);
  assert.equal(node.name, "AskResponse");
  assert.equal(textAt(node, "returnval"), "7");
  assert.deepEqual(requests, [{
    method: "POST",
    path: "/vsanHealth",
    headers: {
      "content-type": 'text/xml; charset="utf-8"',
      "soapaction": "urn:vsan/7.1",
      "user-agent": "longshore-test",
      "cookie": 'x="a b"',
    },
    body: '<?xml version="1.0" encoding="UTF-8"?>' +
      '<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" ' +
      'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Body><Ask xmlns="urn:vsan">' +
      "<id>1</id></Ask></Body></Envelope>",
  }]);
});

Deno.test("vCenter itself has another path, and gives its cookie back as it is", async () => {
  const setCookies = ['vmware_soap_session="a b"; Path=/; HttpOnly', "other=c"];
  const { wire, requests } = scripted({ text: good, setCookies });
  const exchange = soapExchange(wire, options);
  const { cookie } = await exchange({ ...ask, service: "vim" }, never);
  assert.equal(cookie, 'vmware_soap_session="a b"; other=c');
  assert.equal(requests[0]?.path, "/sdk");
  assert.equal(requests[0]?.headers["soapaction"], "urn:vim25");
  assert.equal(requests[0]?.headers["cookie"], undefined);
});

Deno.test("parts of the answer are decoded", async () => {
  const text = envelope("<R><returnval><volumes>a</volumes><volumes>b</volumes></returnval></R>");
  const { wire } = scripted({ text });
  const request: SoapRequest<string> = {
    ...ask,
    parts: { at: ["returnval", "volumes"], decode: ({ text }) => text },
  };
  assert.deepEqual((await soapExchange(wire, options)(request, never)).parts, ["a", "b"]);
});

const failures: readonly (readonly [string, Scripted, string, RegExp])[] = [
  [
    "a fault",
    { status: 500, text: fault("InvalidLogin") },
    "login",
    /^Ask failed: InvalidLogin: w/,
  ],
  ["a gateway's page", { status: 503, text: "<html>" }, "status", /Ask with HTTP status 503: its/],
  ["no right", { status: 403, text: "" }, "status", /Ask with HTTP status 403$/],
  [
    "a page with status 500",
    { status: 500, text: "<p>a<b></p>" },
    "answer",
    /Ask cannot be read: /,
  ],
  ["another document", { text: "<a><b/></a>" }, "answer", /answer to Ask is no SOAP envelope$/],
];

for (const [name, answer, kind, expected] of failures) {
  Deno.test(`${name} in place of an answer is told as such`, async () => {
    const { wire } = scripted(answer);
    await assert.rejects(soapExchange(wire, options)(ask, never), (error) => {
      const found = error instanceof SoapFault
        ? error.fault.class
        : (error as { fault?: string }).fault;
      assert.equal(found, kind);
      assert.match((error as Error).message, expected);
      return true;
    });
  });
}

Deno.test("a call without an answer ends at its deadline, or with its signal", async () => {
  const { wire } = scripted({ silent: true });
  const exchange = soapExchange(wire, options);
  const late = exchange({ ...ask, deadlineMs: 5 }, never);
  await assert.rejects(late, /^TimeoutError: vCenter's answer to Ask took longer than 0.005 s$/);
  const abort = new AbortController();
  const left = exchange(ask, abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(left, /^Error: enough$/);
});

const unsent = new WireError("connect", "x");
const lost = new WireError("lost", "x");
const retries: readonly (readonly [string, Scripted, Partial<SoapRequest>, number])[] = [
  ["no connection", { fails: unsent }, {}, 3],
  ["no connection for what may arrive once", { fails: unsent }, { once: true }, 3],
  ["a lost answer", { fails: lost }, {}, 3],
  ["a lost answer to what may arrive once", { fails: lost }, { once: true }, 1],
  ["a bad certificate", { fails: new WireError("certificate", "x") }, {}, 1],
  ["status 503", { status: 503 }, { once: true }, 3],
  ["status 404", { status: 404 }, {}, 1],
  ["a fault", { status: 500, text: fault("RuntimeFault") }, {}, 1],
];

for (const [name, answer, request, expected] of retries) {
  Deno.test(`after ${name} a call is sent ${expected} times in all`, async () => {
    const { wire, requests } = scripted(answer);
    const call = withRetry(callOver(soapExchange(wire, options)), {
      attempts: 3,
      firstMs: 1,
      maxMs: 1,
    });
    await assert.rejects(call({ ...ask, ...request }, never));
    assert.equal(requests.length, expected);
  });
}

Deno.test("a repeated call that succeeds is a success", async () => {
  const { wire, requests } = scripted({ fails: lost }, { status: 503 }, { text: good });
  const layers = { attempts: 3, firstMs: 1, maxMs: 1 };
  await withRetry(callOver(soapExchange(wire, options)), layers)(ask, never);
  assert.equal(requests.length, 3);
});

Deno.test("the trace notes the method and outcome of each call, never a text of it", async () => {
  const { wire } = scripted(
    { text: good },
    { status: 500, text: fault("NoPermission") },
    { fails: lost },
  );
  const lines: string[] = [];
  const note = (sentence: string, fields?: unknown) =>
    void lines.push(`${sentence} ${JSON.stringify(fields)}`);
  const log: Log = { ...logger("test"), debug: note };
  const records: CallRecord[] = [];
  const call = withTrace(callOver(soapExchange(wire, options)), {
    log,
    record: (one) => void records.push(one),
  });
  const secret = { ...ask, body: element("Ask", "secret") };
  await call(secret, never);
  await assert.rejects(call(secret, never));
  await assert.rejects(call(secret, never));
  assert.deepEqual(records.map(({ method, outcome }) => [method, outcome]), [
    ["Ask", "success"],
    ["Ask", "NoPermission"],
    ["Ask", "lost"],
  ]);
  assert.equal(lines.length, 3);
  assert.doesNotMatch(lines.join(), /secret/);
});

const content = (apiType: string) =>
  envelope(`<RetrieveServiceContentResponse><returnval>
    <propertyCollector type="PropertyCollector">pc</propertyCollector>
    <viewManager type="ViewManager">vm</viewManager>
    <about><fullName>VMware vCenter Server 8</fullName><apiType>${apiType}</apiType>
    <apiVersion>8.0.3.0</apiVersion><instanceUuid>u-1</instanceUuid></about>
    <sessionManager type="SessionManager">sm</sessionManager>
  </returnval></RetrieveServiceContentResponse>`);

Deno.test("a vCenter's managers are read from it; an ESXi host has none for us", async () => {
  const callTo = (text: string): Call => callOver(soapExchange(scripted({ text }).wire, options));
  const read = await readServiceContent(callTo(content("VirtualCenter")), "vc", never);
  assert.deepEqual(read, {
    sessionManager: { type: "SessionManager", value: "sm" },
    propertyCollector: { type: "PropertyCollector", value: "pc" },
    viewManager: { type: "ViewManager", value: "vm" },
    fullName: "VMware vCenter Server 8",
    apiVersion: "8.0.3.0",
    instanceUuid: "u-1",
  });
  await assert.rejects(
    readServiceContent(callTo(content("HostAgent")), "esx1", never),
    /^ConfigError: Cannot use "esx1": it is an ESXi host, not a vCenter\. Name the vCenter/,
  );
});

const versions = (version: string) =>
  `<namespaces version="1.0"><namespace><name>urn:vsan</name><version>${version}</version>
   <priorVersions><version>6.5</version></priorVersions></namespace></namespaces>`;

Deno.test("the newest version is the first, and old ones do not know every element", async () => {
  const versionOf = (text: string) => readVsanVersion(scripted({ text }).wire, "ua", never);
  const { version, unknownElements } = await versionOf(versions("8.0.3.0"));
  assert.equal(version, "8.0.3.0");
  assert.equal(unknownElements.size, 0);
  assert.ok((await versionOf(versions("vSAN 6.7U3"))).unknownElements.has("referredEntity"));
  assert.deepEqual([...(await versionOf(versions("7.0"))).unknownElements], [
    "clusterDistribution",
  ]);
  await assert.rejects(versionOf("<a/>"), /vCenter names no version/);
  await assert.rejects(versionOf("<a>"), /vCenter's version cannot be read: /);
  const { wire } = scripted({ status: 404 });
  await assert.rejects(readVsanVersion(wire, "ua", never), /version with HTTP status 404/);
});
