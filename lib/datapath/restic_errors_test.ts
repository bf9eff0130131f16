import assert from "node:assert/strict";
import type { ChildExit } from "./child_process.ts";
import { explainRestic, isLocked } from "./restic_errors.ts";

const facts = { doing: 'back up "/v"', folder: "/agent", secrets: ["the-password"] };

function exit(changes: Partial<ChildExit>): ChildExit {
  return { code: 1, outOfMemory: false, stdout: "", lines: [], ...changes };
}

const fatal = (message: string, code = 1) =>
  JSON.stringify({ message_type: "exit_error", code, message: `Fatal: ${message}` });
const error = (item: string, message: string, during: string) =>
  JSON.stringify({ message_type: "error", error: { message }, during, item });

const cases: readonly {
  readonly name: string;
  readonly exit: Partial<ChildExit>;
  readonly reason: string;
  readonly says: RegExp;
}[] = [
  {
    name: "a wrong password, by its code",
    exit: { code: 12, lines: [fatal("wrong password or no key found", 12)] },
    reason: "RepositoryPassword",
    says: /wrong password or no key found; /,
  },
  {
    name: "a wrong password, in an old restic's words",
    exit: { lines: ["Fatal: wrong password or no key found"] },
    reason: "RepositoryPassword",
    says: /: wrong password/,
  },
  {
    name: "a lock, in an old restic's words",
    exit: {
      lines: [
        "unable to create lock in backend: repository is already locked exclusively by PID 7 on x",
      ],
    },
    reason: "RepositoryLocked",
    says: /already locked .* by PID 7/,
  },
  {
    name: "files that cannot be read",
    exit: {
      code: 3,
      lines: [error("/v/a", "open a: permission denied", "archival"), error("/v/b", "x", "scan")],
    },
    reason: "VolumeReadError",
    says: /"\/v\/a" cannot be read: open a: permission denied \(and 1 other\)$/,
  },
  {
    name: "a full volume",
    exit: {
      lines: [
        error("/f", "write /v/f: no space left on device", "restore"),
        fatal("There were 1 errors"),
      ],
    },
    reason: "VolumeFull",
    says: /enlarge the volume/,
  },
  {
    name: "a store that is full",
    exit: { lines: [fatal("Save(<data/1>): no space left on device")] },
    reason: "RepositoryFull",
    says: /the store is full/,
  },
  {
    name: "our own disk that is full",
    exit: { lines: [fatal("open /agent/restic-cache/x: no space left on device")] },
    reason: "NodeDiskFull",
    says: /under "\/agent"/,
  },
  {
    name: "a store that does not answer",
    exit: { lines: [fatal("unable to open config file: dial tcp: connection refused")] },
    reason: "RepositoryUnreachable",
    says: /does not answer/,
  },
  {
    name: "an interrupt from outside",
    exit: { code: 130 },
    reason: "ResticKilled",
    says: /ended from outside by a signal/,
  },
  {
    name: "the kernel's kill",
    exit: { code: 137, signal: "SIGKILL", outOfMemory: true },
    reason: "ResticOutOfMemory",
    says: /for want of memory/,
  },
  {
    name: "something new, without its secret",
    exit: { lines: [fatal("the-password is odd")] },
    reason: "ResticFailed",
    says: /: \*\*\* is odd$/,
  },
  {
    name: "no word at all",
    exit: {},
    reason: "ResticFailed",
    says: /exit code 1 and said nothing/,
  },
];

for (const { name, exit: changes, reason, says } of cases) {
  Deno.test(`restic's end is understood: ${name}`, () => {
    const failure = explainRestic(exit(changes), facts);
    assert.equal(failure.reason, reason, failure.message);
    assert.match(failure.message, says);
    assert(failure.message.startsWith('Cannot back up "/v": '));
    assert.equal(isLocked(exit(changes)), reason === "RepositoryLocked");
  });
}
