import type { Json } from "./generated.js";

/** What the server refused, with its code, its remedy and its status. */
export class HoldfastError extends Error {
  override readonly name: string = "HoldfastError";
  /** A stable word such as `not_found` or `invalid`; docs/errors.md lists all. */
  readonly code: string;
  /** What to do about it. */
  readonly hint: string;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Everything else that the server said. */
  readonly details: Json;

  constructor(message: string, about: { code: string; hint: string; status: number; retryable: boolean; details?: Json }) {
    super(message);
    this.code = about.code;
    this.hint = about.hint;
    this.status = about.status;
    this.retryable = about.retryable;
    this.details = about.details ?? {};
  }
}

/** No answer came: the server is not there, or the connection broke. */
export class HoldfastUnreachable extends HoldfastError {
  override readonly name = "HoldfastUnreachable";

  constructor(url: string, cause: unknown) {
    super(`no answer from ${url}`, {
      code: "unreachable",
      hint: "Check that the server runs and that the address is right.",
      status: 0,
      retryable: true,
    });
    this.cause = cause;
  }
}

/** The answer did not come in time. */
export class HoldfastTimeout extends HoldfastError {
  override readonly name = "HoldfastTimeout";

  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`, {
      code: "timeout",
      hint: "Retry, or allow more with timeoutMs.",
      status: 0,
      retryable: true,
    });
  }
}

/** The fault in an answer. What is no fault of Holdfast, as a proxy's page, still says its status. */
export function faultOf(status: number, text: string): HoldfastError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const said = typeof body === "object" && body !== null ? (body as Json) : {};
  const { error, code, hint, retryable, ...details } = said;
  const words = (value: unknown, otherwise: string): string => (typeof value === "string" ? value : otherwise);
  return new HoldfastError(words(error, `the server answered with status ${status}`), {
    code: words(code, "unknown"),
    hint: words(hint, "Check that the address is that of a Holdfast server."),
    status,
    retryable: typeof retryable === "boolean" ? retryable : [429, 502, 503, 504].includes(status),
    details,
  });
}
