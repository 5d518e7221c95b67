import type * as Api from "./generated.js";
import { liveEvents, type LiveEvent, type LiveOptions } from "./live.js";
import { Transport, type CallOptions, type HoldfastOptions } from "./transport.js";

export { HoldfastError, HoldfastTimeout, HoldfastUnreachable } from "./errors.js";
export type * from "./generated.js";
export type { LiveEvent, LiveOptions } from "./live.js";
export type { CallOptions, HoldfastOptions } from "./transport.js";

/** What a request takes besides the argument that a method names itself. */
type Rest<Request, Named extends keyof Request> = Omit<Request, Named>;

/**
 * A memory on a Holdfast server.
 *
 * The methods are the operations that most programs need; `call` has every other, typed as well. Each takes
 * `{ signal, timeoutMs, idempotencyKey }` last, and throws a `HoldfastError`.
 */
export class Holdfast {
  readonly sessions: Sessions;
  readonly snapshots: Snapshots;
  readonly #transport: Transport;

  constructor(options: HoldfastOptions = {}) {
    this.#transport = new Transport(options);
    const call = this.call.bind(this) as Call;
    this.sessions = new Sessions(call);
    this.snapshots = new Snapshots(call);
  }

  /** Any operation by its name in docs/operations.md, such as `lesson_save`. */
  call<N extends keyof Api.Operations>(
    name: N,
    request: Api.Operations[N]["request"],
    options?: CallOptions,
  ): Promise<Api.Operations[N]["answer"]> {
    return this.#transport.call(name, request, options);
  }

  /** Keep a fact; the stored memory. */
  async remember(
    content: string,
    details: Rest<Api.RememberRequest, "content"> = {},
    options?: CallOptions,
  ): Promise<Api.Memory> {
    return (await this.call("remember", { ...details, content }, options)).memory;
  }

  /** Keep up to 1,000 facts; one result for each, in the same order. */
  async rememberBatch(
    memories: readonly Api.RememberRequest[],
    options?: CallOptions,
  ): Promise<Api.RememberBatchAnswer["results"]> {
    return (await this.call("remember_batch", { memories: [...memories] as Api.Json[] }, options)).results;
  }

  /** Keep an event of a session. */
  observe(request: Api.ObserveRequest, options?: CallOptions): Promise<Api.ObserveAnswer> {
    return this.call("observe", request, options);
  }

  /** Records that answer a question, best first. */
  async search(
    query: string,
    bounds: Rest<Api.SearchRequest, "query"> = {},
    options?: CallOptions,
  ): Promise<Api.SearchAnswer["results"]> {
    return (await this.call("search", { ...bounds, query }, options)).results;
  }

  /** What an agent should know before it works on a project, as one text. */
  async context(
    project: string,
    bounds: Rest<Api.ContextRequest, "project"> = {},
    options?: CallOptions,
  ): Promise<string> {
    return (await this.call("context", { ...bounds, project }, options)).context;
  }

  /** Remove a memory or an observation for good; how many records went with it. */
  async forget(memoryId: string, options?: CallOptions): Promise<number> {
    return (await this.call("forget", { memoryId }, options)).deleted;
  }

  /** What happens in the memory from now on. Ends with its signal; throws if the connection ends before. */
  events(options: LiveOptions = {}): AsyncGenerator<LiveEvent, void, void> {
    return liveEvents(this.#transport, options);
  }
}

type Call = Holdfast["call"];

/** The sessions of agents. */
export class Sessions {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Begin one; what is known for it. */
  start(request: Api.SessionStartRequest, options?: CallOptions): Promise<Api.SessionStartAnswer> {
    return this.#call("session_start", request, options);
  }

  end(sessionId: string, options?: CallOptions): Promise<Api.SessionEndAnswer> {
    return this.#call("session_end", { sessionId }, options);
  }

  async list(bounds: Api.SessionsRequest = {}, options?: CallOptions): Promise<Api.SessionsAnswer["sessions"]> {
    return (await this.#call("sessions", bounds, options)).sessions;
  }

  /** Remove one with all that was observed in it; how many records went. */
  async forget(sessionId: string, options?: CallOptions): Promise<number> {
    return (await this.#call("forget", { sessionId }, options)).deleted;
  }
}

/** Sealed copies of the whole memory. */
export class Snapshots {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  create(how: Api.SnapshotCreateRequest = {}, options?: CallOptions): Promise<Api.SnapshotCreateAnswer> {
    return this.#call("snapshot_create", how, options);
  }

  async list(bounds: Api.SnapshotListRequest = {}, options?: CallOptions): Promise<Api.SnapshotListAnswer["snapshots"]> {
    return (await this.#call("snapshot_list", bounds, options)).snapshots;
  }

  async show(id: string, options?: CallOptions): Promise<Api.SnapshotShowAnswer["snapshot"]> {
    return (await this.#call("snapshot_show", { id }, options)).snapshot;
  }

  verify(id: string, options?: CallOptions): Promise<Api.SnapshotVerifyAnswer> {
    return this.#call("snapshot_verify", { id }, options);
  }

  diff(request: Api.SnapshotDiffRequest, options?: CallOptions): Promise<Api.SnapshotDiffAnswer> {
    return this.#call("snapshot_diff", request, options);
  }

  search(id: string, query: string, options?: CallOptions): Promise<Api.SnapshotSearchAnswer> {
    return this.#call("snapshot_search", { id, query }, options);
  }

  /** Make one the live memory. Without `yes` it is refused; with `dryRun` it is only compared. */
  restore(request: Api.SnapshotRestoreRequest, options?: CallOptions): Promise<Api.SnapshotRestoreAnswer> {
    return this.#call("snapshot_restore", request, options);
  }

  delete(id: string, options?: CallOptions): Promise<Api.SnapshotDeleteAnswer> {
    return this.#call("snapshot_delete", { id }, options);
  }
}
