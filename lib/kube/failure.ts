import { ConfigError } from "../base/error.ts";
import { type ApiError, type Attempt, causeText, unanswered } from "./api_error.ts";
import type { Connection } from "./connection.ts";
import { type Purpose, WireError } from "./wire.ts";

export interface FailureFacts {
  readonly request: Attempt;
  readonly connection: Connection;
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timing: { readonly purpose: Purpose };
  readonly expired: DOMException | undefined;
  readonly closed: boolean;
}

export interface Failure {
  readonly thrown: unknown;
  /** Later requests must not use the same connection. */
  readonly connectionIsDead: boolean;
}

/** What a failed try means for its caller and for the connection. */
export function failureOf(error: unknown, facts: FailureFacts): Failure {
  const { request, connection: { server }, signal, expired } = facts;
  if (signal.aborted) return { thrown: signal.reason, connectionIsDead: false };
  if (facts.closed) return { thrown: clientClosed(request), connectionIsDead: false };
  if (expired !== undefined) {
    const detail = `${expired.message}. Check the network, and the load of the API server`;
    const thrown = facts.timing.purpose === "watch"
      ? expired
      : unanswered(request, "Timeout", { detail, cause: expired });
    return { thrown, connectionIsDead: true };
  }
  if (error instanceof WireError) {
    return { thrown: wireFailure(error, facts), connectionIsDead: error.fault === "lost" };
  }
  if (error instanceof ConfigError) {
    const detail = `there is no way to speak to ${server}`;
    const thrown = unanswered(request, "CredentialsUnavailable", { detail, cause: error });
    return { thrown, connectionIsDead: false };
  }
  if (error instanceof TypeError) {
    const detail = `the connection to ${server} ended before the whole answer had come ` +
      `(${causeText(error)})`;
    const thrown = unanswered(request, "ConnectionLost", { detail, cause: error });
    return { thrown, connectionIsDead: true };
  }
  return { thrown: error, connectionIsDead: false };
}

/** The error of a call that the end of its client has cut short. */
export function clientClosed(request: Attempt): ApiError {
  return unanswered(request, "ClientClosed", { detail: "the Kubernetes client was closed" });
}

function wireFailure(error: WireError, { request, connection }: FailureFacts): ApiError {
  const { server, source } = connection;
  switch (error.fault) {
    case "connect": {
      const detail = `no connection to ${server} (${error.message}). Check that the address in ` +
        `${source} is right, that the API server runs and that the network leads there`;
      return unanswered(request, "Unreachable", { detail, cause: error });
    }
    case "certificate": {
      const detail = `the certificate of ${server} is not to be trusted (${error.message}). ` +
        certificateHint(error.message, connection);
      return unanswered(request, "CertificateInvalid", { detail, cause: error });
    }
    case "lost": {
      const detail = `${server} closed the connection without an answer (${error.message})`;
      return unanswered(request, "ConnectionLost", { detail, cause: error });
    }
    default:
      return error.fault satisfies never;
  }
}

function certificateHint(text: string, { source, server }: Connection): string {
  if (/NotValidForName|not valid for name/i.test(text)) {
    return `It is for other names than that of ${new URL(server).hostname}: correct the address, ` +
      `or set tls-server-name in ${source}`;
  }
  if (/NotValidYet|not valid yet/i.test(text)) return "It is not valid yet: check the clocks";
  if (/Expired/i.test(text)) return "It has expired: renew it, and check the clocks";
  if (/UnknownIssuer|BadSignature/i.test(text)) {
    return `It is signed by an authority that ${source} does not name: check ` +
      "certificate-authority, and that no proxy answers in the server's place";
  }
  return `Check certificate-authority in ${source}`;
}
