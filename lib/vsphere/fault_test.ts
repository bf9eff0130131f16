import assert from "node:assert/strict";
import { type FaultClass, faultOfBody, faultOfLocalized } from "./fault.ts";
import { readXml } from "./xml_reader.ts";

const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

const bodies: readonly (readonly [string, string, FaultClass, RegExp])[] = [
  [
    '<NotAuthenticatedFault xsi:type="v:NotAuthenticated"><object type="M">m</object>' +
    "<privilegeId>System.View</privilegeId></NotAuthenticatedFault>",
    "NotAuthenticated",
    "session",
    /^NotAuthenticated: said; privilege System\.View$/,
  ],
  ["<InvalidLoginFault/>", "InvalidLogin", "login", /^InvalidLogin: said$/],
  [
    '<x xsi:type="InvalidArgument"><invalidProperty>spec</invalidProperty></x>',
    "InvalidArgument",
    "permanent",
    /property spec$/,
  ],
  ['<x xsi:type="ManagedObjectNotFound"/>', "ManagedObjectNotFound", "retry", /said/],
  ['<x xsi:type="BrandNew"/>', "BrandNew", "retry", /^BrandNew: said$/],
  [
    '<x xsi:type="CnsFault"><reason>said</reason></x>',
    "CnsFault",
    "retry",
    /^CnsFault: said$/,
  ],
  [
    '<x xsi:type="CnsFault"><reason>Duplicated entity for each entity type in one cluster is ' +
    "found.</reason></x>",
    "CnsFault",
    "permanent",
    /Duplicated entity/,
  ],
  [
    '<x xsi:type="CnsFault"><faultCause><fault xsi:type="NotFound"/>' +
    "<localizedMessage>no disk</localizedMessage></faultCause></x>",
    "CnsFault",
    "gone",
    /^CnsFault: said \(caused by NotFound: no disk\)$/,
  ],
  ["", "", "retry", /^said$/],
];

for (const [detail, type, expected, message] of bodies) {
  Deno.test(`the fault ${detail || "without detail"} is ${type} and leads to ${expected}`, async () => {
    const fault = faultOfBody(
      await nodeOf(
        `<Fault ${xsi}><faultstring>said\n opId: 1a-2b</faultstring><detail>${detail}</detail></Fault>`,
      ),
    );
    assert.equal(fault.type, type);
    assert.equal(fault.class, expected);
    assert.match(fault.message, message);
  });
}

const localized: readonly (readonly [string, string, FaultClass, RegExp])[] = [
  ['<fault xsi:type="CnsVolumeNotFoundFault"/>', "CnsVolumeNotFoundFault", "gone", /: why$/],
  ['<fault xsi:type="CnsNotRegisteredFault"/>', "CnsNotRegisteredFault", "gone", /: why$/],
  ['<fault xsi:type="NoPermission"/>', "NoPermission", "permanent", /: why$/],
  ['<fault xsi:type="Timedout"/>', "Timedout", "retry", /: why$/],
  ["", "", "retry", /^why$/],
];

for (const [inner, type, expected, message] of localized) {
  Deno.test(`a volume's fault ${inner || "of text alone"} leads to ${expected}`, async () => {
    const text = `<fault ${xsi}>${inner}<localizedMessage>why</localizedMessage></fault>`;
    const fault = faultOfLocalized(await nodeOf(text));
    assert.equal(fault.type, type);
    assert.equal(fault.class, expected);
    assert.match(fault.message, message);
  });
}

Deno.test("a fault's message is one line, never empty and never long", async () => {
  const empty = faultOfBody(await nodeOf("<Fault><faultstring/></Fault>"));
  assert.equal(empty.message, "no reason was given");
  const long = await nodeOf(
    `<f ${xsi}><fault xsi:type="X"/><localizedMessage>${
      "word\n".repeat(1_000)
    }</localizedMessage></f>`,
  );
  const { message } = faultOfLocalized(long);
  assert.equal(message.length, 1_000);
  assert.doesNotMatch(message, /\n/);
});

async function nodeOf(text: string) {
  const pieces = async function* () {
    yield new TextEncoder().encode(text);
  };
  return (await readXml(pieces())).root;
}
