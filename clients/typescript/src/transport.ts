import { faultOf, HoldfastError, HoldfastTimeout, HoldfastUnreachable } from "./errors.js";
import { ROUTES, type Operations } from "./generated.js";

export interface HoldfastOptions {
  /** Where the server is; `http://127.0.0.1:3111` by itself. */
  url?: string;
  /** A token, or the server's secret. */
  token?: string;
  /** How long one attempt may take. */
  timeoutMs?: number;
  /** How often a request is sent at most, while its failure is one that passes. */
  attempts?: number;
  /** The pause before the second attempt; it doubles with each. */
  pauseMs?: number;
  /** Another `fetch`, as of a framework. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call, also between attempts. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** A key of your own: the same request under the same key is carried out once, also by another process. */
  idempotencyKey?: string;
}

type Sent = { method: string; url: string; headers: Record<string, string>; body: string | null };

const LONGEST_PAUSE_MS = 30_000;

/** Sends operations over HTTP. Knows their paths and nothing of what they mean. */
export class Transport {
  readonly base: string;
  readonly token: string | undefined;
  readonly #options: Required<Omit<HoldfastOptions, "url" | "token">>;

  constructor(options: HoldfastOptions) {
    const url = new URL(options.url ?? "http://127.0.0.1:3111");
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError("url: must begin with http:// or https://");
    }
    this.base = url.href.replace(/\/+$/, "");
    this.token = options.token;
    this.#options = {
      timeoutMs: options.timeoutMs ?? 30_000,
      attempts: Math.max(1, options.attempts ?? 4),
      pauseMs: options.pauseMs ?? 250,
      fetch: options.fetch ?? ((...given) => globalThis.fetch(...given)),
    };
  }

  async call<N extends keyof Operations>(
    name: N,
    request: Operations[N]["request"],
    options: CallOptions = {},
  ): Promise<Operations[N]["answer"]> {
    const sent = this.#request(name, request as Record<string, unknown>, options);
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#once(sent, options)) as Operations[N]["answer"];
      } catch (error) {
        if (!(error instanceof HoldfastError) || !error.retryable || attempt >= this.#options.attempts) {
          throw error;
        }
        await pause(this.#pause(attempt, error), options.signal);
      }
    }
  }

  /** Path arguments in the path; the rest in the query of a GET, else in the body. */
  #request(name: keyof Operations, request: Record<string, unknown>, options: CallOptions): Sent {
    const [method, path, effect] = ROUTES[name];
    const rest = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
    const inPath = new Set<string>();
    const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => {
      inPath.add(key);
      const value = request[key];
      // A dot or two would be a folder of the address, whatever they are written as.
      if (value === undefined || value === null || ["", ".", ".."].includes(String(value))) {
        throw new TypeError(`${name}: ${key} is required`);
      }
      return encodeURIComponent(String(value));
    });
    const others = rest.filter(([key]) => !inPath.has(key));
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.token !== undefined) {
      headers["Authorization"] = `Bearer ${this.token}`;
    }
    if (effect !== "read") {
      // Under its key a write is carried out once, so that it may be sent again when its answer was lost.
      headers["Idempotency-Key"] = options.idempotencyKey ?? newKey();
    }
    const url = `${this.base}/agentmemory${filled}`;
    if (method === "GET") {
      const query = new URLSearchParams(others.map(([key, value]) => [key, queryText(value)]));
      return { method, url: others.length ? `${url}?${query}` : url, headers, body: null };
    }
    headers["Content-Type"] = "application/json";
    return { method, url, headers, body: JSON.stringify(Object.fromEntries(others)) };
  }

  async #once(sent: Sent, options: CallOptions): Promise<unknown> {
    options.signal?.throwIfAborted();
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const ending = new AbortController();
    const abort = (): void => ending.abort(options.signal?.reason);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      ending.abort();
    }, timeoutMs);
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      const answer = await this.#options.fetch(sent.url, { ...sent, redirect: "error", signal: ending.signal });
      const text = await answer.text();
      if (!answer.ok) {
        throw withPause(faultOf(answer.status, text), answer.headers.get("retry-after"));
      }
      return parsed(answer.status, text);
    } catch (error) {
      if (error instanceof HoldfastError) throw error;
      options.signal?.throwIfAborted();
      throw late ? new HoldfastTimeout(timeoutMs) : new HoldfastUnreachable(this.base, error);
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
    }
  }

  #pause(attempt: number, error: HoldfastError): number {
    const asked = Number(error.details["retryAfter"]);
    const own = this.#options.pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    return Math.min(LONGEST_PAUSE_MS, asked > 0 ? asked * 1000 : own);
  }
}

/** A key that no other request has. It is no secret, so where there is no `crypto`, as in Node 18, chance is enough. */
function newKey(): string {
  const part = (): string => Math.random().toString(36).slice(2);
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${part()}-${part()}`;
}

function queryText(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : String(value);
}

function parsed(status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw faultOf(status, text);
  }
}

function withPause(fault: HoldfastError, seconds: string | null): HoldfastError {
  if (seconds !== null && fault.details["retryAfter"] === undefined) {
    fault.details["retryAfter"] = Number(seconds);
  }
  return fault;
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
