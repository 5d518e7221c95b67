"""Frozen values that cross layers: the records of the store, and who is calling.

Times are integers, milliseconds since 1970 UTC; the edges turn them into ISO text. Every record begins
with its tenant, and `seq` is its place in the one order of all writes: clocks may jump, sequences do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NewType

CleanText = NewType("CleanText", str)
"""Text that went through redaction. Only the redact package makes it; only it is stored or sent on."""

Scope = Literal["read", "write", "admin", "root"]
"""What a credential reaches: admin holds read and write of its tenant; root, which no token has, all."""
Json = dict[str, Any]

DEFAULT_TENANT = "default"
RULE_TYPES = frozenset({"preference", "convention", "rule"})  # of memories that state what the user wants
RULES_DOMAIN = "rules"  # of memories that stand for a line of CLAUDE.md or the like
FILES_DOMAIN = "files"  # of memories that are files of the memory tool
GRAPH_DOMAIN = "graph"  # of memories that are entities, observations and relations of a knowledge graph
WORK_DOMAINS = frozenset({RULES_DOMAIN, FILES_DOMAIN, GRAPH_DOMAIN})  # an agent's own work: chats are not shown it
VERBATIM_DOMAINS = frozenset({FILES_DOMAIN, GRAPH_DOMAIN})  # no other text ever becomes a new version of these
EVERYBODY = "all"  # the key of every caller outside of chats; what only some may see has others
IN_CHATS = "chats"  # the key of everybody in a chat


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat, platform:type:session, and the id of who speaks there."""

    umo: str
    sender_id: str = ""


# How the names of callers with a token begin.
TOKEN_CALLER = "token:"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: from the credential, never from a parameter of the request."""

    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    scopes: frozenset[Scope] = frozenset({"read", "write", "admin", "root"})
    name: str = "local"
    chat: Chat | None = None  # the one that the whole connection is for, whatever its requests name
    owner: bool = False  # a command of the folder's own user, who can read every file that it names

    @property
    def has_token(self) -> bool:
        """Whether a token of its own was given, not the secret that all share, or nothing."""
        return self.name.startswith(TOKEN_CALLER)

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or ("admin" in self.scopes and scope != "root")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was committed and that live readers may want to see."""

    tenant: str
    kind: str
    body: Any  # a record, or JSON; it is given its shape only if a reader needs it
    session_id: str | None = None
    agent: str | None = None
    audience: tuple[str, ...] = (EVERYBODY,)


Lifecycle = Literal["created", "restored", "deleted", "pruned"]
"""What happens to snapshots."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An event on its way to the broker. `body` is its JSON text; `place` orders it among those that wait."""

    place: int
    tenant: str
    agent: str | None
    kind: str  # mutated, or a snapshot's Lifecycle
    body: str


@dataclass(frozen=True, slots=True)
class Session:
    tenant: str
    id: str
    seq: int
    project: str
    cwd: str
    agent: str | None
    title: str
    status: str
    started_at: int
    updated_at: int
    ended_at: int | None = None
    observation_count: int = 0
    first_prompt: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    tenant: str
    id: str
    seq: int
    session_id: str
    project: str
    agent: str | None
    at: int
    stored_at: int
    hook: str
    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    importance: int
    confidence: float
    raw: Json
    content_hash: str


@dataclass(frozen=True, slots=True)
class Memory:
    """One version of a kept fact. `root` is the id of the first version: it names the line of versions.

    `umo` is the chat where it was made, `owners` are senders there; `audience` follows from these and the scope, and
    decides who sees it.
    """

    tenant: str
    id: str
    seq: int
    root: str
    version: int
    parent_id: str | None
    supersedes: tuple[str, ...]
    latest: bool
    type: str
    title: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    project: str | None
    agent: str | None
    session_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    strength: float
    importance: int
    created_at: int
    updated_at: int
    dated: bool
    valid_from: int
    valid_to: int | None
    forget_after: int | None
    content_hash: str
    metadata: Json = field(default_factory=dict)
    scope: str = "global"
    visibility: str = "group"
    umo: str | None = None
    owners: tuple[str, ...] = ()
    share_into_groups: bool = False
    audience: tuple[str, ...] = (EVERYBODY,)
    uri: str = ""
    domain: str = ""
    memory_type: str = "normal"
    disclosure: str = ""
    subject: str = ""
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    state: str = "active"  # or folded, or deprecated: see `protocol/lifecycle.py`
    deprecated_at: int | None = None
    folded_into: str | None = None  # the summary that stands for it


@dataclass(frozen=True, slots=True)
class Address:
    """A name, domain://path, of a line of memories; its id is the address itself. See `intake/addresses.py`."""

    tenant: str
    id: str
    seq: int
    root: str
    kind: str
    agent: str | None
    moved_from: str
    moved_to: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Lesson:
    tenant: str
    id: str
    seq: int
    content: str
    context: str
    project: str | None
    agent: str | None
    confidence: float
    reinforcements: int
    source: str
    source_ids: tuple[str, ...]
    tags: tuple[str, ...]
    decay_rate: float
    created_at: int
    updated_at: int
    last_reinforced_at: int | None
    last_decayed_at: int | None
    deleted: bool


@dataclass(frozen=True, slots=True)
class Slot:
    tenant: str
    id: str
    seq: int
    label: str
    scope: str
    project: str | None
    agent: str | None
    content: str
    description: str
    size_limit: int
    pinned: bool
    read_only: bool
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Action:
    tenant: str
    id: str
    seq: int
    title: str
    description: str
    priority: int
    status: str
    tags: tuple[str, ...]
    session_id: str | None
    project: str | None
    agent: str | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Relation:
    tenant: str
    id: str
    seq: int
    source_id: str
    target_id: str
    type: str
    agent: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class CoordinationRecord:
    """What agents use to share work: a lease, signal, checkpoint, sentinel, sketch, routine, run, facet or shared item.

    `subject` is what it is about: the action of a lease, the agent that a signal is for, the record that a facet tags.
    The rest depends on the kind and is in the body; see `coordination/coordination_records.py`.
    """

    tenant: str
    id: str
    seq: int
    kind: str
    subject: str
    status: str
    agent: str | None
    body: Json
    created_at: int
    updated_at: int
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened in one session; its id is the session's."""

    tenant: str
    id: str
    seq: int
    project: str
    agent: str | None
    title: str
    narrative: str
    decisions: tuple[str, ...]
    files: tuple[str, ...]
    concepts: tuple[str, ...]
    observation_count: int
    maker: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Insight:
    """Knowledge drawn from many records: a semantic fact, a procedure, a crystal or an insight."""

    tenant: str
    id: str
    seq: int
    kind: str
    title: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    source_ids: tuple[str, ...]
    project: str | None
    agent: str | None
    strength: float
    maker: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that was said in a session and is worth knowing later, word for word.

    `source_id` is the observation it was said in. A relation `supersedes` between two statements means that the newer
    one replaced the older.
    """

    tenant: str
    id: str
    seq: int
    source_id: str
    session_id: str
    project: str
    agent: str | None
    kind: str
    text: str
    worth: float
    at: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A git commit and the sessions in which it was made; its id is repo and sha."""

    tenant: str
    id: str
    seq: int
    sha: str
    branch: str
    repo: str
    message: str
    author: str
    authored_at: str
    files: tuple[str, ...]
    session_ids: tuple[str, ...]
    agent: str | None
    linked_at: int


@dataclass(frozen=True, slots=True)
class Token:
    tenant: str
    id: str
    seq: int
    name: str
    secret_hash: str
    agent: str | None
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class OAuthRecord:
    """A registered client, a consent that waits, or what was granted; of the server, so of the default tenant."""

    tenant: str
    id: str
    seq: int
    kind: str
    content: Json
    created_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    tenant: str
    id: str
    seq: int
    at: int
    operation: str
    caller: str
    agent: str | None
    target_ids: tuple[str, ...]
    details: Json
    audience: tuple[str, ...] = (EVERYBODY,)  # who may see all of the targets


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer to a request that carried an Idempotency-Key; `body` is empty until it is known."""

    tenant: str
    id: str
    seq: int
    request_hash: str
    status: int
    body: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Note:
    """A small piece of the server's own state: import cursors, last consolidation, second-brain pages."""

    tenant: str
    id: str
    seq: int
    kind: str
    content: str
    updated_at: int
