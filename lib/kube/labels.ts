import { createHash } from "node:crypto";
import { ConfigError } from "../base/error.ts";

export type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Only of In and NotIn, and never empty there. */
  readonly values?: readonly string[];
}

/** metav1.LabelSelector: all of it must hold; an empty one selects everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

export type Labels = Readonly<Record<string, string>>;

const longestName = 63;
const longestPrefix = 253;
const name = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** As Kubernetes matches: NotIn and DoesNotExist hold for an object without the label. */
export function matchesLabels(selector: LabelSelector, labels: Labels = {}): boolean {
  return requirementsOf(selector).every(({ key, operator, values = [] }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        return operator satisfies never;
    }
  });
}

/** Every reason why the API server would refuse this selector, each with its path; [] for none. */
export function selectorProblems(selector: LabelSelector): string[] {
  const labels = Object.entries(selector.matchLabels ?? {}).flatMap(([key, value]) => [
    ...keyProblems(key, `matchLabels["${key}"]`),
    ...valueProblems(value, `matchLabels["${key}"]`),
  ]);
  const expressions = (selector.matchExpressions ?? [])
    .flatMap((requirement, index) =>
      requirementProblems(requirement, `matchExpressions[${index}]`)
    );
  return [...labels, ...expressions];
}

/**
 * The text form for the query parameter `labelSelector`: `a=b,c in (d,e),!f`. Throws `ConfigError`
 * for a selector with problems: the text form has no escapes, so a bad value would change its sense.
 */
export function formatSelector(selector: LabelSelector): string {
  const problems = selectorProblems(selector);
  if (problems.length > 0) throw new ConfigError(`Bad label selector: ${problems.join("; ")}`);
  return requirementsOf(selector).map(formatRequirement).join(",");
}

/** Reads the text form (`=`, `==`, `!=`, `in`, `notin`, `key`, `!key`). Throws `ConfigError`. */
export function parseSelector(text: string): LabelSelector {
  const matchExpressions = splitOutsideParentheses(text)
    .map((part) => parseRequirement(part.trim(), text));
  const selector = { matchExpressions };
  const problems = selectorProblems(selector);
  if (problems.length > 0) {
    throw new ConfigError(`"${text}" is not a label selector: ${problems.join("; ")}`);
  }
  return selector;
}

/**
 * The text as Velero shortens it for a label value: more than 63 characters become the first 57 and
 * six hex digits of the SHA-256 of the whole.
 */
export function validLabelValue(text: string): string {
  if (text.length <= longestName) return text;
  const digest = createHash("sha256").update(text).digest("hex");
  return text.slice(0, longestName - 6) + digest.slice(0, 6);
}

function requirementsOf(selector: LabelSelector): readonly LabelRequirement[] {
  const labels = Object.entries(selector.matchLabels ?? {})
    .map(([key, value]): LabelRequirement => ({ key, operator: "In", values: [value] }));
  return [...labels, ...selector.matchExpressions ?? []];
}

function formatRequirement({ key, operator, values = [] }: LabelRequirement): string {
  switch (operator) {
    case "In":
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(",")})`;
    case "NotIn":
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return operator satisfies never;
  }
}

function parseRequirement(part: string, text: string): LabelRequirement {
  const [, setKey, setOperator, list] = part.match(/^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/) ?? [];
  if (setKey !== undefined && list !== undefined) {
    const values = list.split(",").map((value) => value.trim());
    return { key: setKey, operator: setOperator === "in" ? "In" : "NotIn", values };
  }
  const [, key, equality, value] = part.match(/^([^=!\s]+)\s*(==?|!=)\s*([^=!\s]*)$/) ?? [];
  if (key !== undefined && value !== undefined) {
    return { key, operator: equality === "!=" ? "NotIn" : "In", values: [value] };
  }
  const [, absent, present] = part.match(/^(?:!\s*([^=!\s]+)|([^=!\s]+))$/) ?? [];
  if (absent !== undefined) return { key: absent, operator: "DoesNotExist" };
  if (present !== undefined) return { key: present, operator: "Exists" };
  throw new ConfigError(
    `"${text}" is not a label selector: "${part}" is none of key=value, key!=value, ` +
      `key in (a,b), key notin (a,b), key, !key`,
  );
}

function splitOutsideParentheses(text: string): string[] {
  if (text.trim() === "") return [];
  return text.split(/,(?![^(]*\))/);
}

function requirementProblems(requirement: LabelRequirement, path: string): string[] {
  const { key, operator, values = [] } = requirement;
  const problems = keyProblems(key, path);
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) problems.push(`${path}: operator ${operator} needs values`);
      return [...problems, ...values.flatMap((value) => valueProblems(value, path))];
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) problems.push(`${path}: operator ${operator} takes no values`);
      return problems;
    default:
      operator satisfies never;
      return [...problems, `${path}: unknown operator "${operator}"`];
  }
}

function keyProblems(key: string, path: string): string[] {
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const last = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > longestPrefix || !subdomain.test(prefix))) {
    return [
      `${path}: "${prefix}" is not a DNS name, as the part before "/" of a label key must be`,
    ];
  }
  if (last.length > longestName) {
    return [`${path}: label key "${last}" is longer than ${longestName} characters`];
  }
  return name.test(last)
    ? []
    : [`${path}: "${last}" is not a label key (letters, digits, "-", "_" and "." only)`];
}

function valueProblems(value: string, path: string): string[] {
  if (value.length > longestName) {
    return [`${path}: label value "${value}" is longer than ${longestName} characters`];
  }
  return value === "" || name.test(value)
    ? []
    : [`${path}: "${value}" is not a label value (letters, digits, "-", "_" and "." only)`];
}
