"""Keeping facts: a near-duplicate becomes a new version, and at any time one version is the latest."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from holdfast.context import CallContext, facts_of
from holdfast.core.errors import Conflict
from holdfast.core.model import VERBATIM_DOMAINS, WORK_DOMAINS, CleanText, Json, Memory
from holdfast.core.times import DAY_MS
from holdfast.intake.addresses import fresh_address, keep_address, memory_named, owner_of
from holdfast.protocol.access import MemoryFacts, stored_keys
from holdfast.protocol.sameness import said_hash, with_hash
from holdfast.protocol.terms import MemoryScope, MemoryType, MemoryVisibility
from holdfast.store.minhash import distinct_words, jaccard, keeps_all
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import MEMORIES, memory_sketch

SAME_ABOVE = 0.7
SIMILAR_ABOVE = 0.4
FEW_WORDS = 5  # below this one word more or less decides, so only identical texts are versions
CANDIDATES = 8  # those that share the most hashes come first; a version shares five of eight on average
SIMILAR_SHOWN = 5


_AGENTS_OWN = MemoryFacts(MemoryScope.GLOBAL, MemoryVisibility.GROUP)
_SILENT = CleanText("")


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A fact to keep; all text is clean."""

    content: CleanText
    type: CleanText
    title: CleanText | None = None
    concepts: tuple[CleanText, ...] = ()
    files: tuple[CleanText, ...] = ()
    project: CleanText | None = None
    agent: CleanText | None = None
    session_id: CleanText | None = None
    source_ids: tuple[CleanText, ...] = ()
    created_at: int | None = None
    ttl_days: float | None = None
    importance: int = 3
    metadata: Json = dataclasses.field(default_factory=dict)
    facts: MemoryFacts = _AGENTS_OWN  # whose it is
    domain: CleanText = _SILENT
    memory_type: str = MemoryType.NORMAL
    disclosure: CleanText = _SILENT
    subject: CleanText = _SILENT
    entities: tuple[CleanText, ...] = ()
    topics: tuple[CleanText, ...] = ()
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Similar:
    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """The kept memory; `first`: this very request was answered before."""

    memory: Memory
    similar: tuple[Similar, ...] = ()
    first: bool = True


def remember(ctx: CallContext, draft: MemoryDraft) -> Remembered:
    """Keep a fact, as a new version if the same agent and project know nearly the same already."""
    words = distinct_words(draft.content)
    return ctx.store.write(lambda tx: remember_in(ctx, tx, draft, words))


def remember_in(ctx: CallContext, tx: Tx, draft: MemoryDraft, words: frozenset[str]) -> Remembered:
    """The same inside a write that is under way."""
    agent = ctx.writes_as(draft.agent)
    if draft.session_id:
        draft = dataclasses.replace(draft, session_id=CleanText(ctx.session_key(tx, draft.session_id)))
    memory = _first_version(ctx, tx, draft, agent)
    ctx.check_change(memory)
    there = owner_of(ctx, tx, draft.uri) if draft.uri else None
    if there is not None:
        return Remembered(_revised(ctx, tx, there, memory))
    alike = _similar_memories(ctx, tx, memory, words)
    for _, known in alike:
        if known.content_hash == memory.content_hash and ctx.within(known.updated_at, ctx.settings.dedup_seconds):
            return Remembered(known, first=False)
    old = next((memory for score, memory in alike if _is_version(draft, memory, words, score)), None)
    if old:
        memory = supersede(tx, old, memory)
    else:
        memory = _addressed(ctx, tx, memory)
        tx.add(MEMORIES, memory)
    if memory.uri and not (old and old.uri):
        keep_address(ctx, tx, memory, memory.uri)
    _publish(ctx, tx, memory, agent)
    similar = [
        Similar(other.id, other.title, round(score, 3))
        for score, other in alike
        if score > SIMILAR_ABOVE and other is not old
    ]
    return Remembered(memory, tuple(similar[:SIMILAR_SHOWN]))


def remember_at_address(ctx: CallContext, tx: Tx, draft: MemoryDraft) -> Memory:
    """Keep a fact at its address, as a memory of its own however alike others are; what lies there already becomes a
    new version."""
    agent = ctx.writes_as(draft.agent)
    memory = _first_version(ctx, tx, draft, agent)
    ctx.check_change(memory)
    there = owner_of(ctx, tx, draft.uri)
    if there is not None:
        return _revised(ctx, tx, there, memory)
    tx.add(MEMORIES, memory)
    keep_address(ctx, tx, memory, memory.uri)
    _publish(ctx, tx, memory, agent)
    return memory


def _addressed(ctx: CallContext, tx: Tx, memory: Memory) -> Memory:
    """The memory with an address: its own, or a random one if it was made in a chat or has a domain."""
    if memory.uri or not (memory.umo or memory.domain):
        return memory
    return dataclasses.replace(memory, uri=fresh_address(ctx, tx, memory.domain))


def _revised(ctx: CallContext, tx: Tx, old: Memory, new: Memory) -> Memory:
    """A new version of the memory at the address. Its audience stays; the same content again changes nothing, if it
    comes with no metadata or with the same.

    Raises:
        Conflict: the new content has another audience than the memory there, which would be shown it.
        Forbidden: it is global, and the caller is in a chat.
    """
    if audience_of(old) != new.audience and {old.scope, new.scope} != {MemoryScope.GLOBAL}:
        raise Conflict(
            "uri: the memory at this address is visible to others than the new one",
            hint="Choose another address, or evolve the memory there; its visibility then stays as it is.",
        )
    if old.content == new.content and old.state == "active" and new.metadata in ({}, old.metadata):
        return old
    kept = ("agent", "scope", "visibility", "umo", "owners", "share_into_groups", "uri")
    same = {name: getattr(old, name) for name in kept}
    # Who may see it follows from the sessions too, and a line keeps them all.
    sessions = tuple(dict.fromkeys((*old.session_ids, *new.session_ids)))
    memory = supersede(tx, old, with_hash(awake(dataclasses.replace(new, **same, session_ids=sessions))))
    _publish(ctx, tx, memory, memory.agent)
    return memory


def awake(memory: Memory) -> Memory:
    """The memory as one that is found: neither deprecated nor behind a summary."""
    return dataclasses.replace(
        memory, state="active", deprecated_at=None, folded_into=None, audience=audience_of(memory)
    )


def audience_of(memory: Memory) -> tuple[str, ...]:
    """Who may see the memory, or could before it was deprecated or summarised."""
    return stored_keys(dataclasses.replace(facts_of(memory), deprecated=False))


def _woken(tx: Tx, memory: Memory) -> Memory:
    """The memory as it is found again, with its earlier versions: all versions change their state together."""
    if memory.state == "active":
        return memory
    for version in line_of(tx, memory):
        tx.replace(MEMORIES, awake(version))
    return awake(memory)


def _publish(ctx: CallContext, tx: Tx, memory: Memory, agent: str | None) -> None:
    ctx.audit(tx, "remember", (memory.id,), agent, memory.audience, version=memory.version)
    ctx.publish(tx, "memory", memory)


def evolve(
    ctx: CallContext,
    memory_id: str,
    content: CleanText,
    title: CleanText | None,
    agent: str | None,
    *,
    share_into_groups: bool = False,
) -> Memory:
    """A new version of the memory of an id or at an address. Naming an old version evolves the latest one of its line.

    Raises:
        NotFound: no such memory, or not the caller's to see.
        Forbidden: it is global, and the caller is in a chat.
        Conflict: it comes from a private chat, and groups would recall it without the owner's permission.
    """

    def store(tx: Tx) -> Memory:
        old = latest_of(tx, memory_named(ctx, tx, memory_id, agent))
        ctx.check_change(old)
        if not share_into_groups:
            _check_stays_private(ctx, old)
        now = ctx.clock.now_ms()
        fresh = dataclasses.replace(
            old,
            id=ctx.new_id("mem"),
            seq=tx.next_seq(ctx.tenant),
            content=content,
            title=title or title_of(content),
            created_at=now,
            updated_at=now,
            valid_from=now,
            valid_to=None,
            latest=True,
            dated=False,
        )
        memory = supersede(tx, old, with_hash(awake(fresh)))
        ctx.audit(tx, "evolve", (memory.id, old.id), memory.agent, memory.audience, version=memory.version)
        ctx.publish(tx, "memory", memory)
        return memory

    return ctx.store.write(store)


def _check_stays_private(ctx: CallContext, memory: Memory) -> None:
    """Memories of a private chat are not recalled where others read along, unless the owner opted in."""
    if ctx.in_chat and ctx.viewer.origin.is_private and not facts_of(memory).is_shown_in_private_only:
        raise Conflict(
            "the memory is recalled in groups, and this text is from a private chat",
            hint="Pass shareIntoGroups if groups may read it, or save it as a separate memory.",
        )


def latest_of(reader: Reader, memory: Memory) -> Memory:
    """The latest version of a memory's line."""
    return memory if memory.latest else (line_of(reader, memory) or [memory])[0]


def line_of(reader: Reader, memory: Memory) -> list[Memory]:
    """All versions of a memory, newest first."""
    later = Condition("parent_id", "not null")
    line = reader.find(MEMORIES, memory.tenant, *where(root=memory.root), later, order="-version")
    first = reader.get(MEMORIES, memory.tenant, memory.root)
    return [*line, *([first] if first and first.parent_id is None else [])]


def supersede(tx: Tx, old: Memory, new: Memory) -> Memory:
    """Close the old version at the moment the new one begins to hold, and keep the new one, linked to it.

    The new version keeps the recall count.
    """
    old = _woken(tx, old)
    turn = max(old.valid_from, new.valid_from)  # a clock or a given date may lie before the old version
    tx.replace(MEMORIES, dataclasses.replace(old, latest=False, valid_to=turn))
    linked = dataclasses.replace(
        new,
        root=old.root,
        version=old.version + 1,
        parent_id=old.id,
        supersedes=(old.id,),
        session_ids=tuple(dict.fromkeys((*old.session_ids, *new.session_ids))),
        valid_from=turn,
        uri=new.uri or old.uri,
    )
    tx.add(MEMORIES, linked)
    recalled = tx.recalls(old.tenant, [old.seq])
    if recalled:
        tx.add_recalls({(new.tenant, new.seq): recalled[old.seq]})
    return linked


def _similar_memories(ctx: CallContext, tx: Tx, new: Memory, words: frozenset[str]) -> list[tuple[float, Memory]]:
    """Latest memories of the same project, agent and people that share words, most alike first."""
    seqs = tx.near(ctx.tenant, memory_sketch(new.content, new.project, new.agent, new.audience), CANDIDATES)
    if not seqs:
        return []
    found = tx.find(MEMORIES, ctx.tenant, *where(latest=True), Condition("seq", "in", seqs))
    scored = [
        (jaccard(words, distinct_words(known.content)), known)
        for known in found
        if _belongs_alike(known, new) and ctx.may_see(known)
    ]
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].seq))


def _belongs_alike(known: Memory, new: Memory) -> bool:
    """Whether both have the same project, agent and audience; if personal, also the same owner."""
    personal = MemoryScope.PERSONAL in (known.scope, new.scope)
    return (known.project, known.agent, known.scope, known.audience) == (
        new.project,
        new.agent,
        new.scope,
        new.audience,
    ) and not (personal and known.owners != new.owners)


def _is_version(draft: MemoryDraft, memory: Memory, words: frozenset[str], score: float) -> bool:
    """Whether the draft has nearly the same content, and nothing of the memory is lost by it.

    Dated statements of two sessions are two statements.
    """
    if (draft.uri and memory.uri) or memory.domain in VERBATIM_DOMAINS:
        return False  # two addresses, two memories; and what an agent wrote into a file stays as it is
    if draft.created_at is not None and memory.dated and memory.session_ids != _sessions(draft):
        return False
    if len(words) < FEW_WORDS:
        return draft.content.strip() == memory.content.strip()
    return score > SAME_ABOVE and keeps_all(memory.content, draft.content)


def _sessions(draft: MemoryDraft) -> tuple[str, ...]:
    return (draft.session_id,) if draft.session_id else ()


def _first_version(ctx: CallContext, tx: Tx, draft: MemoryDraft, agent: str | None) -> Memory:
    now = ctx.clock.now_ms()
    created = draft.created_at if draft.created_at is not None else now
    id = ctx.new_id("mem")
    title = draft.title or title_of(draft.content)
    lasts = None if draft.ttl_days is None else int(draft.ttl_days * DAY_MS)
    of_work = bool(draft.project or _sessions(draft)) or draft.domain in WORK_DOMAINS
    facts = dataclasses.replace(draft.facts, of_work=of_work)
    umo = facts.origin.to_umo() if facts.origin.is_valid else None
    owners = (facts.owner, *facts.co_owners) if facts.owner else ()
    return Memory(
        tenant=ctx.tenant,
        id=id,
        seq=tx.next_seq(ctx.tenant),
        root=id,
        version=1,
        parent_id=None,
        supersedes=(),
        latest=True,
        type=draft.type,
        title=title,
        content=draft.content,
        concepts=draft.concepts,
        files=draft.files,
        project=draft.project,
        agent=agent,
        session_ids=_sessions(draft),
        source_ids=draft.source_ids,
        strength=7.0,
        importance=draft.importance,
        created_at=created,
        updated_at=now,
        dated=draft.created_at is not None,
        valid_from=created,
        valid_to=None,
        forget_after=None if lasts is None else now + lasts,
        content_hash=said_hash(
            what=[draft.content, draft.type, draft.concepts, draft.files, draft.project, agent],
            when=[_sessions(draft), draft.created_at],
            how=[title, draft.importance, lasts],
            whose=[facts.scope, facts.visibility, umo, owners, facts.share_into_groups],
            about=[draft.domain, draft.memory_type, draft.disclosure, draft.subject],
            names=[draft.entities, draft.topics],
        ),
        metadata=draft.metadata,
        scope=facts.scope,
        visibility=facts.visibility,
        umo=umo,
        owners=owners,
        share_into_groups=facts.share_into_groups,
        audience=stored_keys(facts),
        uri=draft.uri,
        domain=draft.domain,
        memory_type=draft.memory_type,
        disclosure=draft.disclosure,
        subject=draft.subject,
        entities=draft.entities,
        topics=draft.topics,
    )


def title_of(content: str) -> str:
    """The first line, at most 80 characters, cut between words."""
    line = content.strip().split("\n", 1)[0].strip()
    if len(line) <= 80:
        return line
    head, _, _ = line[:79].rpartition(" ")
    return (head or line[:79]) + "…"
