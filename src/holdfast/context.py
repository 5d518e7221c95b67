"""What every flow is given: the caller, the store, the clock, randomness and the settings.

It decides which agent a record belongs to and what a caller may see, in one place for all flows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast.core.background import (
    FollowProgress,
    GuardProgress,
    JournalProgress,
    LearningProgress,
    QuestionLog,
    RecallCounter,
)
from holdfast.core.errors import Forbidden, InvalidRequest
from holdfast.core.metrics import Metrics
from holdfast.core.model import EVERYBODY, WORK_DOMAINS, AuditEntry, Caller, Event, Json, Lifecycle, Memory
from holdfast.core.ports import Clock, Embedder, Entropy, Reranker, Summarizer
from holdfast.core.session_keys import needs_own_key, own_session
from holdfast.protocol.access import AUDIENCE, MemoryFacts, Viewer, may_see, viewer_keys
from holdfast.protocol.origin import UMOInfo
from holdfast.protocol.terms import MemoryScope
from holdfast.settings import Settings
from holdfast.store.engine_port import OpenMemory
from holdfast.store.port import Condition, Reader, Store, Tx, where
from holdfast.store.tables import AUDIT, SESSIONS

HOUR_MS = 3_600_000
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"


def facts_of(memory: Memory) -> MemoryFacts:
    """What decides who may see a stored memory."""
    owner, *others = memory.owners or ("",)
    origin = UMOInfo.parse(memory.umo) if memory.umo else _NOWHERE
    return MemoryFacts(
        memory.scope,
        memory.visibility,
        origin,
        owner,
        tuple(others),
        memory.share_into_groups,
        memory.state == "deprecated",
        of_work=bool(memory.project or memory.session_ids) or memory.domain in WORK_DOMAINS,
    )


_NOWHERE = UMOInfo("", "", "")


@dataclass(frozen=True, slots=True)
class CallContext:
    """A caller's place at the engine."""

    store: Store
    clock: Clock
    entropy: Entropy
    settings: Settings
    caller: Caller
    summarizer: Summarizer | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    asked: str | None = None  # the agent that the request names
    redacted: tuple[str, ...] = ()  # kinds of secrets that were taken out of the request
    whole: bool = False  # background work of the server itself: sees the whole tenant
    recalls: RecallCounter = field(default_factory=RecallCounter)  # what the searches of all callers returned
    guard: GuardProgress = field(default_factory=GuardProgress)
    journal: JournalProgress = field(default_factory=JournalProgress)  # how far the vault is behind
    follow: FollowProgress | None = None  # how far this copy of another host's memory is; None if it is none
    questions: QuestionLog = field(default_factory=QuestionLog)  # what was searched for lately, by all callers
    learning: LearningProgress = field(default_factory=LearningProgress)  # for callers who wait for the background
    live: OpenMemory | None = None  # the memory while it is open; None for a past one, which is only read
    started: tuple[int, float] | None = None  # wall and steady clock when the engine was opened
    metrics: Metrics = field(default_factory=Metrics)  # what the engine counts
    viewer: Viewer = field(default_factory=Viewer)  # who calls, and in which chat

    @property
    def tenant(self) -> str:
        return self.caller.tenant

    def safe_now(self) -> int:
        """Now, for deletion by age: a wall clock that jumped ahead since the start is not trusted.

        A jump that was right after all, as on a machine that began with a wrong year, counts from the next start on.
        """
        now = self.clock.now_ms()
        if self.started is None:
            return now
        wall, steady = self.started
        return min(now, wall + int((self.clock.steady() - steady) * 1000) + HOUR_MS)

    def within(self, at: int, seconds: int) -> bool:
        """Whether a moment lies in the last seconds; one in the future, as after a clock was set back, does not."""
        return 0 <= self.clock.now_ms() - at < seconds * 1000

    def new_id(self, prefix: str) -> str:
        """prefix_<time in base 36>_<12 hex digits>, as the earlier system's ids."""
        return f"{prefix}_{base36(self.clock.now_ms())}_{self.entropy.hex(12)}"

    def agent(self, asked: str | None = None) -> str | None:
        """The agent that acts: the credential's, else the one the request names, else the server's own.

        Raises:
            Forbidden: the credential is bound to another agent than the one named; or agents are isolated, and the
                server is one agent's and the credential for no other.
        """
        bound, named = self.caller.agent, asked or self.asked
        if bound and named and named != bound:
            raise Forbidden("agentId: this token is bound to another agent")
        if named and self._is_confined and named != self.settings.agent:
            raise Forbidden(
                "agentId: agents are isolated, and this server belongs to another agent",
                hint="Use a token that is bound to the agent, or one with the scope admin.",
            )
        return bound or named or self.settings.agent

    def speaks_for(self, agent: str | None) -> bool:
        """Whether the caller may import or replace records of the agent; where agents share, it may for all."""
        if not self.settings.isolated or self.whole or agent is None:
            return True
        only = self.caller.agent or (self.settings.agent if self._is_confined else None)
        return only is None or agent == only

    @property
    def _is_confined(self) -> bool:
        """Whether the caller may name no agent but the server's own: a shared secret, or none, is no credential for
        another. A token is, if it is bound to that agent or has the scope admin."""
        if self.whole or not self.settings.isolated or not self.settings.agent or self.caller.agent:
            return False
        return not (self.caller.has_token and self.caller.may("admin"))

    def writes_as(self, asked: str | None = None) -> str | None:
        """The agent a new record belongs to.

        Raises:
            Forbidden: the credential is bound to another agent than the one named.
            InvalidRequest: agents are isolated and the request does not name the one that writes.
        """
        agent = self.agent(asked)
        if agent is None and self.settings.isolated and not self.whole:
            raise InvalidRequest(
                "agentId: agents are isolated, and the request names no agent",
                hint="Send agentId, use a token bound to an agent, or set AGENT_ID.",
            )
        return agent

    def sees(self, asked: str | None = None) -> tuple[Condition, ...]:
        """Conditions that keep a read to what the caller may see, and to the agent it names.

        Raises:
            Forbidden: isolated, and the credential is bound to another agent than the one named.
            InvalidRequest: isolated, and the request names no agent.
        """
        if self.whole:
            return ()
        return where(agent=self.writes_as(asked) if self.settings.isolated else asked)

    def shared_agent(self, asked: str | None = None) -> str | None:
        """The owner of records that agents share unless they are isolated: slots and lessons."""
        return self.writes_as(asked) if self.settings.isolated else None

    def sees_shared(self, asked: str | None = None) -> tuple[Condition, ...]:
        """Conditions for records that agents share unless they are isolated."""
        return self.sees(asked) if self.settings.isolated else ()

    @property
    def in_chat(self) -> bool:
        """Whether the caller is in a chat, and so sees memories and nothing else."""
        return bool(self.viewer.umo) and not self.viewer.admin and not self.whole

    def sees_memories(self, asked: str | None = None) -> tuple[Condition, ...]:
        """The conditions of `sees`, and that of the chats: each memory is for its audience alone."""
        return (*self.sees(asked), *self._is_for_viewer())

    def _is_for_viewer(self) -> tuple[Condition, ...]:
        if self.whole or self.viewer.admin:
            return ()
        return (Condition(AUDIENCE, "any", viewer_keys(self.viewer)),)

    def sees_audit(self, asked: str | None = None) -> tuple[Condition, ...]:
        """The same for the audit log: a caller that may not see a memory does not learn what was done to it."""
        return self.sees_memories(asked)

    def may_see(self, record: Any, asked: str | None = None) -> bool:
        """Whether the caller may see a record that was fetched by its id. Outside isolated scope a named agent only
        narrows lists. Chats see memories only."""
        if not self.is_own(record, asked):
            return False
        if isinstance(record, Memory):
            return self.whole or may_see(facts_of(record), self.viewer)
        return not self.in_chat

    def check_change(self, *memories: Memory) -> None:
        """Refuse a change of global memories from a chat, unless the settings allow it or the credential is an
        admin's: a bot has none of these.

        Raises:
            Forbidden: all the memories are global. The caller sees them, so the refusal discloses nothing.
        """
        admin = self.caller.may("admin") and not self.caller.chat
        may = not self.in_chat or admin or self.settings.chats_write_global
        if not may and all(one.scope == MemoryScope.GLOBAL for one in memories):
            raise Forbidden(
                "Chats may not modify global memories.",
                hint="Leave umo out, use a token with the scope admin, or set HOLDFAST_CHATS_WRITE_GLOBAL.",
            )

    def is_own(self, record: Any, asked: str | None = None) -> bool:
        """Whether it belongs to the calling agent; where agents are not isolated, all records do."""
        return all(getattr(record, one.column) == one.value for one in self.sees_shared(asked))

    def session_key(self, reader: Reader, name: str) -> str:
        """The key of the session that the caller means by a name.

        Names are the clients' own, so two isolated agents may use the same one: the second gets a key of its
        own, and neither notices the other.
        """
        agent = self.agent() if self.settings.isolated else None
        if needs_own_key(name):
            return own_session(agent, name)
        if agent is None:
            return name
        own = own_session(agent, name)
        known = reader.get(SESSIONS, self.tenant, name)
        taken = known is not None and not self.is_own(known)
        return own if taken or reader.get(SESSIONS, self.tenant, own) is not None else name

    def audit(
        self,
        tx: Tx,
        operation: str,
        targets: tuple[str, ...],
        agent: str | None = None,
        audience: tuple[str, ...] = (EVERYBODY,),
        **details: Any,
    ) -> None:
        """Log in the audit log who did what to which records, for those who may see all of them; never their text."""
        entry = AuditEntry(
            tenant=self.tenant,
            id=self.new_id("aud"),
            seq=tx.next_seq(self.tenant),
            at=self.clock.now_ms(),
            operation=operation,
            caller=self.caller.name,
            agent=agent if agent is not None else self.agent(),
            target_ids=targets,
            details={**details, **({"redacted": list(self.redacted)} if self.redacted else {})},
            audience=audience,
        )
        tx.add(AUDIT, entry)

    def publish(self, tx: Tx, kind: str, record: Any) -> None:
        """Publish a stored record to live readers who may see it, once the write is on disk."""
        session = getattr(record, "session_id", None)
        audience = getattr(record, "audience", (EVERYBODY,))
        tx.publish(Event(self.tenant, kind, record, session, getattr(record, "agent", None), audience))

    def announce(self, kind: Lifecycle, body: Json, agent: str | None = None) -> None:
        """Publish what happened to a snapshot to the tenant's live readers and the broker; never memory text.

        A restore opens another store: to publish it, take a new context.
        """
        agent = self.agent() if agent is None else agent

        def job(tx: Tx) -> None:
            tx.dispatch(kind, self.tenant, agent, body)
            tx.publish(Event(self.tenant, f"snapshot_{kind}", body, agent=agent))

        self.store.write(job)
