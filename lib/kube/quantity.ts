import { ConfigError } from "../base/error.ts";

/** A quantity as whole numbers, rounded up (away from zero) as `Quantity.Value()` rounds. */
export interface Quantity {
  /** Bytes of a memory size, whole cores of a CPU amount. */
  readonly whole: bigint;
  /** Thousandths: what CPU amounts are compared in. */
  readonly milli: bigint;
}

const decimal: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binary: Readonly<Record<string, bigint>> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
};
const largest = (1n << 63n) - 1n;
const longestText = 64;

/**
 * Reads a Kubernetes quantity (`100m`, `1Gi`, `1.5`, `1e3`). A size above 2^63-1 counts as that, as
 * in Kubernetes. Throws `ConfigError` that names the text and shows examples.
 */
export function parseQuantity(text: string): Quantity {
  const [, sign, int = "", fraction = "", suffix = ""] =
    text.match(/^([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]{0,2}|[eE][+-]?\d+)$/) ?? [];
  const digits = int + fraction;
  const scale = scaleOf(suffix);
  if (digits === "" || scale === undefined || text.length > longestText) {
    throw new ConfigError(`"${text}" is not a quantity; write for example 100m, 2, 512Mi or 1.5Gi`);
  }
  const unsigned = BigInt(digits) * scale.times;
  const number = sign === "-" ? -unsigned : unsigned;
  const divisor = scale.by * 10n ** BigInt(fraction.length);
  return {
    whole: capped(divideAwayFromZero(number, divisor)),
    milli: capped(divideAwayFromZero(number * 1000n, divisor)),
  };
}

interface Scale {
  readonly times: bigint;
  readonly by: bigint;
}

function scaleOf(suffix: string): Scale | undefined {
  const power = binary[suffix];
  if (power !== undefined) return { times: power, by: 1n };
  const exponent = decimal[suffix] ??
    (/^[eE][+-]?\d+$/.test(suffix) ? Number(suffix.slice(1)) : NaN);
  // No amount on Earth needs more, and a bigint of a thousand digits is no answer to a typing slip.
  if (!(Math.abs(exponent) <= 40)) return undefined;
  return exponent < 0
    ? { times: 1n, by: 10n ** BigInt(-exponent) }
    : { times: 10n ** BigInt(exponent), by: 1n };
}

function divideAwayFromZero(number: bigint, divisor: bigint): bigint {
  const quotient = number / divisor;
  const isExact = quotient * divisor === number;
  if (isExact) return quotient;
  return number < 0n ? quotient - 1n : quotient + 1n;
}

function capped(number: bigint): bigint {
  if (number > largest) return largest;
  return number < -largest ? -largest : number;
}
