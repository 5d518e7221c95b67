// Generated from Holdfast's OpenAPI document by tools/typescript_types.py (`make docs`). Do not edit.

/** Any JSON object. */
export type Json = { [name: string]: unknown };

export type Action = {
  id: string;
  title: string;
  description: string;
  priority: number;
  status: string;
  tags: string[];
  sessionId: string | null;
  project: string | null;
  agentId: string | null;
  createdAt: string;
  updatedAt: string;
};

export type AddedShape = {
  entityName: string;
  addedObservations: string[];
};

export type AuditEntry = {
  id: string;
  timestamp: string;
  operation: string;
  caller: string;
  agentId: string | null;
  targetIds: string[];
  details: Json;
  audience?: string[];
};

export type BatchItem = {
  success: boolean;
  memory?: Memory;
  deduplicated?: boolean;
  error?: string;
  code?: string;
};

export type CheckShape = {
  name: string;
  ok: boolean;
  found: string;
  hint: string;
};

export type Commit = {
  id: string;
  sha: string;
  branch: string;
  repo: string;
  message: string;
  author: string;
  authoredAt: string;
  files: string[];
  sessionIds: string[];
  agentId: string | null;
  linkedAt: string;
};

export type ContentsIn = {
  entityName: string;
  contents: string[];
};

export type DeletionIn = {
  entityName: string;
  observations: string[];
};

export type DiskAnswer = {
  database: number;
  earlier: number;
  snapshots: number;
  free: number;
  path: string;
};

export type DrillShape = {
  everySeconds: number;
  provenAt: string | null;
  snapshot: string | null;
  signed: boolean;
  asked: number;
  same: number;
  last: string | null;
};

export type EntityIn = {
  name: string;
  entityType: string;
  observations?: string[];
};

export type EventsHealth = {
  pending: number;
};

export type Fault = {
  error: string;
  code: string;
  hint: string;
  retryable?: boolean;
};

export type FollowShape = {
  vault: string;
  host: string;
  behindSeconds: number | null;
  lastWriteAt: string | null;
  reachedAt: string | null;
  fault?: string;
  hint?: string;
};

export type GraphEntity = {
  name: string;
  entityType: string;
  observations: string[];
};

export type GraphLink = {
  from: string;
  to: string;
  relationType: string;
};

export type GrowthAnswer = {
  days: string[];
  memories: number[];
  observations: number[];
  sessions: number[];
  before: { [name: string]: number };
};

/** A hit. Which fields it has depends on the format; with explain it has `why` too. */
export type HitShape = {
  id?: string;
  obsId?: string;
  kind?: string;
  sessionId?: string | null;
  title?: string;
  type?: string;
  score?: number;
  confidence?: number;
  timestamp?: string;
  passage?: string;
  start?: number;
  end?: number;
  also?: string[];
  outdated?: boolean;
  supersededBy?: Json | string;
  newer?: Json;
  marked?: string;
  content?: string;
  concepts?: string[];
  files?: string[];
  bm25Score?: number;
  vectorScore?: number;
  graphScore?: number;
  combinedScore?: number;
  observation?: Json;
  when?: string;
  text?: string;
  project?: string;
  why?: Json;
};

export type IndexHealth = {
  pending: number;
  model: string;
  done?: number;
  total?: number;
  fault?: string;
};

export type Insight = {
  id: string;
  kind: string;
  title: string;
  content: string;
  concepts: string[];
  files: string[];
  sourceIds: string[];
  project: string | null;
  agentId: string | null;
  strength: number;
  maker: string;
  createdAt: string;
  updatedAt: string;
};

/** One item to keep, or to remove. */
export type ItemPut = {
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
  /** Without a key the item comes after all others. */
  key?: string | null;
  /** The value; null removes the item. */
  value?: Json | null;
  /** What a query finds it by. Default: all texts of the value; empty: none. */
  text?: string | "" | null;
  ttlMinutes?: number | null;
};

export type ItemShape = {
  namespace: string[];
  key: string;
  value: Json;
  createdAt: string;
  updatedAt: string;
  expiresAt?: string;
  score?: number | null;
};

export type JournalHealth = {
  behindSeconds: number;
  waiting: number;
  waitingBytes: number;
  fault?: string;
};

export type LeftOut = {
  memories: number;
  folders: number;
  concepts: number;
  edges: number;
};

export type Lesson = {
  id: string;
  content: string;
  context: string;
  project: string | null;
  agentId: string | null;
  confidence: number;
  reinforcements: number;
  source: string;
  sourceIds: string[];
  tags: string[];
  decayRate: number;
  createdAt: string;
  updatedAt: string;
  lastReinforcedAt: string | null;
  lastDecayedAt: string | null;
  deleted: boolean;
};

export type Memory = {
  id: string;
  rootId: string;
  version: number;
  parentId: string | null;
  supersedes: string[];
  isLatest: boolean;
  type: string;
  title: string;
  content: string;
  concepts: string[];
  files: string[];
  project: string | null;
  agentId: string | null;
  sessionIds: string[];
  sourceObservationIds: string[];
  strength: number;
  importance: number;
  createdAt: string;
  updatedAt: string;
  dated: boolean;
  validFrom: string;
  validTo: string | null;
  forgetAfter: string | null;
  metadata: Json;
  scope: string;
  visibility?: string;
  umo?: string | null;
  owners?: string[];
  shareIntoGroups?: boolean;
  uri?: string;
  domain?: string;
  memoryType?: string;
  disclosure?: string;
  subject?: string;
  entities?: string[];
  topics?: string[];
  state?: string;
  deprecatedAt?: string | null;
  foldedInto?: string | null;
};

export type Observation = {
  id: string;
  sessionId: string;
  project: string;
  agentId: string | null;
  timestamp: string;
  storedAt: string;
  hookType: string;
  type: string;
  title: string;
  subtitle: string;
  narrative: string;
  facts: string[];
  concepts: string[];
  files: string[];
  importance: number;
  confidence: number;
  raw: Json;
};

export type ProceduralCounts = {
  newProcedures: number;
  patternsAnalyzed: number;
};

export type Relation = {
  id: string;
  sourceId: string;
  targetId: string;
  type: string;
  agentId: string | null;
  createdAt: string;
};

export type RelationIn = {
  from: string;
  to: string;
  relationType: string;
};

export type ReplayTimeline = {
  events: Json[];
  eventCount: number;
  totalDurationMs: number;
};

/** One step; without an order, its place in the list. */
export type RoutineStep = {
  title: string;
  description?: string;
  order?: number | null;
  priority?: number;
  tags?: string | string[];
  dependsOn?: number[];
};

export type SemanticCounts = {
  newFacts: number;
  totalSummaries: number;
};

export type Session = {
  id: string;
  project: string;
  cwd: string;
  agentId: string | null;
  title: string;
  status: string;
  startedAt: string;
  updatedAt: string;
  endedAt: string | null;
  observationCount: number;
  firstPrompt: string;
};

export type SimilarShape = {
  id: string;
  title: string;
  similarity: number;
};

export type Slot = {
  id: string;
  label: string;
  scope: string;
  project: string | null;
  agentId: string | null;
  content: string;
  description: string;
  sizeLimit: number;
  pinned: boolean;
  readOnly: boolean;
  createdAt: string | null;
  updatedAt: string | null;
};

export type SnapshotHealth = {
  count: number;
  bytes: number;
  newest: Json | null;
  damaged: string[];
  everySeconds: number;
  drill: DrillShape;
  guard: Json | null;
  vault: string | null;
  path: string | null;
};

/** Which snapshot an answer comes from, and up to when the journal added to it. */
export type SnapshotShape = {
  id: string;
  label: string;
  createdAt: string;
  upto?: string;
  notes?: string[];
};

export type SnapshotsHealth = {
  newest: string | null;
  ageSeconds: number | null;
  waiting: number;
  provenSeconds: number | null;
  drill: string | null;
  journal?: JournalHealth;
};

export type SpoolHealth = {
  waiting: number;
  refused: number;
  dropped: number;
};

export type Summary = {
  sessionId: string;
  project: string;
  agentId: string | null;
  title: string;
  narrative: string;
  keyDecisions: string[];
  filesModified: string[];
  concepts: string[];
  observationCount: number;
  maker: string;
  createdAt: string;
};

export type Token = {
  id: string;
  name: string;
  agentId: string | null;
  scopes: string[];
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
};

/**
 * Record one event of an agent's session: a prompt, a tool call, a failure.
 *
 * The event is redacted, compressed into title, narrative, facts, concepts and files, and can be searched at once. A
 * repeat of the same event within five minutes returns the first one.
 */
export type ObserveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Type of the event, such as prompt_submit or post_tool_use. */
  hookType: string;
  /** Time of the event. */
  timestamp: string;
  /** Content of the event. */
  data?: Json;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string;
  /** Working folder of the agent. */
  cwd?: string;
};

/** What `POST /observe` answers. */
export type ObserveAnswer = {
  observationId: string;
  sessionId: string;
  deduplicated?: boolean;
  redacted?: string[];
};

/**
 * Record something you noticed in this session, in your own words.
 *
 * Use it for passing observations worth finding again, and memory_save for facts to keep for good.
 */
export type AgentObserveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Project: the address of its repository, its folder, or a name. */
  project: string;
  /** Another name for content. */
  text?: string | null;
  /** The text. */
  content?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Title. */
  title?: string | null;
  /** Working folder of the agent. */
  cwd?: string;
  /** An image, base64-encoded. */
  imageData?: string | null;
};

/** What `POST /agent/observe` answers. */
export type AgentObserveAnswer = {
  observationId: string;
  sessionId: string;
  deduplicated?: boolean;
  redacted?: string[];
};

/** Start or resume a session and get its context. Other sessions are not affected. */
export type SessionStartRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Project: the address of its repository, its folder, or a name. */
  project: string;
  /** Working folder of the agent. */
  cwd: string;
  /** Title. */
  title?: string | null;
  /** Start time. Default: now. */
  timestamp?: string | null;
  /** Return the context for the session. */
  context?: boolean;
  /** Why it starts, as hooks report it. After compact or clear, nothing counts as told. */
  source?: string | null;
};

/** What `POST /session/start` answers. */
export type SessionStartAnswer = {
  session: Session;
  context: string;
  alarm?: string;
};

/**
 * Import a part of a session's transcript (Claude Code or Codex): messages, prompts and tool calls, each once.
 *
 * `consumed` is the number of bytes that need not be sent again. It excludes a half-written line and a tool call
 * without a result. Repeating a part, or importing the whole file later, adds no duplicates.
 */
export type SessionTranscriptRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string;
  /** Working folder of the agent. */
  cwd?: string;
  /** Complete lines of the transcript, starting where the last response ended. */
  text?: string;
  /** Number of the first line in the file. */
  firstLine?: number;
  /** Last message of the agent, which may not be in the file yet. */
  lastMessage?: string;
  /** Time of the event. */
  timestamp?: string | null;
};

/** What `POST /session/transcript` answers. */
export type SessionTranscriptAnswer = {
  stored: number;
  duplicates: number;
  skippedLines: number;
  consumed: number;
  consumedLines: number;
};

/**
 * Mark a session as completed. A later event reopens it.
 *
 * Ending an unknown session is not an error; `known` is then false.
 */
export type SessionEndRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** End time. Default: now. */
  timestamp?: string | null;
};

/** What `POST /session/end` answers. */
export type SessionEndAnswer = {
  success: boolean;
  known: boolean;
};

/** Link a git commit to the session in which it was made. */
export type SessionCommitRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Hash of the commit. */
  sha: string;
  /** Id of the session. */
  sessionId?: string | null;
  /** Branch of the commit. */
  branch?: string;
  /** Repository of the commit. */
  repo?: string;
  /** Message of the commit. */
  message?: string;
  /** Author of the commit. */
  author?: string;
  /** Time of the commit. */
  authoredAt?: string;
  /** Paths of the files concerned. */
  files?: string | string[];
};

/** What `POST /session/commit` answers. */
export type SessionCommitAnswer = {
  success: boolean;
  commit: Commit;
};

/** Find the sessions in which a git commit was made, by its sha or a prefix of it. */
export type SessionByCommitRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Hash of the commit. */
  sha: string;
};

/** What `GET /session/by-commit` answers. */
export type SessionByCommitAnswer = {
  commit: Commit;
  sessions: Session[];
};

/** List the git commits linked to sessions, newest first. */
export type CommitsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Branch of the commit. */
  branch?: string | null;
  /** Repository of the commit. */
  repo?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /commits` answers. */
export type CommitsAnswer = {
  commits: Commit[];
};

/**
 * List sessions, newest first, with their titles and summaries.
 *
 * Use it to see what was worked on lately before asking for details of one session.
 */
export type SessionsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Status. */
  status?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /sessions` answers. */
export type SessionsAnswer = {
  sessions: Session[];
  total: number;
};

/** List the observations of one session, oldest first. */
export type ObservationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /observations` answers. */
export type ObservationsAnswer = {
  observations: Observation[];
  total: number;
};

/**
 * Save a fact, decision, preference or pattern permanently, so that later sessions find it.
 *
 * One fact per call, in a full sentence. Saying the same again, perhaps with words added, makes a new version of the
 * old memory; with words exchanged or taken away it is a memory of its own.
 * `similarTo` names memories that may need to be forgotten or evolved instead.
 */
export type RememberRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** The text. */
  content: string;
  /** Type, such as fact, decision, preference or bug. */
  type?: string;
  /** Title. */
  title?: string | null;
  /** Concepts that the text is about. */
  concepts?: string | string[];
  /** Paths of the files concerned. */
  files?: string | string[];
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Ids of the observations that the memory comes from. */
  sourceObservationIds?: string | string[];
  /** Time of creation. Default: now. */
  createdAt?: string | null;
  /** Days until the memory is removed. Default: never. */
  ttlDays?: number | null;
  /** Importance from 1 to 5; unimportant records expire first. */
  importance?: number;
  /** Who may see it. Default: personal in a chat, otherwise global. */
  scope?: "global" | "personal" | "group" | "conversation" | null;
  /** Personal memories only: visible to the owner alone, or to all owners. */
  visibility?: "private" | "group" | null;
  /** Sender ids of additional owners. */
  owners?: string | string[];
  /** Allow a memory from a private chat to be recalled in groups where its owner is present. */
  shareIntoGroups?: boolean;
  /** permanent: the memory never expires. */
  memoryType?: "normal" | "permanent";
  /** Address, domain://path. If a memory exists there, this becomes its new version. */
  uri?: string | null;
  /** Domain of the address that the memory gets. */
  domain?: string;
  /** When the memory should be recalled. */
  disclosure?: string;
  /** Whom or what the text is about. */
  subject?: string;
  /** People and things that the text names. */
  entities?: string | string[];
  /** Topics of the text. */
  topics?: string | string[];
};

/** What `POST /remember` answers. */
export type RememberAnswer = {
  success: boolean;
  memory: Memory;
  similarTo?: SimilarShape[];
  deduplicated?: boolean;
  redacted?: string[];
};

/** Save a fact for a named agent and project; otherwise the same as memory_save. */
export type AgentRememberRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** The text. */
  content: string;
  /** Type, such as fact, decision, preference or bug. */
  type?: string;
  /** Title. */
  title?: string | null;
  /** Concepts that the text is about. */
  concepts?: string | string[];
  /** Paths of the files concerned. */
  files?: string | string[];
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Ids of the observations that the memory comes from. */
  sourceObservationIds?: string | string[];
  /** Time of creation. Default: now. */
  createdAt?: string | null;
  /** Days until the memory is removed. Default: never. */
  ttlDays?: number | null;
  /** Importance from 1 to 5; unimportant records expire first. */
  importance?: number;
  /** Who may see it. Default: personal in a chat, otherwise global. */
  scope?: "global" | "personal" | "group" | "conversation" | null;
  /** Personal memories only: visible to the owner alone, or to all owners. */
  visibility?: "private" | "group" | null;
  /** Sender ids of additional owners. */
  owners?: string | string[];
  /** Allow a memory from a private chat to be recalled in groups where its owner is present. */
  shareIntoGroups?: boolean;
  /** permanent: the memory never expires. */
  memoryType?: "normal" | "permanent";
  /** Address, domain://path. If a memory exists there, this becomes its new version. */
  uri?: string | null;
  /** Domain of the address that the memory gets. */
  domain?: string;
  /** When the memory should be recalled. */
  disclosure?: string;
  /** Whom or what the text is about. */
  subject?: string;
  /** People and things that the text names. */
  entities?: string | string[];
  /** Topics of the text. */
  topics?: string | string[];
};

/** What `POST /agent/remember` answers. */
export type AgentRememberAnswer = {
  success: boolean;
  memory: Memory;
  similarTo?: SimilarShape[];
  deduplicated?: boolean;
  redacted?: string[];
};

/** Save up to 1,000 facts. Returns one result per item in the same order; an invalid item does not stop the rest. */
export type RememberBatchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** The memories to save. */
  memories: Json[];
};

/** What `POST /remember/batch` answers. */
export type RememberBatchAnswer = {
  success: boolean;
  results: BatchItem[];
  saved: number;
  failed: number;
};

/** Replace a memory's content with a new version. The old version is kept in the history but no longer found. */
export type EvolveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  memoryId: string;
  /** The new text. */
  newContent: string;
  /** The new title. Default: as before. */
  newTitle?: string | null;
  /** Allow this text from a private chat to be recalled in groups, as the memory is. */
  shareIntoGroups?: boolean;
};

/** What `POST /evolve` answers. */
export type EvolveAnswer = {
  success: boolean;
  memory: Memory;
};

/** List memories, newest first; with asOf, those that were known at that moment. */
export type MemoriesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Only the newest version of each memory. */
  latest?: boolean;
  /** Return only the number of memories. */
  count?: boolean;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  asOf?: string | null;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
  /** text: also return a list in readable form. */
  format?: "full" | "text";
  /** Language of that list. */
  locale?: "en" | "zh";
};

/** What `GET /memories` answers. */
export type MemoriesAnswer = {
  memories: Memory[];
  total: number;
  text?: string;
};

/** Show one memory by id or address: all its versions, newest first, and how often it was recalled. */
export type MemoryRequest = {
  /** Id or address of the memory. */
  id: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
};

/** What `GET /memories/{id}` answers. */
export type MemoryAnswer = {
  memory: Memory;
  versions: Memory[];
  addresses?: Json[];
  recallCount?: number;
  lastRecalledAt?: string;
};

/** List the addresses of memories in alphabetical order, with the memory at each. */
export type AddressesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Only addresses with this prefix, such as facts:// or facts://home/ */
  under?: string;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /addresses` answers. */
export type AddressesAnswer = {
  addresses: Json[];
};

/** Add another address to a memory. Every address resolves to its current version. */
export type AddressAliasRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  id: string;
  /** Additional address, domain://path. */
  alias: string;
};

/** What `POST /addresses/alias` answers. */
export type AddressAliasAnswer = {
  success: boolean;
  memory: Memory;
  addresses: Json[];
};

/** Change the address of a memory. The old address redirects to the new one. */
export type AddressMoveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  id: string;
  /** New address, domain://path. */
  to: string;
};

/** What `POST /addresses/move` answers. */
export type AddressMoveAnswer = {
  success: boolean;
  memory: Memory;
  addresses: Json[];
};

/**
 * Carry out a command of Anthropic's memory tool (memory_20250818): the `input` of a tool_use block in, `content`
 * and `is_error` of the tool_result out.
 *
 * Files under /memories are memories with versions: they are searched, in snapshots, and of the chat or agent that
 * made them. A command that cannot be carried out, such as on a path outside /memories, is an answer with is_error.
 */
export type MemoryToolRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  command: "view" | "create" | "str_replace" | "insert" | "delete" | "rename";
  /** A file or folder under /memories. */
  path?: string | null;
  /** view: first and last line; -1 is the end. */
  view_range?: number[] | null;
  /** create: the text of the file. */
  file_text?: string | null;
  /** str_replace: text that is there once. */
  old_str?: string | null;
  /** str_replace: text in its place. Default: none. */
  new_str?: string | null;
  /** insert: number of the line after which the text is inserted; 0 is the beginning. */
  insert_line?: number | null;
  /** insert: the text. */
  insert_text?: string | null;
  /** rename: the file or folder. */
  old_path?: string | null;
  /** rename: its new path. */
  new_path?: string | null;
};

/** What `POST /memory-tool` answers. */
export type MemoryToolAnswer = {
  content: string;
  is_error: boolean;
};

/**
 * Put a file of the memory tool back as it was before its last change, or bring a deleted one back.
 *
 * Called again, it undoes that. All versions: memory memories://PATH.
 */
export type MemoryToolUndoRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** The file, /memories/… */
  path: string;
};

/** What `POST /memory-tool/undo` answers. */
export type MemoryToolUndoAnswer = {
  success: boolean;
  memory: Memory;
};

/** Create entities of the knowledge graph, with observations. Returns those that were new. */
export type CreateEntitiesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** People and things that the text names. */
  entities: EntityIn[];
};

/** What `POST /knowledge-graph/entities` answers. */
export type CreateEntitiesAnswer = {
  entities: GraphEntity[];
};

/** Create relations between entities, in active voice. Returns those that were new. */
export type CreateRelationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  relations: RelationIn[];
};

/** What `POST /knowledge-graph/relations` answers. */
export type CreateRelationsAnswer = {
  relations: GraphLink[];
};

/** Add observations to entities. Returns those that were new; if an entity does not exist, none is added. */
export type AddObservationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  observations: ContentsIn[];
};

/** What `POST /knowledge-graph/observations` answers. */
export type AddObservationsAnswer = {
  results: AddedShape[];
};

/** Delete entities with their observations and relations. They can be restored until they are forgotten. */
export type DeleteEntitiesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  entityNames: string[];
};

/** What `POST /knowledge-graph/entities/delete` answers. */
export type DeleteEntitiesAnswer = {
  success: boolean;
  message: string;
};

/** Delete observations of entities. They can be restored until they are forgotten. */
export type DeleteObservationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  deletions: DeletionIn[];
};

/** What `POST /knowledge-graph/observations/delete` answers. */
export type DeleteObservationsAnswer = {
  success: boolean;
  message: string;
};

/** Delete relations. They can be restored until they are forgotten. */
export type DeleteRelationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  relations: RelationIn[];
};

/** What `POST /knowledge-graph/relations/delete` answers. */
export type DeleteRelationsAnswer = {
  success: boolean;
  message: string;
};

/** Read the whole knowledge graph. */
export type ReadGraphRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** jsonl: also the lines of the memory server's file, as text. */
  format?: "graph" | "jsonl";
};

/** What `GET /knowledge-graph` answers. */
export type ReadGraphAnswer = {
  entities: GraphEntity[];
  relations: GraphLink[];
  text?: string;
};

/**
 * Find entities whose name, type or observations hold the text, with all their relations.
 *
 * Where none does, those are found that the words or the meaning of the query lead to.
 */
export type SearchNodesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Text to search for. */
  query: string;
};

/** What `POST /knowledge-graph/search` answers. */
export type SearchNodesAnswer = {
  entities: GraphEntity[];
  relations: GraphLink[];
};

/** Show entities by their names, with all their relations. Names that do not exist are passed over. */
export type OpenNodesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  names: string[];
};

/** What `POST /knowledge-graph/open` answers. */
export type OpenNodesAnswer = {
  entities: GraphEntity[];
  relations: GraphLink[];
};

/**
 * Store or remove up to 1,000 items in one transaction: JSON values under exact keys in namespaces.
 *
 * A value comes back as it was stored: keys, numbers and structure are kept. Secrets in its texts are removed before;
 * `redacted` names their kinds. With secrets=refuse nothing is stored then.
 */
export type ItemsPutRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Each with namespace, key, value (null removes the item), and if wanted text and ttlMinutes. */
  items: ItemPut[];
  /** refuse: store nothing if a value contains a secret, instead of removing it. */
  secrets?: "remove" | "refuse";
};

/** What `POST /items` answers. */
export type ItemsPutAnswer = {
  items: (ItemShape | null)[];
  redacted?: string[];
};

/** Get items by their keys, each in its place; null where there is none. */
export type ItemsGetRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
  keys: string | string[];
};

/** What `POST /items/get` answers. */
export type ItemsGetAnswer = {
  items: (ItemShape | null)[];
};

/** List the items of one namespace in the order of their keys, without those below it. */
export type ItemsListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
  /** Begin with the last item, by key. */
  last?: boolean;
};

/** What `POST /items/list` answers. */
export type ItemsListAnswer = {
  items: ItemShape[];
};

/**
 * Find items of a namespace and of those below it, by the fields of their values and by words and meaning.
 *
 * With a query the best come first, each with a score; items that it does not find follow without one. Otherwise the
 * items that were changed last come first.
 */
export type ItemsSearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace?: string | string[];
  /** Text to search for. */
  query?: string | null;
  /** Fields of the value and what they must equal, or operators: $eq, $ne, $gt, $gte, $lt, $lte. */
  filter?: Json;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `POST /items/search` answers. */
export type ItemsSearchAnswer = {
  items: ItemShape[];
};

/** List the namespaces that have items, sorted. */
export type ItemsNamespacesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** What the path begins with; * stands for any name. */
  prefix?: string | string[];
  /** What the path ends with; * stands for any name. */
  suffix?: string | string[];
  /** Cut longer paths to so many names. */
  maxDepth?: number | null;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `POST /items/namespaces` answers. */
export type ItemsNamespacesAnswer = {
  namespaces: string[][];
};

/** Take the last item, by key, out of a namespace; null if there is none. */
export type ItemsPopRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
};

/** What `POST /items/pop` answers. */
export type ItemsPopAnswer = {
  item: ItemShape | null;
};

/** Remove all items of a namespace, without those below it. */
export type ItemsClearRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
};

/** What `POST /items/clear` answers. */
export type ItemsClearAnswer = {
  items: number;
};

/** Let items with a time to live last their whole time again. */
export type ItemsTouchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the namespace, such as ["users", "ada"] or users,ada. */
  namespace: string | string[];
  keys: string | string[];
};

/** What `POST /items/touch` answers. */
export type ItemsTouchAnswer = {
  items: number;
};

/**
 * Remove a memory, an observation or a session. Snapshots may still contain it.
 *
 * `deleted` counts the removed records, including those derived from them. An unknown id is an error. `snapshots`
 * lists the snapshots made since the record exists; remove one with: holdfast snapshot delete ID. Before a session of
 * ten or more observations is removed, a snapshot is made if the settings require one.
 */
export type ForgetRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id of a memory or an observation. */
  memoryId?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Ids of the observations. */
  observationIds?: string | string[];
};

/** What `POST /forget` answers. */
export type ForgetAnswer = {
  success: boolean;
  deleted: number;
  counts: { [name: string]: number };
  snapshots?: string[];
  hint?: string;
};

/** Remove several memories permanently. The reason is recorded in the audit log. */
export type GovernanceDeleteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Ids of the memories. */
  memoryIds: string | string[];
  /** Reason, kept in the audit log. */
  reason?: string;
};

/** What `DELETE /governance/memories` answers. */
export type GovernanceDeleteAnswer = {
  success: boolean;
  deleted: number;
  requested: number;
  total: number;
};

/** Remove expired records now: memories past their time to live and old unimportant observations. */
export type AutoForgetRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Report what would be done, without doing it. */
  dryRun?: boolean;
};

/** What `POST /auto-forget` answers. */
export type AutoForgetAnswer = {
  success: boolean;
  evictedMemories: string[];
  evictedObservations: string[];
  evicted: number;
  dryRun: boolean;
};

/**
 * Run the expiry of chat memories now: summarize, deprecate and delete what is due, a limited number per run.
 *
 * It covers what the caller may see; with allChats, all chats. Global and permanent memories never expire.
 */
export type LifecycleRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Report what would be done, without doing it. */
  dryRun?: boolean;
  /** Days without use after which a memory of importance 3 is deprecated. */
  expireDays?: number;
  /** Days without use after which memories are merged into a summary. Requires a language model. */
  foldDays?: number;
  /** Days during which a deprecated memory can be restored. */
  graceDays?: number;
};

/** What `POST /lifecycle` answers. */
export type LifecycleAnswer = {
  success: boolean;
  dryRun: boolean;
  folded: string[];
  summaries: string[];
  deprecated: string[];
  purged: string[];
  more: boolean;
};

/** Exclude a memory from search without deleting it. It can be restored until it is purged. */
export type MemoryDeprecateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  id: string;
};

/** What `POST /memories/deprecate` answers. */
export type MemoryDeprecateAnswer = {
  success: boolean;
  memory: Memory;
};

/** Restore a memory that was deprecated or merged into a summary. */
export type MemoryRestoreRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  id: string;
};

/** What `POST /memories/restore` answers. */
export type MemoryRestoreAnswer = {
  success: boolean;
  memory: Memory;
};

/**
 * Pin or unpin a memory, or change who may see it. Its text and versions are not changed.
 *
 * A scope applies to all versions. In a chat only the owner of a memory may change it.
 */
export type MemoryChangeRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of the memory. */
  id: string;
  /** Keep the memory until it is removed explicitly. */
  pinned?: boolean | null;
  /** Who may see it: all users, its owners, or the group or chat it was created in. */
  scope?: "global" | "personal" | "group" | "conversation" | null;
  /** Personal memories only: visible to the owner alone, or to all owners. */
  visibility?: "private" | "group" | null;
};

/** What `POST /memories/change` answers. */
export type MemoryChangeAnswer = {
  success: boolean;
  memory: Memory;
};

/**
 * Find memories and observations that answer a question, best first.
 *
 * Use it before answering anything that earlier sessions may have settled: decisions, preferences, causes of bugs, how
 * things are done here. Ask with the words you would expect in the answer. With explain each hit has the reasons for
 * its score. perSession limits how many hits of one session come first. Each hit has the probability that it answers
 * (confidence); answerable is false where nothing is likely to, and then the nearest are returned all the same.
 */
export type SearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Text to search for. */
  query: string;
  /** Maximum number of results (up to 100). */
  limit?: number;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Only records with all of these concepts (exact match). */
  concepts?: string | string[];
  /** Only records with all of these paths (exact match). */
  files?: string | string[];
  before?: string | null;
  after?: string | null;
  asOf?: string | null;
  /** Kind of record. */
  kind?: "memory" | "observation" | null;
  /** passages: return only the matching text of each hit. */
  format?: "full" | "compact" | "narrative" | "passages";
  /** Return the complete record of each hit. */
  full?: boolean;
  /** Current project. Hits of other projects are returned only if this one has none. */
  here?: string | null;
  /** Maximum size of the response in tokens. Hits that do not fit are left out. */
  token_budget?: number | null;
  /** Maximum number of hits of one session ahead of those of other sessions. */
  perSession?: number | null;
  /** Only hits whose probability to answer is at least this; no hit reaches 0.5. Without it the nearest are returned, however unlikely. */
  minConfidence?: number | null;
  /** Explain the score of each hit. */
  explain?: boolean;
  /** Search a snapshot instead: its id, or a time. A time is that moment in the vault's journal, or else the newest snapshot before it. */
  at?: string | null;
  /** File with the age identity that decrypts the snapshot. */
  identity?: string | null;
};

/** What `POST /search` answers. */
export type SearchAnswer = {
  format: string;
  results: HitShape[];
  answerable: boolean;
  confidence: number;
  tokens_used: number;
  tokens_budget: number | null;
  truncated: boolean;
  hint?: string;
  text?: string;
  snapshot?: SnapshotShape;
};

/**
 * Find memories in a short form, with matching lessons; then expand the ones you need.
 *
 * Call it with a query for titles and scores, and again with expandIds for the full records.
 */
export type SmartSearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Text to search for. */
  query?: string | null;
  /** Maximum number of results (up to 100). */
  limit?: number;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  before?: string | null;
  after?: string | null;
  asOf?: string | null;
  /** Ids of the records to return in full. */
  expandIds?: string | string[];
};

/** What `POST /smart-search` answers. */
export type SmartSearchAnswer = {
  mode: string;
  results: Json[];
  lessons?: Lesson[];
  truncated?: boolean;
};

/**
 * Get what an agent should know before it works on a project, within a budget of tokens.
 *
 * Contains, in this order: the user's wishes and rules, current decisions and facts, findings, open work, the last
 * sessions and the important files. With sessionId, memories relevant to that session come first. What was left out or
 * shortened is counted by section. With umo, only what the caller may see in that chat: memories by scope, each with
 * its source, owner and date.
 */
export type ContextRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project: string;
  /** Maximum size of the context, in tokens. */
  budget?: number | null;
  /** In a chat: the latest message, used as the search query. */
  query?: string | null;
  /** In a chat: language of the text around the memories. */
  locale?: "en" | "zh";
  /** Return the reason and the source records of each line. */
  explain?: boolean;
};

/** What `POST /context` answers. */
export type ContextAnswer = {
  context: string;
  blocks: number;
  tokens: number;
  omitted: { [name: string]: number };
  shortened: { [name: string]: number };
  lines?: Json[];
  project?: string;
  known?: boolean;
};

/**
 * Get up to three memories that are clearly relevant to a prompt and new to this session, or nothing.
 *
 * For hooks that run when the user submits a prompt; at most 300 tokens.
 */
export type ContextPromptRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** The prompt. */
  prompt: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Working folder of the agent. */
  cwd?: string | null;
};

/** What `POST /context/prompt` answers. */
export type ContextPromptAnswer = {
  context: string;
  ids: string[];
};

/** Get what is known about the files and terms that a tool is about to use, at most 4,000 characters. */
export type EnrichRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Paths of the files concerned. */
  files?: string | string[];
  /** Words to look up. */
  terms?: string | string[];
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Name of the tool. */
  toolName?: string | null;
};

/** What `POST /enrich` answers. */
export type EnrichAnswer = {
  context: string;
};

/**
 * Show what a project is about: its concepts, files, conventions and common errors.
 *
 * Without a project, lists the known projects.
 */
export type ProfileRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `GET /profile` answers. */
export type ProfileAnswer = Json;

/**
 * Ask the kept questions again and list those that would now be answered differently, by id.
 *
 * Memories stored since and records forgotten since do not count. The server does this by itself after an upgrade, a
 * change of the embedder, a rebuild of the index, a restore or a merge.
 */
export type RecallCheckRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Accept the present answers, and compare with them from now on. */
  accept?: boolean;
};

/** What `POST /recall/check` answers. */
export type RecallCheckAnswer = {
  summary: string;
  asked: number;
  same: number;
  different: number;
  forgotten: number;
  keeps: string;
  changed: Json[];
};

/**
 * Show what happened before and after a moment.
 *
 * The anchor is the id of an observation or memory, the address of a memory, a time such as 2026-11-15T20:41:34Z, or
 * words such as "3 days ago". Use it after a search, to see what led to a hit and what followed. In a chat it shows
 * memories only.
 */
export type TimelineRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of a record, a time such as 2026-11-15T20:41:34Z, or a phrase such as 3 days ago. */
  anchor?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Number of records before the moment. */
  before?: number;
  /** Number of records after the moment. */
  after?: number;
};

/** What `POST /timeline` answers. */
export type TimelineAnswer = {
  success: boolean;
  observations: Observation[];
  anchorIndex: number;
  memories?: Memory[];
};

/** List sessions that can be replayed: those with observations, newest first. */
export type ReplaySessionsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /replay/sessions` answers. */
export type ReplaySessionsAnswer = {
  success: boolean;
  sessions: Session[];
};

/** Load a session's events in order, each with its time since the start, for replay. */
export type ReplayLoadRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
};

/** What `GET /replay/load` answers. */
export type ReplayLoadAnswer = {
  success: boolean;
  session: Session;
  timeline: ReplayTimeline;
};

/**
 * Load a range of a session's frames in order, with the input and output of each tool.
 *
 * Long texts are truncated; `cut` is their original length.
 */
export type ReplayFramesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId: string;
  /** Maximum number of results (up to 200). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /replay/frames` answers. */
export type ReplayFramesAnswer = {
  success: boolean;
  session: Session;
  frames: Json[];
  total: number;
  offset: number;
  totalDurationMs: number;
};

/** Show what earlier sessions observed about files: changes, errors, findings; the most important first. */
export type FileHistoryRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Paths, or the last parts of paths. */
  files: string | string[];
  /** Session to leave out: the one that asks. */
  sessionId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /file-context` answers. */
export type FileHistoryAnswer = {
  context: string;
  files: Json[];
};

/** Find what recurs over sessions: files that are worked on together, and errors that come back. */
export type PatternsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /patterns` answers. */
export type PatternsAnswer = {
  patterns: Json[];
};

/**
 * Find observations with a picture by the words around it. Pictures themselves are not looked at.
 *
 * A picture cannot be searched by another picture: describe it in words.
 */
export type VisionSearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Words that were said or written around the picture. */
  queryText?: string | null;
  queryImageRef?: string | null;
  queryImageBase64?: string | null;
  topK?: number;
  /** Id of the session. */
  sessionId?: string | null;
};

/** What `POST /vision-search` answers. */
export type VisionSearchAnswer = {
  success: boolean;
  results: Json[];
  total: number;
  searched: string;
};

/** Show memories that are linked to one: by relations, and by being versions of each other. */
export type RelatedRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id or address of a memory. */
  memoryId: string;
  /** Steps to follow, up to 5. */
  maxHops?: number;
  /** A link is sure by 1 at the first step, then by half. */
  minConfidence?: number;
};

/** What `GET /relations/related` answers. */
export type RelatedAnswer = {
  results: Json[];
};

/**
 * Show where a memory or an observation comes from: its sources and their sessions, and a hash of all that it says.
 *
 * A record whose row does not fit its checksum is not shown: the answer is that the memory is damaged.
 */
export type ProvenanceRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id of a memory or an observation, or address of a memory. */
  id: string;
};

/** What `GET /provenance` answers. */
export type ProvenanceAnswer = {
  success: boolean;
  type: string;
  memory?: Json;
  observation?: Json;
  session?: Json | null;
  citations: Json[];
  citationCount: number;
  contentHash: string;
};

/** List lessons, highest confidence first. */
export type LessonsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Where the lesson comes from. */
  source?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /lessons` answers. */
export type LessonsAnswer = {
  success: boolean;
  lessons: Lesson[];
  total: number;
};

/**
 * Save a lesson: a rule learnt from experience that should guide later work.
 *
 * Saving it again raises its confidence; without confirmation the confidence falls every week. `context` describes
 * when it applies.
 */
export type LessonSaveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** The text. */
  content: string;
  /** When the lesson applies. */
  context?: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** How certain the lesson is, from 0 to 1. */
  confidence?: number | null;
  /** Tags. */
  tags?: string | string[];
  /** Where the lesson comes from. */
  source?: string;
  /** Ids of the records that the lesson comes from. */
  sourceIds?: string | string[];
};

/** What `POST /lessons` answers. */
export type LessonSaveAnswer = {
  success: boolean;
  action: string;
  lesson: Lesson;
};

/** Remove a lesson that proved wrong. Saving it again restores it. */
export type LessonDeleteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the lesson. */
  lessonId: string;
};

/** What `DELETE /lessons` answers. */
export type LessonDeleteAnswer = {
  success: boolean;
};

/**
 * Find lessons relevant to a task, ranked by keywords and confidence.
 *
 * Use it before a task that may have failed before.
 */
export type LessonSearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Text to search for. */
  query: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 100). */
  limit?: number;
};

/** What `POST /lessons/search` answers. */
export type LessonSearchAnswer = {
  success: boolean;
  lessons: Lesson[];
  total: number;
};

/** Confirm a lesson that proved right again. */
export type LessonStrengthenRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the lesson. */
  lessonId: string;
};

/** What `POST /lessons/strengthen` answers. */
export type LessonStrengthenAnswer = {
  success: boolean;
  lesson: Lesson;
};

/**
 * List the slots: small named texts such as persona, user_preferences and pending_items.
 *
 * Pinned slots come first in every context. Standard slots always exist and are initially empty.
 */
export type SlotsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `GET /slots` answers. */
export type SlotsAnswer = {
  success: boolean;
  slots: Slot[];
};

/** Read one slot by its label. */
export type SlotRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Label of the slot. */
  label: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `GET /slot` answers. */
export type SlotAnswer = {
  success: boolean;
  slot: Slot;
  scope: string;
};

/**
 * Create a slot. Its label must not exist in that scope yet.
 *
 * Use memory_slot_replace or memory_slot_append to change an existing one.
 */
export type SlotCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Label of the slot. */
  label: string;
  /** The text. */
  content?: string;
  /** global: one slot for all projects. */
  scope?: "project" | "global";
  /** Maximum size of the slot, in characters. */
  sizeLimit?: number;
  /** Include the slot in every context. */
  pinned?: boolean;
  /** Longer description. */
  description?: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /slot` answers. */
export type SlotCreateAnswer = {
  success: boolean;
  slot: Slot;
};

/** Remove a slot; a standard one becomes empty again. */
export type SlotDeleteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Label of the slot. */
  label: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `DELETE /slot` answers. */
export type SlotDeleteAnswer = {
  success: boolean;
};

/** Add a line to a slot. Rejected if the slot would exceed its size limit. */
export type SlotAppendRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Label of the slot. */
  label: string;
  /** The text. */
  text: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /slot/append` answers. */
export type SlotAppendAnswer = {
  success: boolean;
  slot: Slot;
  size: number;
};

/** Replace the whole content of a slot. */
export type SlotReplaceRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Label of the slot. */
  label: string;
  /** The text. */
  content: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /slot/replace` answers. */
export type SlotReplaceAnswer = {
  success: boolean;
  slot: Slot;
  size: number;
};

/** List actions, newest first. */
export type ActionsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Status. */
  status?: "pending" | "active" | "blocked" | "done" | "cancelled" | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /actions` answers. */
export type ActionsAnswer = {
  actions: Action[];
  total: number;
};

/**
 * Record work to be done, with a priority; higher comes first.
 *
 * An action that requires others is blocked until all of them are done.
 */
export type ActionCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Title. */
  title: string;
  /** Longer description. */
  description?: string;
  /** Priority from 0 to 100; higher comes first. */
  priority?: number;
  /** Status. */
  status?: "pending" | "active" | "blocked" | "done" | "cancelled";
  /** Tags. */
  tags?: string | string[];
  /** Id of the session. */
  sessionId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Action that this one is part of. */
  parentId?: string | null;
  /** Ids of actions that must be done first. */
  requires?: string | string[];
};

/** What `POST /actions` answers. */
export type ActionCreateAnswer = {
  success: boolean;
  action: Action;
  edges: Relation[];
};

/**
 * Change an action: its status when work starts or ends, what came of it, or its title, priority and tags.
 *
 * What required an action that is now done, and waits for nothing else, becomes pending.
 */
export type ActionUpdateRequest = {
  /** Id of the action. */
  actionId: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Title. */
  title?: string | null;
  /** Longer description. */
  description?: string | null;
  /** Priority from 0 to 100; higher comes first. */
  priority?: number | null;
  /** Status. */
  status?: "pending" | "active" | "blocked" | "done" | "cancelled" | null;
  /** Tags. */
  tags?: string | string[] | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** What came of the action. */
  result?: string | null;
};

/** What `PATCH /actions/{actionId}` answers. */
export type ActionUpdateAnswer = {
  success: boolean;
  action: Action;
};

/** Show one action: who works on it, what it waits for, what came of it, and its parts. */
export type ActionGetRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the action. */
  actionId: string;
};

/** What `GET /actions/get` answers. */
export type ActionGetAnswer = {
  success: boolean;
  action: Action;
  edges: Relation[];
  blockers: string[];
  children: Action[];
};

/** Make an action wait for another, name two that must not be worked on at once, or make one part of another. */
export type ActionEdgeRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** The action that waits, or is a part. */
  sourceActionId: string;
  /** The action that it waits for, conflicts with or is part of. */
  targetActionId: string;
  /** Type, such as fact, decision, preference or bug. */
  type: "requires" | "conflicts_with" | "part_of";
};

/** What `POST /actions/edges` answers. */
export type ActionEdgeAnswer = {
  success: boolean;
  edge: Relation;
};

/**
 * Show what can be done now, by priority, older before newer: open actions that wait for nothing.
 *
 * With agentId, without those that other agents hold a lease on.
 */
export type FrontierRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
};

/** What `GET /frontier` answers. */
export type FrontierAnswer = {
  frontier: Action[];
  total: number;
};

/** List relations between records; with an id or the address of a memory, those that start or end there. */
export type RelationsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id of a record, or address of a memory. */
  id?: string | null;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /relations` answers. */
export type RelationsAnswer = {
  relations: Relation[];
};

/**
 * Add a relation from one record to another: supersedes, contradicts, supports, depends_on and so on.
 *
 * In a chat both must be memories that the sender may see.
 */
export type RelateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Id of the record, or address of a memory. */
  sourceId: string;
  /** Id of the record, or address of a memory. */
  targetId: string;
  /** Type, such as fact, decision, preference or bug. */
  type: string;
};

/** What `POST /relations` answers. */
export type RelateAnswer = Json;

/** Return memories, their concepts and files, and the relations between them as nodes and edges. */
export type GraphRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 2000). */
  limit?: number;
};

/** What `GET /graph` answers. */
export type GraphAnswer = {
  success: boolean;
  nodes: Json[];
  edges: Json[];
};

/** Find nodes of the graph by a part of their name, or walk it from a node; with the relations between them. */
export type GraphQueryRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Part of a node's name. */
  query?: string | null;
  /** Node from which to walk. */
  startNodeId?: string | null;
  /** Only nodes of this type: memory, concept, file, … */
  nodeType?: string | null;
  /** Steps to walk, up to 5. */
  maxDepth?: number;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `POST /graph/query` answers. */
export type GraphQueryAnswer = {
  nodes: Json[];
  edges: Json[];
  depth: number;
  totalNodes: number;
  totalEdges: number;
  truncated: boolean;
  limit: number;
  offset: number;
};

/** Count the nodes and edges of the graph. */
export type GraphStatsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /graph/stats` answers. */
export type GraphStatsAnswer = {
  success: boolean;
  nodes: number;
  edges: number;
};

/**
 * Suggest the one action to work on now: open, not blocked, and with no lease of another agent.
 *
 * Priority counts most, then work that was begun, what others wait for, and age. Take it with memory_lease.
 */
export type NextActionRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `GET /next` answers. */
export type NextActionAnswer = {
  success: boolean;
  suggestion: Json | null;
  message: string;
  totalActions: number;
  totalUnblocked: number;
};

/**
 * Acquire, renew or release the lease on an action, so that no two agents work on it at once.
 *
 * If another agent holds it, success is false, and heldBy and expiresAt tell who and until when. Releasing it with a
 * result marks the action as done.
 */
export type LeaseRequest = {
  /** Only entries of this operation. */
  operation: "acquire" | "renew" | "release";
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the action. */
  actionId: string;
  /** With release: what came of the action, which is then done. */
  result?: string | null;
  /** Milliseconds that the lease lasts, an hour at most. */
  ttlMs?: number;
};

/** What `POST /leases/{operation}` answers. */
export type LeaseAnswer = {
  success: boolean;
  lease?: Json;
  renewed?: boolean;
  released?: boolean;
  message?: string;
  error?: string;
  heldBy?: string | null;
  expiresAt?: string;
  exitCode?: number;
};

/** Remove a signal or another record of coordination for good. Actions that wait for it no longer do. */
export type CoordinationRemoveRequest = {
  /** Id of a signal, lease, checkpoint, sentinel, sketch, routine, run, facet or share. */
  id: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `DELETE /coordination/{id}` answers. */
export type CoordinationRemoveAnswer = {
  success: boolean;
};

/**
 * Repair what is wrong with actions, leases, gates, sketches, signals, facets and shares.
 *
 * Actions that wait for nothing are unblocked, what is past its time is ended, and what points at records that are
 * gone is removed. What an agent has to decide is only reported.
 */
export type HealRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Of actions, leases, checkpoints, sentinels, sketches, signals, facets, shares. Default: all. */
  categories?: string | string[];
  /** Only report what would be repaired. */
  dryRun?: boolean;
};

/** What `POST /diagnostics/heal` answers. */
export type HealAnswer = {
  success: boolean;
  dryRun: boolean;
  fixed: number;
  skipped: number;
  details: string[];
  checks: Json[];
};

/** List checkpoints, newest first. */
export type CheckpointsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Status. */
  status?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /checkpoints` answers. */
export type CheckpointsAnswer = {
  success: boolean;
  checkpoints: Json[];
};

/**
 * Create, resolve or list checkpoints: a CI result, an approval or a deploy that actions wait for.
 *
 * The linked actions are blocked until all their checkpoints are resolved as passed.
 */
export type CheckpointRequest = {
  /** Only entries of this operation. */
  operation: "create" | "resolve" | "list";
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** With create: what is waited for. */
  name?: string | null;
  /** Longer description. */
  description?: string;
  /** Type, such as fact, decision, preference or bug. */
  type?: "ci" | "approval" | "deploy" | "external" | "timer" | null;
  /** Ids of actions that wait for it. */
  linkedActionIds?: string | string[];
  expiresInMs?: number | null;
  /** With resolve: its id. */
  checkpointId?: string | null;
  /** With resolve: passed or failed. */
  status?: "pending" | "passed" | "failed" | "expired" | null;
  result?: string | Json | null;
};

/** What `POST /checkpoints/{operation}` answers. */
export type CheckpointAnswer = {
  success: boolean;
  checkpoint?: Json;
  unblockedCount?: number;
  checkpoints?: Json[];
};

/** List sentinels, newest first. */
export type SentinelsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Status. */
  status?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /sentinels` answers. */
export type SentinelsAnswer = {
  success: boolean;
  sentinels: Json[];
};

/**
 * Watch for a condition: a time that passes, a number that is reached, a text that is observed, an approval.
 *
 * The linked actions are blocked until it is triggered. There are no webhooks: let the other program trigger it.
 */
export type SentinelCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the token. */
  name: string;
  /** timer, threshold and pattern trigger by themselves; approval and custom by sentinel trigger. */
  type: "timer" | "threshold" | "pattern" | "approval" | "custom";
  /** timer: durationMs. threshold: metric (observations, errors, memories, lessons, sessions, actions, open_actions, done_actions), operator (gt, lt, eq), value. pattern: pattern, plain text with | and .* */
  config?: string | Json;
  /** Ids of actions that wait for it. */
  linkedActionIds?: string | string[];
  expiresInMs?: number | null;
};

/** What `POST /sentinels` answers. */
export type SentinelCreateAnswer = {
  success: boolean;
  sentinel: Json;
  unblockedCount?: number;
};

/** Trigger a sentinel by hand. Actions that wait for nothing else become pending. */
export type SentinelTriggerRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  sentinelId: string;
  /** JSON that is kept with it. */
  result?: string | Json | null;
};

/** What `POST /sentinels/trigger` answers. */
export type SentinelTriggerAnswer = {
  success: boolean;
  sentinel: Json;
  unblockedCount?: number;
};

/** Stop watching for the condition of a sentinel. What waits for it goes on waiting. */
export type SentinelCancelRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  sentinelId: string;
};

/** What `POST /sentinels/cancel` answers. */
export type SentinelCancelAnswer = {
  success: boolean;
  sentinel: Json;
  unblockedCount?: number;
};

/** Check the conditions of all sentinels now; a running server does it every few seconds. */
export type SentinelCheckRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `POST /sentinels/check` answers. */
export type SentinelCheckAnswer = {
  success: boolean;
  triggered: string[];
  checkedCount: number;
};

/**
 * Send a message to another agent, or to all of them. A reply stays in the thread of what it answers.
 *
 * A credential that is bound to an agent sends in its name only.
 */
export type SignalSendRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the sending agent. */
  from: string;
  /** Name of the receiving agent. Default: all agents. */
  to?: string | null;
  /** The text. */
  content: string;
  /** Type, such as fact, decision, preference or bug. */
  type?: "info" | "request" | "response" | "alert" | "handoff";
  /** Id of the signal that this one answers. */
  replyTo?: string | null;
  threadId?: string | null;
  expiresInMs?: number | null;
};

/** What `POST /signals/send` answers. */
export type SignalSendAnswer = {
  success: boolean;
  signal: Json;
};

/** Read the messages to an agent and its own, newest first. Those to it are marked as read. */
export type SignalReadRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  unreadOnly?: boolean;
  threadId?: string | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
};

/** What `GET /signals` answers. */
export type SignalReadAnswer = {
  success: boolean;
  signals: Json[];
};

/** Show a memory or an observation to the other agents of the tenant. Sharing it again changes nothing. */
export type TeamShareRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  itemId: string;
  itemType: "memory" | "pattern" | "observation";
};

/** What `POST /team/share` answers. */
export type TeamShareAnswer = {
  success: boolean;
  sharedItem: Json;
};

/** List what agents of the tenant have shared, newest first. */
export type TeamFeedRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 200). */
  limit?: number;
};

/** What `GET /team/feed` answers. */
export type TeamFeedAnswer = {
  items: Json[];
  total: number;
};

/** List sketches, newest first. */
export type SketchesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Status. */
  status?: string | null;
  /** Maximum number of results (up to 200). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /sketches` answers. */
export type SketchesAnswer = {
  success: boolean;
  sketches: Json[];
};

/** Begin a sketch: steps that are tried out, and dropped after a while unless the sketch is promoted. */
export type SketchCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Title. */
  title: string;
  /** Longer description. */
  description?: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Milliseconds until it is dropped. Default: an hour. */
  expiresInMs?: number;
};

/** What `POST /sketches` answers. */
export type SketchCreateAnswer = {
  success: boolean;
  sketch: Json;
};

/** Add a step to a sketch. Its id becomes that of an action when the sketch is promoted. */
export type SketchAddRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  sketchId: string;
  /** Title. */
  title: string;
  /** Longer description. */
  description?: string;
  /** Priority from 0 to 100; higher comes first. */
  priority?: number;
  /** Tags. */
  tags?: string | string[];
  /** Ids of steps of the sketch that come first. */
  dependsOn?: string | string[];
};

/** What `POST /sketches/add` answers. */
export type SketchAddAnswer = {
  success: boolean;
  action: Json;
};

/** Make actions of a sketch's steps, which wait for each other as the steps do. */
export type SketchPromoteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  sketchId: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /sketches/promote` answers. */
export type SketchPromoteAnswer = {
  success: boolean;
  promotedIds: string[];
};

/** Drop a sketch and its steps. */
export type SketchDiscardRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  sketchId: string;
};

/** What `POST /sketches/discard` answers. */
export type SketchDiscardAnswer = {
  success: boolean;
  discardedCount: number;
};

/** List routines, newest first. */
export type RoutinesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 200). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /routines` answers. */
export type RoutinesAnswer = {
  success: boolean;
  routines: Json[];
};

/** Keep a routine: steps that are done again and again, in their order. */
export type RoutineCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the token. */
  name: string;
  /** Longer description. */
  description?: string;
  /** Each with a title, and the orders of steps it depends on. */
  steps: RoutineStep[];
  /** Tags. */
  tags?: string | string[];
};

/** What `POST /routines` answers. */
export type RoutineCreateAnswer = {
  success: boolean;
  routine: Json;
};

/** Run a routine: each of its steps becomes an action, blocked until the steps that it depends on are done. */
export type RoutineRunRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  routineId: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Agent that runs it, as agentId. */
  initiatedBy?: string | null;
};

/** What `POST /routines/run` answers. */
export type RoutineRunAnswer = {
  success: boolean;
  run: Json;
  actionsCreated: number;
};

/** Show how far the run of a routine is. */
export type RoutineStatusRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  runId: string;
};

/** What `GET /routines/status` answers. */
export type RoutineStatusAnswer = {
  success: boolean;
  run: Json;
  actions: Json[];
  progress: { [name: string]: number };
};

/** List the dimensions of facets and their values, of one record or of all, with how often each is used. */
export type FacetsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Facets of this record. Default: of all. */
  targetId?: string | null;
};

/** What `GET /facets` answers. */
export type FacetsAnswer = {
  success: boolean;
  dimensions: Json[];
};

/** Tag an action, a memory or an observation with dimension:value. Tagging it again changes nothing. */
export type FacetTagRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  targetId: string;
  targetType: "action" | "memory" | "observation";
  /** Such as priority, team or area; without a colon. */
  dimension: string;
  value: string;
};

/** What `POST /facets` answers. */
export type FacetTagAnswer = {
  success: boolean;
  facet: Json;
  skipped?: boolean;
};

/** Remove the facets of a record in a dimension. */
export type FacetRemoveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  targetId: string;
  dimension: string;
  /** Default: all values of the dimension. */
  value?: string | null;
};

/** What `POST /facets/remove` answers. */
export type FacetRemoveAnswer = {
  success: boolean;
  removed: number;
};

/** Find actions, memories and observations by their facets: all of some, and any of others. */
export type FacetQueryRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** dimension:value, all of which a record must have. */
  matchAll?: string | string[];
  /** dimension:value, one of which a record must have. */
  matchAny?: string | string[];
  targetType?: "action" | "memory" | "observation" | null;
  /** Maximum number of results (up to 500). */
  limit?: number;
};

/** What `POST /facets/query` answers. */
export type FacetQueryAnswer = {
  success: boolean;
  results: Json[];
};

/**
 * Return folders and concepts as a graph: linked where memories name both, and each folder to its parent.
 *
 * At most 2,000 nodes, those with the most memories first; leftOut counts the rest.
 */
export type FolderGraphRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 2000). */
  limit?: number;
};

/** What `GET /graph/folders` answers. */
export type FolderGraphAnswer = {
  nodes: Json[];
  edges: Json[];
  memories: number;
  leftOut: LeftOut;
};

/** List the memories of a folder (with its subfolders) or of a concept, newest first. */
export type FolderMemoriesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Kind of record. */
  kind?: "folder" | "concept";
  /** Name of the folder or concept. */
  name: string;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Maximum number of results (up to 200). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /graph/memories` answers. */
export type FolderMemoriesAnswer = {
  memories: Memory[];
  total: number;
};

/**
 * Confirm that something marked as outdated still holds. The mark is removed permanently.
 *
 * The id is what recall shows as `marked`: one statement or memory. The id of a hit removes all marks of its turn.
 *
 * A newer statement supersedes an older one automatically where a subject clearly has a new value. This undoes that.
 */
export type StillTrueRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of a memory, observation or statement that is marked as outdated. */
  id: string;
};

/** What `POST /still-true` answers. */
export type StillTrueAnswer = {
  success: boolean;
  restored: Relation[];
};

/**
 * Condense a session into a summary: what was asked, changed and decided, and how it ended.
 *
 * Works without a language model; with an API key, the model writes the summary. Call it when a session is over. With
 * actionIds it condenses a chain of actions that are done into one note.
 */
export type SummarizeRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Ids of actions that are done, instead of a session. */
  actionIds?: string | string[];
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /summarize` answers. */
export type SummarizeAnswer = {
  success: boolean;
  summary?: Summary;
  crystal: Insight;
};

/**
 * Extract lasting knowledge from sessions: summaries, recurring facts, repeated procedures.
 *
 * Repeating it makes no duplicates. Call it now and then, not after every session.
 */
export type ConsolidateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only sessions with at least this many observations. */
  minObservations?: number;
};

/** What `POST /consolidate` answers. */
export type ConsolidateAnswer = {
  success: boolean;
  consolidated: number;
  summarized: number;
  totalObservations: number;
  semantic: SemanticCounts;
  procedural: ProceduralCounts;
};

/**
 * Write the findings of a session into the slots of its project: preferences, unfinished work, habits.
 *
 * The context includes the user's wishes and open work without this. Call it to have them in slots that you can edit.
 * Without a session, it draws insights from all sessions of the project.
 */
export type ReflectRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Default: all sessions of the project. */
  sessionId?: string | null;
  /** Maximum number of observations to read, newest first. */
  maxObservations?: number;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Insights to return, where no session is named. */
  maxClusters?: number;
};

/** What `POST /reflect` answers. */
export type ReflectAnswer = {
  success: boolean;
  applied: number;
  observationsReviewed: number;
  slots: Slot[];
  insights?: Insight[];
};

/** Summarize the latest ended sessions that have no summary yet. */
export type CrystalsAutoRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
};

/** What `POST /crystals/auto` answers. */
export type CrystalsAutoAnswer = {
  success: boolean;
  crystallized: number;
  sessionIds: string[];
};

/** List the crystals: one short note per summarized session. */
export type CrystalsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /crystals` answers. */
export type CrystalsAnswer = {
  crystals: Insight[];
  total: number;
};

/** List the facts extracted from sessions. */
export type SemanticRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /semantic` answers. */
export type SemanticAnswer = {
  items: Insight[];
  total: number;
};

/** List the procedures extracted from sessions. */
export type ProceduralRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /procedural` answers. */
export type ProceduralAnswer = {
  items: Insight[];
  total: number;
};

/** List everything extracted from sessions, newest first. */
export type InsightsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Only lessons that are at least this certain, from 0 to 1. */
  minConfidence?: number;
  /** Maximum number of results (up to 500). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /insights` answers. */
export type InsightsAnswer = {
  success: boolean;
  insights: Insight[];
  total: number;
};

/** List the second-brain pages, or read one. */
export type SecondBrainRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the page. */
  file?: string | null;
};

/** What `GET /second-brain` answers. */
export type SecondBrainAnswer = {
  success: boolean;
  files?: Json[];
  file?: string;
  content?: string;
};

/** Write a second-brain page, a Markdown text under a name. */
export type SecondBrainWriteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the page. */
  file: string;
  /** The text. */
  content: string;
};

/** What `POST /second-brain` answers. */
export type SecondBrainWriteAnswer = {
  success: boolean;
  files?: Json[];
  file?: string;
  content?: string;
};

/** Import the transcripts of a folder in HOLDFAST_IMPORT_ROOTS. Repeating it adds no duplicates. */
export type AntigravitySyncRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Accepted for older clients, and ignored. */
  mode: string;
  /** Accepted for older clients, and ignored. */
  currentConversationId?: string | null;
  /** Folder with transcripts, as an absolute path. */
  currentFolder?: string | null;
};

/** What `POST /antigravity/sync` answers. */
export type AntigravitySyncAnswer = {
  success: boolean;
  syncedSessions: string[];
  observationsAdded: number;
  crystallizations?: Json;
  reflections?: Json;
};

/** Import the transcripts of every folder in HOLDFAST_IMPORT_ROOTS. */
export type AntigravitySyncAllRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Accepted for older clients, and ignored. */
  mode: string;
  /** Accepted for older clients, and ignored. */
  currentConversationId?: string | null;
  /** Folder with transcripts, as an absolute path. */
  currentFolder?: string | null;
};

/** What `POST /antigravity/sync-all` answers. */
export type AntigravitySyncAllAnswer = {
  success: boolean;
  syncedSessions: string[];
  observationsAdded: number;
  crystallizations?: Json;
  reflections?: Json;
};

/**
 * Return the newest memories as a MEMORY.md page, or bring a MEMORY.md and this memory in line.
 *
 * With HOLDFAST_CLAUDE_MEMORY_FILE, writing replaces Holdfast's own part of that file, between two marks, and leaves
 * the rest; reading saves the rest as memories, and repeating it adds no duplicates.
 */
export type ClaudeBridgeSyncRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** write: memories into MEMORY.md. read: what it says, as memories. */
  direction?: "write" | "read";
  /** Project of what is read or written. */
  project?: string | null;
};

/** What `POST /claude-bridge/sync` answers. */
export type ClaudeBridgeSyncAnswer = {
  success: boolean;
  memories: number;
  markdown: string;
  path?: string;
  lines?: number;
  added?: number;
  changed?: number;
};

/**
 * Shorten a Markdown file: headings, code, tables, links and first sentences stay, what only explains is left out.
 *
 * The file as it was is kept beside it as NAME.original.md. Only files in a folder of HOLDFAST_PAGE_FOLDERS.
 */
export type CompressFileRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A Markdown file in a folder of HOLDFAST_PAGE_FOLDERS. */
  filePath: string;
};

/** What `POST /compress-file` answers. */
export type CompressFileAnswer = {
  success: boolean;
  filePath: string;
  originalChars: number;
  compressedChars: number;
  backupPath?: string;
  skipped?: boolean;
  reason?: string;
};

/**
 * Write memories, lessons, crystals and sessions as Markdown notes with front matter and links, for Obsidian.
 *
 * Only into a folder of HOLDFAST_PAGE_FOLDERS. Repeating it replaces the notes; those of records that are gone stay.
 */
export type ObsidianExportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Folder of the notes, in HOLDFAST_PAGE_FOLDERS. Default: its first. */
  vaultDir?: string | null;
  /** Of memories, lessons, crystals, sessions. Default: all. */
  types?: string | string[];
};

/** What `POST /obsidian/export` answers. */
export type ObsidianExportAnswer = {
  success: boolean;
  exported: { [name: string]: number };
  vaultDir: string;
};

/**
 * Export everything: sessions, observations, memories with all versions, lessons, slots, audit and more.
 *
 * With maxSessions the sessions are returned in pages; everything else is on the first page.
 */
export type ExportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Sessions per page. Default: all on one page. */
  maxSessions?: number | null;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /export` answers. */
export type ExportAnswer = Json;

/**
 * Import an export of Holdfast, of agentmemory or of Progenly.
 *
 * Existing records are skipped, or replaced with the strategy `replace`. Invalid records are reported.
 */
export type ImportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** replace: existing records are replaced; otherwise they are skipped. */
  strategy?: "merge" | "skip" | "replace";
  /** The export. */
  exportData?: Json | null;
};

/** What `POST /import` answers. */
export type ImportAnswer = {
  success: boolean;
  imported: { [name: string]: number };
  skipped: { [name: string]: number };
  refused: Json[];
  refusedCount: number;
};

/**
 * Import transcripts of Claude Code and Codex. Repeating it adds no duplicates.
 *
 * A session whose last event is half an hour old is ended there. The path must be in a folder of
 * HOLDFAST_IMPORT_ROOTS. Without a path, all these folders are imported.
 */
export type ImportJsonlRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** File or folder with transcripts. Default: every folder in HOLDFAST_IMPORT_ROOTS. */
  path?: string | null;
  /** Maximum number of files to import. */
  maxFiles?: number;
};

/** What `POST /replay/import-jsonl` answers. */
export type ImportJsonlAnswer = {
  success: boolean;
  imported: number;
  sessionIds: string[];
  observations: number;
  skippedLines: number;
  duplicates: number;
  maxFiles: number;
  maxFilesUpperBound: number;
};

/**
 * Save each rule of a Markdown file (CLAUDE.md, AGENTS.md, notes) as a memory of its project.
 *
 * Repeating it adds no duplicates. A reworded rule becomes a new version. A rule that is no longer in the file is
 * listed in `removed` and kept until it is forgotten.
 */
export type ImportRulesRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Path of the file in its project, such as CLAUDE.md. */
  file: string;
  /** Its Markdown. */
  text: string;
  /** Project of the rules. Default: all projects. */
  project?: string | null;
};

/** What `POST /import/rules` answers. */
export type ImportRulesAnswer = {
  success: boolean;
  file: string;
  project: string | null;
  added: number;
  changed: number;
  unchanged: number;
  removed: Json[];
};

/**
 * Export the memory as a parent for a Progenly merge: slots, lessons and memories as documents.
 *
 * In isolated scope these are the records of one agent.
 */
export type ProgenlyExportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /progenly` answers. */
export type ProgenlyExportAnswer = {
  memory: { [name: string]: string };
  memory_format: string;
};

/**
 * Create a sealed snapshot of the whole memory. Writes continue meanwhile.
 *
 * A snapshot can be verified, compared, searched and restored. Create one before a change that cannot be undone.
 */
export type SnapshotCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Description of the snapshot. */
  label?: string;
  /** The same as label, which comes first. */
  message?: string;
  /** Sign with the signing key of this memory. */
  sign?: boolean | null;
  /** age recipients to encrypt for. */
  encrypt?: string | string[];
  /** Redact secrets in text files of memory folders. */
  redact?: boolean | null;
  /** Vault to copy the snapshot to. */
  to?: string | null;
};

/** What `POST /snapshots` answers. */
export type SnapshotCreateAnswer = {
  success: boolean;
  id: string;
  path?: string;
  snapshot: Json;
  warnings?: string[];
};

/**
 * List snapshots, newest first, each as verified, damaged or not checked.
 *
 * The list does not read the bundles. With check, unchecked snapshots are read and verified, which takes longer.
 */
export type SnapshotListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 10000). */
  limit?: number;
  /** Also verify snapshots that have not been checked; this reads them completely. */
  check?: boolean;
};

/** What `GET /snapshots` answers. */
export type SnapshotListAnswer = {
  snapshots: Json[];
  count: number;
  bytes: number;
  undo: boolean;
};

/**
 * Show running snapshot operations, and the result of recent ones.
 *
 * Use it after a timeout: creating or restoring a snapshot continues in the server.
 */
export type SnapshotStatusRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /snapshots/status` answers. */
export type SnapshotStatusAnswer = {
  running: boolean;
  works: Json[];
  restored?: Json;
};

/** Show the manifest of a snapshot: its contents, its signer, what was redacted or left out. */
export type SnapshotShowRequest = {
  /** Id of the snapshot, a prefix of the id, or latest. */
  id: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /snapshots/{id}` answers. */
export type SnapshotShowAnswer = {
  snapshot: Json;
};

/** Remove a snapshot. The last intact snapshot and snapshots in use cannot be removed. */
export type SnapshotDeleteRequest = {
  /** Id of the snapshot, a prefix of the id, or latest. */
  id: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Preview what would be removed. Nothing is removed. */
  dryRun?: boolean;
};

/** What `DELETE /snapshots/{id}` answers. */
export type SnapshotDeleteAnswer = {
  success: boolean;
  id: string;
  dryRun: boolean;
  remove: string[];
  snapshot?: Json;
};

/**
 * Verify a snapshot, by default the newest: bytes, signature, sequence, owner, then every member.
 *
 * Bytes and signature are verified before anything is decompressed. Members of an encrypted snapshot are checked only
 * if its identity is given; the response reports unchecked ones.
 */
export type SnapshotVerifyRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the snapshot, a prefix of the id, latest, or the path of a bundle. */
  id?: string;
  /** Vault to fetch the snapshot from. */
  from?: string | null;
  /** File with the age identity that decrypts it. */
  identity?: string | null;
  /** Accept the snapshot although a newer one is known to exist. */
  allowOlder?: boolean;
  /** Accept an unsigned snapshot where signatures are required. */
  allowUnsigned?: boolean;
};

/** What `POST /snapshots/verify` answers. */
export type SnapshotVerifyAnswer = {
  snapshot: string;
  sound: boolean;
  exitCode: number;
  findings: Json[];
  checked: string[];
  unchecked: string[];
  hint?: string;
};

/** Compare two snapshots, or one with the live memory: records by table, files, commits, state. */
export type SnapshotDiffRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** The earlier snapshot, or a time: the memory as it was then. */
  a: string;
  /** The later snapshot, or a time. Default: the live memory. */
  b?: string | null;
  /** File with the age identity that decrypts them. */
  identity?: string | null;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `POST /snapshots/diff` answers. */
export type SnapshotDiffAnswer = {
  a: string;
  b: string;
  same: boolean;
  tables: Json[];
  folders: Json[];
  state: Json[];
  warnings?: string[];
};

/** Search a snapshot without restoring it. */
export type SnapshotSearchRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Text to search for. */
  query: string;
  /** Maximum number of results (up to 100). */
  limit?: number;
  /** Project: the address of its repository, its folder, or a name. */
  project?: string | null;
  /** Id of the session. */
  sessionId?: string | null;
  /** Type, such as fact, decision, preference or bug. */
  type?: string | null;
  /** Only records with all of these concepts (exact match). */
  concepts?: string | string[];
  /** Only records with all of these paths (exact match). */
  files?: string | string[];
  before?: string | null;
  after?: string | null;
  asOf?: string | null;
  /** Kind of record. */
  kind?: "memory" | "observation" | null;
  /** passages: return only the matching text of each hit. */
  format?: "full" | "compact" | "narrative" | "passages";
  /** Return the complete record of each hit. */
  full?: boolean;
  /** Current project. Hits of other projects are returned only if this one has none. */
  here?: string | null;
  /** Maximum size of the response in tokens. Hits that do not fit are left out. */
  token_budget?: number | null;
  /** Maximum number of hits of one session ahead of those of other sessions. */
  perSession?: number | null;
  /** Only hits whose probability to answer is at least this; no hit reaches 0.5. Without it the nearest are returned, however unlikely. */
  minConfidence?: number | null;
  /** Explain the score of each hit. */
  explain?: boolean;
  /** Search a snapshot instead: its id, or a time. A time is that moment in the vault's journal, or else the newest snapshot before it. */
  at?: string | null;
  /** File with the age identity that decrypts it. */
  identity?: string | null;
  /** Snapshot to search: its id, a prefix of the id, or latest. */
  id: string;
};

/** What `POST /snapshots/search` answers. */
export type SnapshotSearchAnswer = {
  format: string;
  results: HitShape[];
  answerable: boolean;
  confidence: number;
  tokens_used: number;
  tokens_budget: number | null;
  truncated: boolean;
  hint?: string;
  text?: string;
  snapshot?: SnapshotShape;
};

/** Copy a snapshot's files to a folder. Existing files are not overwritten. */
export type SnapshotExportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the snapshot, a prefix of the id, or latest. */
  id: string;
  /** Folder to write the files of the bundle to. */
  to: string;
};

/** What `POST /snapshots/export` answers. */
export type SnapshotExportAnswer = {
  success: boolean;
  id: string;
  files: string[];
};

/**
 * Replace the live memory with a snapshot. The previous memory is saved first and can be restored with undo.
 *
 * With dryRun, only shows what would change. With into, restores into a new folder instead.
 */
export type SnapshotRestoreRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the snapshot, a prefix of the id, latest, or the path of a bundle. */
  id?: string;
  /** Vault to fetch the snapshot from. */
  from?: string | null;
  /** File with the age identity that decrypts it. */
  identity?: string | null;
  /** Accept the snapshot although a newer one is known to exist. */
  allowOlder?: boolean;
  /** Accept an unsigned snapshot where signatures are required. */
  allowUnsigned?: boolean;
  /** Restore the memory as it was at this time: the newest snapshot before it, and the journal in the vault from there. A time such as 14:03:20 is the last one that a clock showed; without a zone it is UTC. */
  at?: string | null;
  /** Restore up to where the journal is damaged or incomplete, and report what is missing. */
  partial?: boolean;
  /** Preview all changes. Nothing is changed. */
  dryRun?: boolean;
  /** Confirm the replacement of the live memory. */
  yes?: boolean;
  /** Restore another agent's memory as this agent's. */
  as?: string | null;
  /** did:key of the signer. It is trusted from now on if it signed this snapshot. */
  trust?: string | null;
  /** Do not encrypt the snapshot made before the change, even if snapshots are encrypted. */
  plainBefore?: boolean;
  /** Restore into this new folder instead of the live memory. */
  into?: string | null;
  /** Do not carry over tokens and other tenants, if the live memory is too damaged to read them. */
  alone?: boolean;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `POST /snapshots/restore` answers. */
export type SnapshotRestoreAnswer = {
  success: boolean;
  snapshot: string;
  dryRun: boolean;
  generation?: string;
  before?: string | null;
  path?: string;
  rows?: { [name: string]: number };
  folders?: string[];
  leftBehind?: string;
  upto?: string;
  missing?: string[];
  waiting?: string;
  warnings?: string[];
  difference?: Json;
  damaged?: Json[];
  next?: string;
};

/** Undo the last restore. The memory from before it becomes the live one again. */
export type SnapshotUndoRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Not required: the live memory is saved in a snapshot first. */
  yes?: boolean;
  /** File with the age identity that decrypts encrypted snapshots. */
  identity?: string | null;
  /** Do not encrypt the snapshot made before the change, even if snapshots are encrypted. */
  plainBefore?: boolean;
};

/** What `POST /snapshots/undo` answers. */
export type SnapshotUndoAnswer = {
  success: boolean;
  generation: string;
  before: string | null;
  waiting?: string;
};

/**
 * Repair memory folders after a restore that could not finish, for example with a damaged journal.
 *
 * Nothing is removed. What cannot be put in place is moved aside; the response names the location.
 */
export type SnapshotMendRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `POST /snapshots/mend` answers. */
export type SnapshotMendAnswer = {
  success: boolean;
  mended: Json[];
};

/**
 * Restore a random snapshot or moment of the vault into a scratch folder, verify every row, and ask what was asked.
 *
 * The live memory is not changed. A success leaves a receipt, signed with the key of the data folder if there is one.
 * An encrypted snapshot without its identity is checked as far as possible, and reported as not restored.
 */
export type DrillRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Id of the snapshot, a prefix of the id, or latest. Default: a random one. */
  id?: string | null;
  /** Vault to restore from. Default: HOLDFAST_VAULT, else this machine. */
  from?: string | null;
  /** File with the age identity that decrypts it. */
  identity?: string | null;
  /** Restore the memory as it was at this time, from the journal in the vault. */
  at?: string | null;
};

/** What `POST /drills` answers. */
export type DrillAnswer = {
  sound: boolean;
  exitCode: number;
  drill: Json;
  summary: string;
  hint?: string;
};

/** List restore drills, newest first: which snapshot, when, how long, rows, questions, signature. */
export type DrillListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 100). */
  limit?: number;
};

/** What `GET /drills` answers. */
export type DrillListAnswer = {
  drills: Json[];
};

/**
 * Watch a folder or file in which another program keeps its memory, and keep every version of it.
 *
 * Names of agents stand for where they keep their memory. The server notices changes within a minute.
 */
export type GuardAddRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name (claude-code, codex, openclaw, memory.json), or the path of a folder or file. */
  place: string;
  /** Remove secrets from text files before they are kept. Such a file comes back without. */
  redact?: boolean;
};

/** What `POST /guard` answers. */
export type GuardAddAnswer = {
  success: boolean;
  place: Json;
  taken: number;
};

/** List guarded places: how each is watched, how many files and versions are kept, when something was taken last. */
export type GuardListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /guard` answers. */
export type GuardListAnswer = {
  places: Json[];
  message?: string;
};

/** Show guarded places, and every file that is not taken, with the reason. */
export type GuardReportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `GET /guard/status` answers. */
export type GuardReportAnswer = {
  places: Json[];
  left: Json[];
  leftTotal: number;
  message?: string;
};

/** Look through guarded places now and take what changed. A running server does this by itself. */
export type GuardScanRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name (claude-code, codex, openclaw, memory.json), or the path of a folder or file. Default: all. */
  place?: string | null;
};

/** What `POST /guard/scan` answers. */
export type GuardScanAnswer = {
  success: boolean;
  taken: number;
  removed: number;
};

/** Stop watching a place. Its history stays, and can be restored, unless forget is set. */
export type GuardRemoveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name (claude-code, codex, openclaw, memory.json), or the path of a folder or file. */
  place: string;
  /** Remove the history as well. Requires yes. */
  forget?: boolean;
  /** Confirm that the history is removed. */
  yes?: boolean;
};

/** What `POST /guard/remove` answers. */
export type GuardRemoveAnswer = {
  success: boolean;
  name: string;
  versions: number;
};

/** List what is kept of a place: its files, or the versions of one file with times and sizes, newest first. */
export type GuardHistoryRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name (claude-code, codex, openclaw, memory.json), or the path of a folder or file. */
  place: string;
  /** File or folder in it, as guard history shows it. Default: all. */
  file?: string | null;
  /** Only files that were removed since. */
  removed?: boolean;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `GET /guard/history` answers. */
export type GuardHistoryAnswer = {
  name: string;
  files: Json[];
  total: number;
};

/**
 * Bring back one file or all files of a guarded place, where they were or in another folder.
 *
 * What is there now is kept for guard undo. A file that lost its secrets replaces another version only with redacted.
 */
export type GuardRestoreRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name (claude-code, codex, openclaw, memory.json), or the path of a folder or file. */
  place: string;
  /** File or folder in it, as guard history shows it. Default: all. */
  file?: string | null;
  /** As the files were at this time. Default: the last version of each, removed or not. */
  at?: string | null;
  /** Restore into this folder instead of where they were. */
  to?: string | null;
  /** Show what would be written. Nothing is changed. */
  dryRun?: boolean;
  /** Confirm that files are written. */
  yes?: boolean;
  /** Replace a file even though secrets were removed from the version that is kept. */
  redacted?: boolean;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `POST /guard/restore` answers. */
export type GuardRestoreAnswer = {
  success: boolean;
  name: string;
  folder: string;
  dryRun: boolean;
  restored: number;
  same: number;
  files: Json[];
  undo?: string;
  next?: string;
};

/** Undo the last guard restore: what it replaced comes back, and what it brought is removed. */
export type GuardUndoRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Confirm that files are written. */
  yes?: boolean;
};

/** What `POST /guard/undo` answers. */
export type GuardUndoAnswer = {
  success: boolean;
  folder: string;
  files: number;
};

/**
 * Let this copy take the place of the host that it follows: it takes what the vault still has, then writes.
 *
 * Stop the server of the other host first. What that host writes afterwards is noticed by both and can be merged.
 */
export type PromoteRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Take over although the other host still writes, or the vault does not answer. */
  yes?: boolean;
};

/** What `POST /promote` answers. */
export type PromoteAnswer = {
  success: boolean;
  promoted: boolean;
  vault: string;
  line: string;
  piece: number;
  host: string;
  lastWriteAt: string | null;
  notes: string[];
};

/**
 * Merge two diverged memories of the same agent without loss, and make the result the live memory.
 *
 * Where both sides changed a memory, the newest version wins and the other stays in its history. A memory that one
 * side removed stays removed unless the other side changed it later. With dryRun, only shows the conflicts. The live
 * memory is saved in a snapshot first and can be restored with undo. If the first side has nothing new, nothing is
 * changed.
 */
export type SnapshotMergeRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A snapshot: its id, a prefix of it, latest, or the path of a bundle; a line of the journal in a vault; or now for the live memory. */
  a: string;
  /** The other snapshot, or now for the live memory. */
  b?: string;
  /** Vault to fetch the first snapshot from. */
  from?: string | null;
  /** Which side wins where both changed. The other version stays in the history. */
  prefer?: "newest" | "a" | "b";
  /** File with the age identity that decrypts them. */
  identity?: string | null;
  /** did:key of the signer, trusted for this merge only. */
  trust?: string | null;
  /** Accept an unsigned snapshot where signatures are required. */
  allowUnsigned?: boolean;
  /** Preview the conflicts and the changes. Nothing is changed. */
  dryRun?: boolean;
  /** Confirm that the merged memory replaces the live one. */
  yes?: boolean;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `POST /snapshots/merge` answers. */
export type SnapshotMergeAnswer = {
  success: boolean;
  dryRun: boolean;
  a: string;
  b: string;
  added: { [name: string]: number };
  changed: { [name: string]: number };
  removed: { [name: string]: number };
  conflicts: Json[];
  conflictCount: number;
  folders: string[];
  generation?: string | null;
  before?: string | null;
  waiting?: string;
};

/** List what merges set aside: the losing side of conflicts in records that have no versions. */
export type SnapshotSetAsideRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `GET /snapshots/set-aside` answers. */
export type SnapshotSetAsideAnswer = {
  records: Json[];
  count: number;
};

/** List damaged generations of the database: the live one, and those kept aside by restores. */
export type SnapshotDamagedRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /snapshots/damaged` answers. */
export type SnapshotDamagedAnswer = {
  generations: Json[];
  count: number;
  next?: string;
  remove?: string;
};

/**
 * Recover the readable part of a damaged memory: every row with a correct checksum, and no other.
 *
 * After a restore the rows are merged into the live memory, which recovers what is newer than the snapshot. Without a
 * snapshot they become the live memory. The damaged files are kept until snapshot discard removes them.
 */
export type SnapshotSalvageRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Damaged generation, as listed by snapshot damaged. Default: the newest. */
  generation?: string | null;
  /** Preview what can be read and what would change. Nothing is changed. */
  dryRun?: boolean;
  /** Confirm the change of the live memory. */
  yes?: boolean;
  /** File with an age identity. The snapshot made before the change is encrypted for it. */
  identity?: string | null;
  /** Do not encrypt the snapshot made before the change, even if snapshots are encrypted. */
  plainBefore?: boolean;
  /** Use only the readable rows, although a snapshot could be restored first. */
  alone?: boolean;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `POST /snapshots/salvage` answers. */
export type SnapshotSalvageAnswer = {
  success: boolean;
  dryRun: boolean;
  source: string;
  read: { [name: string]: number };
  lost: { [name: string]: number } | null;
  inNeither?: { [name: string]: number } | null;
  added?: { [name: string]: number };
  changed?: { [name: string]: number };
  removed?: { [name: string]: number };
  conflicts?: Json[];
  conflictCount?: number;
  generation?: string | null;
  before?: string | null;
  waiting?: string;
  next?: string;
};

/** Remove the files of a damaged generation that was kept aside. This cannot be undone. */
export type SnapshotDiscardRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Damaged generation, as listed by snapshot damaged. */
  generation: string;
  /** Confirm the removal. */
  yes?: boolean;
};

/** What `POST /snapshots/discard` answers. */
export type SnapshotDiscardAnswer = {
  success: boolean;
  generation: string;
  size: number;
};

/**
 * Bring back all that is sound: the newest snapshot, the journal after it, and the readable rows of damaged files.
 *
 * Verifies the memory first, and changes nothing if it is sound. If only the search index is damaged, it is rebuilt.
 * Verifies again at the end. The damaged files are kept until snapshot discard removes them.
 */
export type RecoverRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Report what is damaged and what would be done. Nothing is changed. */
  dryRun?: boolean;
  /** Confirm the change of the live memory. */
  yes?: boolean;
  /** File with the age identity that decrypts the snapshot. */
  identity?: string | null;
  /** did:key of the signer. It is trusted from now on if it signed the snapshot. */
  trust?: string | null;
  /** Accept an unsigned snapshot where signatures are required. */
  allowUnsigned?: boolean;
  /** Do not encrypt the snapshot made before the change, even if snapshots are encrypted. */
  plainBefore?: boolean;
};

/** What `POST /recover` answers. */
export type RecoverAnswer = {
  success: boolean;
  dryRun: boolean;
  damage: string | null;
  steps: string[];
  snapshot?: string;
  upto?: string;
  missing?: string[];
  warnings?: string[];
  source?: string;
  read?: { [name: string]: number };
  lost?: { [name: string]: number } | null;
  inNeither?: { [name: string]: number } | null;
  added?: { [name: string]: number };
  changed?: { [name: string]: number };
  removed?: { [name: string]: number };
  conflicts?: Json[];
  conflictCount?: number;
  before?: string | null;
  sound?: boolean;
  next?: string;
};

/** Remove snapshots that no retention rule keeps; never the last intact one, never one in use. */
export type SnapshotPruneRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Keep this many of the newest snapshots. */
  keep?: number;
  /** Keep all snapshots of this many days before the newest. */
  keepDays?: number;
  /** Keep the last snapshot of each of this many days. */
  keepDaily?: number;
  /** Keep the last snapshot of each of this many weeks. */
  keepWeekly?: number;
  /** Keep the last snapshot of each of this many months. */
  keepMonthly?: number;
  /** Preview what would be removed. Nothing is removed. */
  dryRun?: boolean;
};

/** What `POST /snapshots/prune` answers. */
export type SnapshotPruneAnswer = {
  success: boolean;
  dryRun: boolean;
  keep: Json[];
  remove: string[];
  inUse: string[];
};

/** Show the status of a vault: whether it is reachable, which snapshots it holds, and which are missing. */
export type VaultStatusRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
};

/** What `GET /vault` answers. */
export type VaultStatusAnswer = {
  place: string;
  public: boolean;
  free: number | null;
  snapshots: number;
  bytes: number;
  newest: string | null;
  here: boolean;
  damaged: Json[];
  missing: string[];
  leftovers: number;
  packs: number;
  packBytes: number;
  follow?: FollowShape;
  protection?: Json;
  journal?: Json;
  lines?: Json[];
  warnings?: string[];
};

/**
 * Declare a vault as new. A data folder that waits to be restored from it then starts empty.
 *
 * The folder of the vault is created if needed. A vault that holds snapshots of this memory is rejected.
 */
export type VaultInitRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
};

/** What `POST /vault/init` answers. */
export type VaultInitAnswer = {
  success: boolean;
  place: string;
  waited: boolean;
  next?: string;
};

/**
 * List this memory's snapshots in a vault, newest first. Incomplete ones are shown as damaged.
 *
 * If several hosts wrote to the vault, snapshots of one host have the same `line`.
 */
export type VaultListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
  /** Maximum number of results (up to 10000). */
  limit?: number;
};

/** What `GET /vault/snapshots` answers. */
export type VaultListAnswer = {
  place: string;
  snapshots: Json[];
  count: number;
  bytes: number;
  lines?: Json[];
  warnings?: string[];
};

/** Download and verify every snapshot of this memory in a vault, and its journal. The downloads are not kept. */
export type VaultVerifyRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
  /** Only this snapshot: its complete id, or latest. */
  id?: string | null;
  /** File with the age identity that decrypts encrypted snapshots. */
  identity?: string | null;
  /** Accept an unsigned snapshot where signatures are required. */
  allowUnsigned?: boolean;
};

/** What `POST /vault/verify` answers. */
export type VaultVerifyAnswer = {
  place: string;
  sound: boolean;
  exitCode: number;
  snapshots: Json[];
  journal?: Json[];
  hint?: string;
};

/**
 * Remove snapshots from a vault that no retention rule keeps; never the newest intact one.
 *
 * The newest snapshot of another host is also kept until it has been merged here. Where this host may only add to
 * the vault, pass a file with keys that may delete.
 */
export type VaultPruneRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Keep this many of the newest snapshots. */
  keep?: number;
  /** Keep all snapshots of this many days before the newest. */
  keepDays?: number;
  /** Keep the last snapshot of each of this many days. */
  keepDaily?: number;
  /** Keep the last snapshot of each of this many weeks. */
  keepWeekly?: number;
  /** Keep the last snapshot of each of this many months. */
  keepMonthly?: number;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
  /** File with keys that may delete, as lines NAME=value, for this command only: where the usual credential may only add. */
  credentials?: string | null;
  /** Also remove incomplete uploads. No other host may be uploading. */
  tidy?: boolean;
  /** Preview what would be removed. Nothing is removed. */
  dryRun?: boolean;
};

/** What `POST /vault/prune` answers. */
export type VaultPruneAnswer = {
  success: boolean;
  place: string;
  dryRun: boolean;
  keep: Json[];
  remove: string[];
  leftovers: number;
  packs: Json;
  journal: number;
};

/** Copy this memory's missing snapshots from one vault to another. Each is verified during the copy. */
export type VaultCopyRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Vault to copy from. */
  from: string;
  /** Vault to copy to. */
  to: string;
  /** Maximum number of results (up to 100000). */
  limit?: number;
};

/** What `POST /vault/copy` answers. */
export type VaultCopyAnswer = {
  sound: boolean;
  exitCode: number;
  place: string;
  sent: Json[];
  sentBytes: number;
  remaining: number;
  remainingBytes: number;
  damaged: Json[];
};

/** Upload all missing snapshots to a vault, newest first. Interrupted uploads are resumed. */
export type VaultSyncRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:. Default: HOLDFAST_VAULT. */
  vault?: string | null;
  /** Maximum number of results (up to 100000). */
  limit?: number;
};

/** What `POST /vault/sync` answers. */
export type VaultSyncAnswer = {
  sound: boolean;
  exitCode: number;
  place: string;
  sent: Json[];
  sentBytes: number;
  remaining: number;
  remainingBytes: number;
  damaged: Json[];
};

/**
 * Exchange memory with other machines through a vault: upload own snapshots, and merge the newest one there.
 *
 * A merge replaces the live memory, so it is only shown unless `yes` is given; snapshot undo takes it back. There are
 * no connections between servers: nothing is sent to an address that a request names, but for vaults.
 */
export type MeshSyncRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Vault that the machines share. Default: HOLDFAST_VAULT. */
  peerId?: string | null;
  direction?: "push" | "pull" | "both";
  /** With pull: merge. Without it, what a merge would change is shown. */
  yes?: boolean;
};

/** What `POST /mesh/sync` answers. */
export type MeshSyncAnswer = {
  success: boolean;
  results: Json[];
};

/**
 * Import the memories and memory files of a bundle of the earlier system (nexo-memory-snapshot-v1).
 *
 * Memories are redacted and keep their ids, so repeating it adds no duplicates. Files are written to a separate folder
 * in the memory folder.
 */
export type SnapshotImportRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** The bundle: <uuid>.tar.zst or <uuid>.tar.zst.age. */
  path: string;
  /** File with the age identity that decrypts it. */
  identity?: string | null;
};

/** What `POST /snapshots/import` answers. */
export type SnapshotImportAnswer = {
  success: boolean;
  imported: number;
  skipped: number;
  refused: Json[];
  files: string[];
};

/** Create the signing key of this memory. The private key never leaves the data folder. */
export type KeyNewRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Replace an existing key. Its signatures stay trusted. */
  replace?: boolean;
};

/** What `POST /keys` answers. */
export type KeyNewAnswer = {
  success: boolean;
  did: string;
  warnings: string[];
};

/** Show the signing key of this memory, the trusted keys, and warnings about missing copies. */
export type KeyShowRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /keys` answers. */
export type KeyShowAnswer = {
  did: string | null;
  trusted: Json[];
  successions: string[];
  warnings: string[];
};

/**
 * Create a new signing key, signed by the old one as its successor. The old key stays trusted.
 *
 * Others who trust the old key can accept the new one: holdfast key follow STATEMENT.
 */
export type KeyRotateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `POST /keys/rotate` answers. */
export type KeyRotateAnswer = {
  success: boolean;
  did: string;
  old: string;
  succession: string;
  warnings: string[];
};

/** Trust the successor of a trusted key, given the succession statement that the old key signed. */
export type KeyFollowRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Succession statement, as printed by key rotate and key show. */
  succession: string;
};

/** What `POST /keys/follow` answers. */
export type KeyFollowAnswer = {
  success: boolean;
  did: string;
};

/** Trust snapshots signed with a key. First confirm through another channel whose key it is. */
export type KeyTrustRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** did:key:z… */
  did: string;
  /** Note on the owner of the key. */
  note?: string;
};

/** What `POST /keys/trust` answers. */
export type KeyTrustAnswer = {
  success: boolean;
};

/** Stop trusting a key. Its snapshots are rejected from now on. */
export type KeyUntrustRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** did:key:z… */
  did: string;
};

/** What `POST /keys/untrust` answers. */
export type KeyUntrustAnswer = {
  success: boolean;
};

/**
 * Show an overview of the memory: counts, growth by day, latest events, snapshots, disk, warnings.
 *
 * Each warning has a hint.
 */
export type OverviewRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Chat of the request, as platform:type:session. Default: the agent's own memory. */
  umo?: string | null;
  /** Sender of the request: the user's id on the chat platform. */
  senderId?: string | null;
  /** Number of days of growth to return, including today (UTC). */
  days?: number;
};

/** What `GET /overview` answers. */
export type OverviewAnswer = {
  status: string;
  version: string;
  now: string;
  counts: { [name: string]: number };
  growth: GrowthAnswer;
  index: IndexHealth;
  events: EventsHealth;
  follow?: FollowShape;
  quota?: { [name: string]: { [name: string]: number } };
  summarizer: string;
  agentScope: string;
  snapshots: SnapshotHealth;
  disk?: DiskAnswer;
  recent: Json[];
  warnings: Json[];
};

/** Check the running server: storage, index backlog, snapshots, language model, agent scope; with hints. */
export type DiagnosticsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /diagnostics` answers. */
export type DiagnosticsAnswer = {
  status: string;
  checks: Json[];
  fixed: string[];
};

/** Check again after a repair. */
export type DiagnosticsFollowupRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /diagnostics/followup` answers. */
export type DiagnosticsFollowupAnswer = {
  status: string;
  checks: Json[];
  fixed: string[];
};

/** Report that the server is alive. Requires no credential. */
export type LivezRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /livez` answers. */
export type LivezAnswer = {
  status: string;
  service: string;
  viewerPort: number;
  viewerSkipped: boolean;
};

/**
 * Show the health of the memory: database, index backlog, newest snapshot and size.
 *
 * If it is degraded, databaseStatus has the reason and hint what to do.
 */
export type HealthRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /health` answers. */
export type HealthAnswer = {
  status: string;
  service: string;
  version: string;
  database: string;
  databaseStatus: string;
  index: IndexHealth;
  events: EventsHealth;
  snapshots: SnapshotsHealth;
  spool: SpoolHealth;
  counts: { [name: string]: number };
  summarizer: string;
  viewerPort: number;
  follow?: FollowShape;
  quota?: { [name: string]: { [name: string]: number } };
  hint?: string;
  warnings?: string[];
};

/** Show which optional features are on, and the setting that controls each. */
export type FlagsRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /config/flags` answers. */
export type FlagsAnswer = {
  version: string;
  provider: string;
  embeddingProvider: string;
  flags: Json[];
  how: string;
};

/** Show who changed what and when, newest first; never the text itself. */
export type AuditRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Only entries of this operation. */
  operation?: string | null;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /audit` answers. */
export type AuditAnswer = {
  success: boolean;
  entries: AuditEntry[];
  total: number;
};

/** Show the latest writes as a commit log, for viewers of the earlier system. */
export type WriteLogRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Include records of all chats. Requires the scope admin; recorded in the audit log. */
  allChats?: boolean;
  /** Only entries of this operation. */
  operation?: string | null;
  /** Maximum number of results (up to 1000). */
  limit?: number;
  /** Number of results to skip. */
  offset?: number;
};

/** What `GET /dolt/commits` answers. */
export type WriteLogAnswer = {
  success: boolean;
  commits: Json[];
};

/** Create a token with a tenant, agent and scopes. It is shown once; only its hash is stored. */
export type TokenCreateRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Name of the token. */
  name?: string;
  /** What the token permits. */
  scopes?: ("read" | "write" | "admin")[];
  /** Tenant of the token. Default: the caller's. */
  tenant?: string | null;
  /** Days until it expires. Default: never. */
  days?: number | null;
};

/** What `POST /tokens` answers. */
export type TokenCreateAnswer = {
  success: boolean;
  token: string;
  record: Token;
};

/** List tokens, without their secrets. */
export type TokenListRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Tenant of the token. Default: the caller's. */
  tenant?: string | null;
};

/** What `GET /tokens` answers. */
export type TokenListAnswer = {
  tokens: Token[];
};

/** Revoke a token. Requests with it are rejected from now on. */
export type TokenRevokeRequest = {
  /** Id of the token. */
  id: string;
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `DELETE /tokens/{id}` answers. */
export type TokenRevokeAnswer = {
  success: boolean;
};

/**
 * Verify the checksum of every row, and that the search index matches the rows.
 *
 * With repairIndex the index is first rebuilt from the rows, in a new generation if its pages are damaged. Nothing is
 * deleted: the damaged generation is kept aside.
 */
export type VerifyRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Rebuild search data that is damaged or incomplete. */
  repairIndex?: boolean;
};

/** What `POST /verify` answers. */
export type VerifyAnswer = {
  sound: boolean;
  findings: Json[];
  repaired?: number;
  hint?: string;
  damaged?: Json[];
};

/** Lower the confidence of lessons without a confirmation for a week. Runs automatically every day. */
export type LessonDecayRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `POST /lessons/decay` answers. */
export type LessonDecayAnswer = {
  success: boolean;
  changed: number;
};

/**
 * Approve a client that waits for access by OAuth, by the code on its consent page.
 *
 * Without yes, the request is shown: who asks, where its user is sent afterwards, and what would be granted, as it was
 * chosen on the page. Approve only a code that your own browser shows.
 */
export type OauthApproveRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
  /** Code that the consent page shows, such as BCDF-GHJK. */
  code: string;
  /** Approve it. Without it, the request is only shown. */
  yes?: boolean;
};

/** What `POST /oauth/approve` answers. */
export type OauthApproveAnswer = {
  approved: boolean;
  client: string;
  returnsTo: string;
  tenant: string;
  agentId: string | null;
  scopes: string[];
  next: string;
};

/** Check the server's installation: libraries, memory folders, keys, language model, embedder and reranker. */
export type ExamineRequest = {
  /** Agent that owns the records. A token may be bound to one agent. */
  agentId?: string | null;
};

/** What `GET /examination` answers. */
export type ExamineAnswer = {
  checks: CheckShape[];
};

/** Every operation, with what it takes and gives. */
export interface Operations {
  observe: { request: ObserveRequest; answer: ObserveAnswer };
  agent_observe: { request: AgentObserveRequest; answer: AgentObserveAnswer };
  session_start: { request: SessionStartRequest; answer: SessionStartAnswer };
  session_transcript: { request: SessionTranscriptRequest; answer: SessionTranscriptAnswer };
  session_end: { request: SessionEndRequest; answer: SessionEndAnswer };
  session_commit: { request: SessionCommitRequest; answer: SessionCommitAnswer };
  session_by_commit: { request: SessionByCommitRequest; answer: SessionByCommitAnswer };
  commits: { request: CommitsRequest; answer: CommitsAnswer };
  sessions: { request: SessionsRequest; answer: SessionsAnswer };
  observations: { request: ObservationsRequest; answer: ObservationsAnswer };
  remember: { request: RememberRequest; answer: RememberAnswer };
  agent_remember: { request: AgentRememberRequest; answer: AgentRememberAnswer };
  remember_batch: { request: RememberBatchRequest; answer: RememberBatchAnswer };
  evolve: { request: EvolveRequest; answer: EvolveAnswer };
  memories: { request: MemoriesRequest; answer: MemoriesAnswer };
  memory: { request: MemoryRequest; answer: MemoryAnswer };
  addresses: { request: AddressesRequest; answer: AddressesAnswer };
  address_alias: { request: AddressAliasRequest; answer: AddressAliasAnswer };
  address_move: { request: AddressMoveRequest; answer: AddressMoveAnswer };
  memory_tool: { request: MemoryToolRequest; answer: MemoryToolAnswer };
  memory_tool_undo: { request: MemoryToolUndoRequest; answer: MemoryToolUndoAnswer };
  create_entities: { request: CreateEntitiesRequest; answer: CreateEntitiesAnswer };
  create_relations: { request: CreateRelationsRequest; answer: CreateRelationsAnswer };
  add_observations: { request: AddObservationsRequest; answer: AddObservationsAnswer };
  delete_entities: { request: DeleteEntitiesRequest; answer: DeleteEntitiesAnswer };
  delete_observations: { request: DeleteObservationsRequest; answer: DeleteObservationsAnswer };
  delete_relations: { request: DeleteRelationsRequest; answer: DeleteRelationsAnswer };
  read_graph: { request: ReadGraphRequest; answer: ReadGraphAnswer };
  search_nodes: { request: SearchNodesRequest; answer: SearchNodesAnswer };
  open_nodes: { request: OpenNodesRequest; answer: OpenNodesAnswer };
  items_put: { request: ItemsPutRequest; answer: ItemsPutAnswer };
  items_get: { request: ItemsGetRequest; answer: ItemsGetAnswer };
  items_list: { request: ItemsListRequest; answer: ItemsListAnswer };
  items_search: { request: ItemsSearchRequest; answer: ItemsSearchAnswer };
  items_namespaces: { request: ItemsNamespacesRequest; answer: ItemsNamespacesAnswer };
  items_pop: { request: ItemsPopRequest; answer: ItemsPopAnswer };
  items_clear: { request: ItemsClearRequest; answer: ItemsClearAnswer };
  items_touch: { request: ItemsTouchRequest; answer: ItemsTouchAnswer };
  forget: { request: ForgetRequest; answer: ForgetAnswer };
  governance_delete: { request: GovernanceDeleteRequest; answer: GovernanceDeleteAnswer };
  auto_forget: { request: AutoForgetRequest; answer: AutoForgetAnswer };
  lifecycle: { request: LifecycleRequest; answer: LifecycleAnswer };
  memory_deprecate: { request: MemoryDeprecateRequest; answer: MemoryDeprecateAnswer };
  memory_restore: { request: MemoryRestoreRequest; answer: MemoryRestoreAnswer };
  memory_change: { request: MemoryChangeRequest; answer: MemoryChangeAnswer };
  search: { request: SearchRequest; answer: SearchAnswer };
  smart_search: { request: SmartSearchRequest; answer: SmartSearchAnswer };
  context: { request: ContextRequest; answer: ContextAnswer };
  context_prompt: { request: ContextPromptRequest; answer: ContextPromptAnswer };
  enrich: { request: EnrichRequest; answer: EnrichAnswer };
  profile: { request: ProfileRequest; answer: ProfileAnswer };
  recall_check: { request: RecallCheckRequest; answer: RecallCheckAnswer };
  timeline: { request: TimelineRequest; answer: TimelineAnswer };
  replay_sessions: { request: ReplaySessionsRequest; answer: ReplaySessionsAnswer };
  replay_load: { request: ReplayLoadRequest; answer: ReplayLoadAnswer };
  replay_frames: { request: ReplayFramesRequest; answer: ReplayFramesAnswer };
  file_history: { request: FileHistoryRequest; answer: FileHistoryAnswer };
  patterns: { request: PatternsRequest; answer: PatternsAnswer };
  vision_search: { request: VisionSearchRequest; answer: VisionSearchAnswer };
  related: { request: RelatedRequest; answer: RelatedAnswer };
  provenance: { request: ProvenanceRequest; answer: ProvenanceAnswer };
  lessons: { request: LessonsRequest; answer: LessonsAnswer };
  lesson_save: { request: LessonSaveRequest; answer: LessonSaveAnswer };
  lesson_delete: { request: LessonDeleteRequest; answer: LessonDeleteAnswer };
  lesson_search: { request: LessonSearchRequest; answer: LessonSearchAnswer };
  lesson_strengthen: { request: LessonStrengthenRequest; answer: LessonStrengthenAnswer };
  slots: { request: SlotsRequest; answer: SlotsAnswer };
  slot: { request: SlotRequest; answer: SlotAnswer };
  slot_create: { request: SlotCreateRequest; answer: SlotCreateAnswer };
  slot_delete: { request: SlotDeleteRequest; answer: SlotDeleteAnswer };
  slot_append: { request: SlotAppendRequest; answer: SlotAppendAnswer };
  slot_replace: { request: SlotReplaceRequest; answer: SlotReplaceAnswer };
  actions: { request: ActionsRequest; answer: ActionsAnswer };
  action_create: { request: ActionCreateRequest; answer: ActionCreateAnswer };
  action_update: { request: ActionUpdateRequest; answer: ActionUpdateAnswer };
  action_get: { request: ActionGetRequest; answer: ActionGetAnswer };
  action_edge: { request: ActionEdgeRequest; answer: ActionEdgeAnswer };
  frontier: { request: FrontierRequest; answer: FrontierAnswer };
  relations: { request: RelationsRequest; answer: RelationsAnswer };
  relate: { request: RelateRequest; answer: RelateAnswer };
  graph: { request: GraphRequest; answer: GraphAnswer };
  graph_query: { request: GraphQueryRequest; answer: GraphQueryAnswer };
  graph_stats: { request: GraphStatsRequest; answer: GraphStatsAnswer };
  next_action: { request: NextActionRequest; answer: NextActionAnswer };
  lease: { request: LeaseRequest; answer: LeaseAnswer };
  coordination_remove: { request: CoordinationRemoveRequest; answer: CoordinationRemoveAnswer };
  heal: { request: HealRequest; answer: HealAnswer };
  checkpoints: { request: CheckpointsRequest; answer: CheckpointsAnswer };
  checkpoint: { request: CheckpointRequest; answer: CheckpointAnswer };
  sentinels: { request: SentinelsRequest; answer: SentinelsAnswer };
  sentinel_create: { request: SentinelCreateRequest; answer: SentinelCreateAnswer };
  sentinel_trigger: { request: SentinelTriggerRequest; answer: SentinelTriggerAnswer };
  sentinel_cancel: { request: SentinelCancelRequest; answer: SentinelCancelAnswer };
  sentinel_check: { request: SentinelCheckRequest; answer: SentinelCheckAnswer };
  signal_send: { request: SignalSendRequest; answer: SignalSendAnswer };
  signal_read: { request: SignalReadRequest; answer: SignalReadAnswer };
  team_share: { request: TeamShareRequest; answer: TeamShareAnswer };
  team_feed: { request: TeamFeedRequest; answer: TeamFeedAnswer };
  sketches: { request: SketchesRequest; answer: SketchesAnswer };
  sketch_create: { request: SketchCreateRequest; answer: SketchCreateAnswer };
  sketch_add: { request: SketchAddRequest; answer: SketchAddAnswer };
  sketch_promote: { request: SketchPromoteRequest; answer: SketchPromoteAnswer };
  sketch_discard: { request: SketchDiscardRequest; answer: SketchDiscardAnswer };
  routines: { request: RoutinesRequest; answer: RoutinesAnswer };
  routine_create: { request: RoutineCreateRequest; answer: RoutineCreateAnswer };
  routine_run: { request: RoutineRunRequest; answer: RoutineRunAnswer };
  routine_status: { request: RoutineStatusRequest; answer: RoutineStatusAnswer };
  facets: { request: FacetsRequest; answer: FacetsAnswer };
  facet_tag: { request: FacetTagRequest; answer: FacetTagAnswer };
  facet_remove: { request: FacetRemoveRequest; answer: FacetRemoveAnswer };
  facet_query: { request: FacetQueryRequest; answer: FacetQueryAnswer };
  folder_graph: { request: FolderGraphRequest; answer: FolderGraphAnswer };
  folder_memories: { request: FolderMemoriesRequest; answer: FolderMemoriesAnswer };
  still_true: { request: StillTrueRequest; answer: StillTrueAnswer };
  summarize: { request: SummarizeRequest; answer: SummarizeAnswer };
  consolidate: { request: ConsolidateRequest; answer: ConsolidateAnswer };
  reflect: { request: ReflectRequest; answer: ReflectAnswer };
  crystals_auto: { request: CrystalsAutoRequest; answer: CrystalsAutoAnswer };
  crystals: { request: CrystalsRequest; answer: CrystalsAnswer };
  semantic: { request: SemanticRequest; answer: SemanticAnswer };
  procedural: { request: ProceduralRequest; answer: ProceduralAnswer };
  insights: { request: InsightsRequest; answer: InsightsAnswer };
  second_brain: { request: SecondBrainRequest; answer: SecondBrainAnswer };
  second_brain_write: { request: SecondBrainWriteRequest; answer: SecondBrainWriteAnswer };
  antigravity_sync: { request: AntigravitySyncRequest; answer: AntigravitySyncAnswer };
  antigravity_sync_all: { request: AntigravitySyncAllRequest; answer: AntigravitySyncAllAnswer };
  claude_bridge_sync: { request: ClaudeBridgeSyncRequest; answer: ClaudeBridgeSyncAnswer };
  compress_file: { request: CompressFileRequest; answer: CompressFileAnswer };
  obsidian_export: { request: ObsidianExportRequest; answer: ObsidianExportAnswer };
  export: { request: ExportRequest; answer: ExportAnswer };
  import_: { request: ImportRequest; answer: ImportAnswer };
  import_jsonl: { request: ImportJsonlRequest; answer: ImportJsonlAnswer };
  import_rules: { request: ImportRulesRequest; answer: ImportRulesAnswer };
  progenly_export: { request: ProgenlyExportRequest; answer: ProgenlyExportAnswer };
  snapshot_create: { request: SnapshotCreateRequest; answer: SnapshotCreateAnswer };
  snapshot_list: { request: SnapshotListRequest; answer: SnapshotListAnswer };
  snapshot_status: { request: SnapshotStatusRequest; answer: SnapshotStatusAnswer };
  snapshot_show: { request: SnapshotShowRequest; answer: SnapshotShowAnswer };
  snapshot_delete: { request: SnapshotDeleteRequest; answer: SnapshotDeleteAnswer };
  snapshot_verify: { request: SnapshotVerifyRequest; answer: SnapshotVerifyAnswer };
  snapshot_diff: { request: SnapshotDiffRequest; answer: SnapshotDiffAnswer };
  snapshot_search: { request: SnapshotSearchRequest; answer: SnapshotSearchAnswer };
  snapshot_export: { request: SnapshotExportRequest; answer: SnapshotExportAnswer };
  snapshot_restore: { request: SnapshotRestoreRequest; answer: SnapshotRestoreAnswer };
  snapshot_undo: { request: SnapshotUndoRequest; answer: SnapshotUndoAnswer };
  snapshot_mend: { request: SnapshotMendRequest; answer: SnapshotMendAnswer };
  drill: { request: DrillRequest; answer: DrillAnswer };
  drill_list: { request: DrillListRequest; answer: DrillListAnswer };
  guard_add: { request: GuardAddRequest; answer: GuardAddAnswer };
  guard_list: { request: GuardListRequest; answer: GuardListAnswer };
  guard_report: { request: GuardReportRequest; answer: GuardReportAnswer };
  guard_scan: { request: GuardScanRequest; answer: GuardScanAnswer };
  guard_remove: { request: GuardRemoveRequest; answer: GuardRemoveAnswer };
  guard_history: { request: GuardHistoryRequest; answer: GuardHistoryAnswer };
  guard_restore: { request: GuardRestoreRequest; answer: GuardRestoreAnswer };
  guard_undo: { request: GuardUndoRequest; answer: GuardUndoAnswer };
  promote: { request: PromoteRequest; answer: PromoteAnswer };
  snapshot_merge: { request: SnapshotMergeRequest; answer: SnapshotMergeAnswer };
  snapshot_set_aside: { request: SnapshotSetAsideRequest; answer: SnapshotSetAsideAnswer };
  snapshot_damaged: { request: SnapshotDamagedRequest; answer: SnapshotDamagedAnswer };
  snapshot_salvage: { request: SnapshotSalvageRequest; answer: SnapshotSalvageAnswer };
  snapshot_discard: { request: SnapshotDiscardRequest; answer: SnapshotDiscardAnswer };
  recover: { request: RecoverRequest; answer: RecoverAnswer };
  snapshot_prune: { request: SnapshotPruneRequest; answer: SnapshotPruneAnswer };
  vault_status: { request: VaultStatusRequest; answer: VaultStatusAnswer };
  vault_init: { request: VaultInitRequest; answer: VaultInitAnswer };
  vault_list: { request: VaultListRequest; answer: VaultListAnswer };
  vault_verify: { request: VaultVerifyRequest; answer: VaultVerifyAnswer };
  vault_prune: { request: VaultPruneRequest; answer: VaultPruneAnswer };
  vault_copy: { request: VaultCopyRequest; answer: VaultCopyAnswer };
  vault_sync: { request: VaultSyncRequest; answer: VaultSyncAnswer };
  mesh_sync: { request: MeshSyncRequest; answer: MeshSyncAnswer };
  snapshot_import: { request: SnapshotImportRequest; answer: SnapshotImportAnswer };
  key_new: { request: KeyNewRequest; answer: KeyNewAnswer };
  key_show: { request: KeyShowRequest; answer: KeyShowAnswer };
  key_rotate: { request: KeyRotateRequest; answer: KeyRotateAnswer };
  key_follow: { request: KeyFollowRequest; answer: KeyFollowAnswer };
  key_trust: { request: KeyTrustRequest; answer: KeyTrustAnswer };
  key_untrust: { request: KeyUntrustRequest; answer: KeyUntrustAnswer };
  overview: { request: OverviewRequest; answer: OverviewAnswer };
  diagnostics: { request: DiagnosticsRequest; answer: DiagnosticsAnswer };
  diagnostics_followup: { request: DiagnosticsFollowupRequest; answer: DiagnosticsFollowupAnswer };
  livez: { request: LivezRequest; answer: LivezAnswer };
  health: { request: HealthRequest; answer: HealthAnswer };
  flags: { request: FlagsRequest; answer: FlagsAnswer };
  audit: { request: AuditRequest; answer: AuditAnswer };
  write_log: { request: WriteLogRequest; answer: WriteLogAnswer };
  token_create: { request: TokenCreateRequest; answer: TokenCreateAnswer };
  token_list: { request: TokenListRequest; answer: TokenListAnswer };
  token_revoke: { request: TokenRevokeRequest; answer: TokenRevokeAnswer };
  verify: { request: VerifyRequest; answer: VerifyAnswer };
  lesson_decay: { request: LessonDecayRequest; answer: LessonDecayAnswer };
  oauth_approve: { request: OauthApproveRequest; answer: OauthApproveAnswer };
  examine: { request: ExamineRequest; answer: ExamineAnswer };
}

/** How each is reached: method, path, and what it does to the memory. */
export const ROUTES: { readonly [N in keyof Operations]: readonly [method: string, path: string, effect: string] } = {
  observe: ["POST", "/observe", "write"],
  agent_observe: ["POST", "/agent/observe", "write"],
  session_start: ["POST", "/session/start", "write"],
  session_transcript: ["POST", "/session/transcript", "write"],
  session_end: ["POST", "/session/end", "write"],
  session_commit: ["POST", "/session/commit", "write"],
  session_by_commit: ["GET", "/session/by-commit", "read"],
  commits: ["GET", "/commits", "read"],
  sessions: ["GET", "/sessions", "read"],
  observations: ["GET", "/observations", "read"],
  remember: ["POST", "/remember", "write"],
  agent_remember: ["POST", "/agent/remember", "write"],
  remember_batch: ["POST", "/remember/batch", "write"],
  evolve: ["POST", "/evolve", "write"],
  memories: ["GET", "/memories", "read"],
  memory: ["GET", "/memories/{id}", "read"],
  addresses: ["GET", "/addresses", "read"],
  address_alias: ["POST", "/addresses/alias", "write"],
  address_move: ["POST", "/addresses/move", "write"],
  memory_tool: ["POST", "/memory-tool", "write"],
  memory_tool_undo: ["POST", "/memory-tool/undo", "write"],
  create_entities: ["POST", "/knowledge-graph/entities", "write"],
  create_relations: ["POST", "/knowledge-graph/relations", "write"],
  add_observations: ["POST", "/knowledge-graph/observations", "write"],
  delete_entities: ["POST", "/knowledge-graph/entities/delete", "write"],
  delete_observations: ["POST", "/knowledge-graph/observations/delete", "write"],
  delete_relations: ["POST", "/knowledge-graph/relations/delete", "write"],
  read_graph: ["GET", "/knowledge-graph", "read"],
  search_nodes: ["POST", "/knowledge-graph/search", "read"],
  open_nodes: ["POST", "/knowledge-graph/open", "read"],
  items_put: ["POST", "/items", "write"],
  items_get: ["POST", "/items/get", "read"],
  items_list: ["POST", "/items/list", "read"],
  items_search: ["POST", "/items/search", "read"],
  items_namespaces: ["POST", "/items/namespaces", "read"],
  items_pop: ["POST", "/items/pop", "destroy"],
  items_clear: ["POST", "/items/clear", "destroy"],
  items_touch: ["POST", "/items/touch", "write"],
  forget: ["POST", "/forget", "destroy"],
  governance_delete: ["DELETE", "/governance/memories", "destroy"],
  auto_forget: ["POST", "/auto-forget", "destroy"],
  lifecycle: ["POST", "/lifecycle", "destroy"],
  memory_deprecate: ["POST", "/memories/deprecate", "write"],
  memory_restore: ["POST", "/memories/restore", "write"],
  memory_change: ["POST", "/memories/change", "write"],
  search: ["POST", "/search", "read"],
  smart_search: ["POST", "/smart-search", "read"],
  context: ["POST", "/context", "read"],
  context_prompt: ["POST", "/context/prompt", "write"],
  enrich: ["POST", "/enrich", "read"],
  profile: ["GET", "/profile", "read"],
  recall_check: ["POST", "/recall/check", "write"],
  timeline: ["POST", "/timeline", "read"],
  replay_sessions: ["GET", "/replay/sessions", "read"],
  replay_load: ["GET", "/replay/load", "read"],
  replay_frames: ["GET", "/replay/frames", "read"],
  file_history: ["POST", "/file-context", "read"],
  patterns: ["POST", "/patterns", "read"],
  vision_search: ["POST", "/vision-search", "read"],
  related: ["GET", "/relations/related", "read"],
  provenance: ["GET", "/provenance", "read"],
  lessons: ["GET", "/lessons", "read"],
  lesson_save: ["POST", "/lessons", "write"],
  lesson_delete: ["DELETE", "/lessons", "destroy"],
  lesson_search: ["POST", "/lessons/search", "read"],
  lesson_strengthen: ["POST", "/lessons/strengthen", "write"],
  slots: ["GET", "/slots", "read"],
  slot: ["GET", "/slot", "read"],
  slot_create: ["POST", "/slot", "write"],
  slot_delete: ["DELETE", "/slot", "destroy"],
  slot_append: ["POST", "/slot/append", "write"],
  slot_replace: ["POST", "/slot/replace", "write"],
  actions: ["GET", "/actions", "read"],
  action_create: ["POST", "/actions", "write"],
  action_update: ["PATCH", "/actions/{actionId}", "write"],
  action_get: ["GET", "/actions/get", "read"],
  action_edge: ["POST", "/actions/edges", "write"],
  frontier: ["GET", "/frontier", "read"],
  relations: ["GET", "/relations", "read"],
  relate: ["POST", "/relations", "write"],
  graph: ["GET", "/graph", "read"],
  graph_query: ["POST", "/graph/query", "read"],
  graph_stats: ["GET", "/graph/stats", "read"],
  next_action: ["GET", "/next", "read"],
  lease: ["POST", "/leases/{operation}", "write"],
  coordination_remove: ["DELETE", "/coordination/{id}", "destroy"],
  heal: ["POST", "/diagnostics/heal", "write"],
  checkpoints: ["GET", "/checkpoints", "read"],
  checkpoint: ["POST", "/checkpoints/{operation}", "write"],
  sentinels: ["GET", "/sentinels", "read"],
  sentinel_create: ["POST", "/sentinels", "write"],
  sentinel_trigger: ["POST", "/sentinels/trigger", "write"],
  sentinel_cancel: ["POST", "/sentinels/cancel", "write"],
  sentinel_check: ["POST", "/sentinels/check", "write"],
  signal_send: ["POST", "/signals/send", "write"],
  signal_read: ["GET", "/signals", "write"],
  team_share: ["POST", "/team/share", "write"],
  team_feed: ["GET", "/team/feed", "read"],
  sketches: ["GET", "/sketches", "read"],
  sketch_create: ["POST", "/sketches", "write"],
  sketch_add: ["POST", "/sketches/add", "write"],
  sketch_promote: ["POST", "/sketches/promote", "write"],
  sketch_discard: ["POST", "/sketches/discard", "write"],
  routines: ["GET", "/routines", "read"],
  routine_create: ["POST", "/routines", "write"],
  routine_run: ["POST", "/routines/run", "write"],
  routine_status: ["GET", "/routines/status", "read"],
  facets: ["GET", "/facets", "read"],
  facet_tag: ["POST", "/facets", "write"],
  facet_remove: ["POST", "/facets/remove", "write"],
  facet_query: ["POST", "/facets/query", "read"],
  folder_graph: ["GET", "/graph/folders", "read"],
  folder_memories: ["GET", "/graph/memories", "read"],
  still_true: ["POST", "/still-true", "write"],
  summarize: ["POST", "/summarize", "write"],
  consolidate: ["POST", "/consolidate", "write"],
  reflect: ["POST", "/reflect", "write"],
  crystals_auto: ["POST", "/crystals/auto", "write"],
  crystals: ["GET", "/crystals", "read"],
  semantic: ["GET", "/semantic", "read"],
  procedural: ["GET", "/procedural", "read"],
  insights: ["GET", "/insights", "read"],
  second_brain: ["GET", "/second-brain", "read"],
  second_brain_write: ["POST", "/second-brain", "write"],
  antigravity_sync: ["POST", "/antigravity/sync", "write"],
  antigravity_sync_all: ["POST", "/antigravity/sync-all", "write"],
  claude_bridge_sync: ["POST", "/claude-bridge/sync", "write"],
  compress_file: ["POST", "/compress-file", "write"],
  obsidian_export: ["POST", "/obsidian/export", "write"],
  export: ["GET", "/export", "read"],
  import_: ["POST", "/import", "write"],
  import_jsonl: ["POST", "/replay/import-jsonl", "write"],
  import_rules: ["POST", "/import/rules", "write"],
  progenly_export: ["GET", "/progenly", "read"],
  snapshot_create: ["POST", "/snapshots", "write"],
  snapshot_list: ["GET", "/snapshots", "read"],
  snapshot_status: ["GET", "/snapshots/status", "read"],
  snapshot_show: ["GET", "/snapshots/{id}", "read"],
  snapshot_delete: ["DELETE", "/snapshots/{id}", "destroy"],
  snapshot_verify: ["POST", "/snapshots/verify", "read"],
  snapshot_diff: ["POST", "/snapshots/diff", "read"],
  snapshot_search: ["POST", "/snapshots/search", "read"],
  snapshot_export: ["POST", "/snapshots/export", "write"],
  snapshot_restore: ["POST", "/snapshots/restore", "destroy"],
  snapshot_undo: ["POST", "/snapshots/undo", "destroy"],
  snapshot_mend: ["POST", "/snapshots/mend", "write"],
  drill: ["POST", "/drills", "write"],
  drill_list: ["GET", "/drills", "read"],
  guard_add: ["POST", "/guard", "write"],
  guard_list: ["GET", "/guard", "read"],
  guard_report: ["GET", "/guard/status", "read"],
  guard_scan: ["POST", "/guard/scan", "write"],
  guard_remove: ["POST", "/guard/remove", "destroy"],
  guard_history: ["GET", "/guard/history", "read"],
  guard_restore: ["POST", "/guard/restore", "destroy"],
  guard_undo: ["POST", "/guard/undo", "destroy"],
  promote: ["POST", "/promote", "write"],
  snapshot_merge: ["POST", "/snapshots/merge", "destroy"],
  snapshot_set_aside: ["GET", "/snapshots/set-aside", "read"],
  snapshot_damaged: ["GET", "/snapshots/damaged", "read"],
  snapshot_salvage: ["POST", "/snapshots/salvage", "destroy"],
  snapshot_discard: ["POST", "/snapshots/discard", "destroy"],
  recover: ["POST", "/recover", "destroy"],
  snapshot_prune: ["POST", "/snapshots/prune", "destroy"],
  vault_status: ["GET", "/vault", "read"],
  vault_init: ["POST", "/vault/init", "write"],
  vault_list: ["GET", "/vault/snapshots", "read"],
  vault_verify: ["POST", "/vault/verify", "read"],
  vault_prune: ["POST", "/vault/prune", "destroy"],
  vault_copy: ["POST", "/vault/copy", "write"],
  vault_sync: ["POST", "/vault/sync", "write"],
  mesh_sync: ["POST", "/mesh/sync", "write"],
  snapshot_import: ["POST", "/snapshots/import", "write"],
  key_new: ["POST", "/keys", "write"],
  key_show: ["GET", "/keys", "read"],
  key_rotate: ["POST", "/keys/rotate", "write"],
  key_follow: ["POST", "/keys/follow", "write"],
  key_trust: ["POST", "/keys/trust", "write"],
  key_untrust: ["POST", "/keys/untrust", "destroy"],
  overview: ["GET", "/overview", "read"],
  diagnostics: ["GET", "/diagnostics", "read"],
  diagnostics_followup: ["GET", "/diagnostics/followup", "read"],
  livez: ["GET", "/livez", "read"],
  health: ["GET", "/health", "read"],
  flags: ["GET", "/config/flags", "read"],
  audit: ["GET", "/audit", "read"],
  write_log: ["GET", "/dolt/commits", "read"],
  token_create: ["POST", "/tokens", "write"],
  token_list: ["GET", "/tokens", "read"],
  token_revoke: ["DELETE", "/tokens/{id}", "destroy"],
  verify: ["POST", "/verify", "write"],
  lesson_decay: ["POST", "/lessons/decay", "write"],
  oauth_approve: ["POST", "/oauth/approve", "write"],
  examine: ["GET", "/examination", "read"],
};
