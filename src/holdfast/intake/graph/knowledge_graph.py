"""Entities with observations, and relations between them: each is a memory of its own at an address that follows from
its text, so that the same is stored once, whichever process says it.

A relation is a memory and no row of the table of relations: its ends need not exist, and a kind such as `supersedes`
would hide memories there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import GRAPH_DOMAIN, CleanText, Json, Memory
from holdfast.intake.addresses import latest_at, own_domain, places
from holdfast.intake.expiry import hide
from holdfast.intake.remember import MemoryDraft, remember_at_address
from holdfast.protocol.access import MemoryFacts
from holdfast.protocol.address import check_address
from holdfast.protocol.terms import MemoryType
from holdfast.redact import redact_text
from holdfast.store.port import Reader, Tx
from holdfast.store.tables import ADDRESSES

DOMAIN = "graph"
ENTITY, OBSERVATION, RELATION = (CleanText(f"graph_{kind}") for kind in ("entity", "observation", "relation"))
TYPES = (ENTITY, OBSERVATION, RELATION)
HASHED = "~"  # how the label of an entity begins whose name cannot be part of an address


@dataclass(frozen=True, slots=True)
class Entity:
    name: CleanText
    type: CleanText
    observations: tuple[CleanText, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A relation of the graph."""

    source: CleanText
    target: CleanText
    type: CleanText


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """Observations of one entity."""

    name: CleanText
    texts: tuple[CleanText, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    entities: tuple[Entity, ...]
    links: tuple[Link, ...]

    def around(self, names: Collection[str]) -> Graph:
        """Of the entities those with these names, and every relation that begins or ends at one of them."""
        entities = tuple(one for one in self.entities if one.name in names)
        found = {one.name for one in entities}
        return Graph(entities, tuple(one for one in self.links if one.source in found or one.target in found))


class KnowledgeGraph:
    """The graph of one audience: of the agents that share, of one isolated agent, or of a sender in a chat."""

    def __init__(self, ctx: CallContext, facts: MemoryFacts, agent: CleanText | None):
        self._ctx, self._facts, self._agent = ctx, facts, agent
        self._domain = own_domain(ctx, DOMAIN, facts, agent)

    def read(self) -> Graph:
        """All of it, in the order in which it was stored."""
        with self._ctx.store.snapshot() as reader:
            told: dict[str, list[CleanText]] = {}
            for one in self._each(reader, self._observations_of(None)):
                name = _about(one)["entity"]
                told.setdefault(name, []).append(CleanText(one.content.removeprefix(_before(name))))
            found = [_about(one) for one in self._each(reader, f"{self._domain}://")]
            links = tuple(_link(one) for one in self._each(reader, self._links()))
        entities = (Entity(one["entity"], one["entityType"], tuple(told.get(one["entity"], ()))) for one in found)
        return Graph(tuple(entities), links)

    def create_entities(self, entities: Iterable[Entity]) -> list[Entity]:
        """Those that were new; of two with one name the first, with the observations of both."""
        together: dict[str, Entity] = {}
        for one in entities:
            known = together.get(one.name, Entity(one.name, one.type))
            texts = dict.fromkeys((*known.observations, *one.observations))
            together[one.name] = Entity(one.name, known.type, tuple(texts))

        def store(tx: Tx) -> list[Entity]:
            new = [one for one in together.values() if self._at(tx, self._entity(one.name)) is None]
            for one in new:
                self._put(tx, self._entity(one.name), _entity_draft(one))
                for text in one.observations:
                    self._observe(tx, one.name, text)
            return new

        return self._ctx.store.write(store)

    def create_links(self, links: Iterable[Link]) -> list[Link]:
        """Those that were new."""

        def store(tx: Tx) -> list[Link]:
            new = [one for one in dict.fromkeys(links) if self._at(tx, self._links(one)) is None]
            for one in new:
                self._put(tx, self._links(one), _link_draft(one))
            return new

        return self._ctx.store.write(store)

    def add_observations(self, told: Sequence[NamedTexts]) -> list[NamedTexts]:
        """Of each entity the observations that were new.

        Raises:
            NotFound: there is no entity of one of the names; nothing was stored.
        """

        def store(tx: Tx) -> list[NamedTexts]:
            done = []
            for one in told:
                if self._at(tx, self._entity(one.name)) is None:
                    raise NotFound(f"Entity with name {one.name} not found", hint="Create it with create_entities.")
                new = [text for text in dict.fromkeys(one.texts) if self._observe(tx, one.name, text)]
                done.append(NamedTexts(one.name, tuple(new)))
            return done

        return self._ctx.store.write(store)

    def delete_entities(self, names: Collection[str]) -> None:
        """Hide entities with their observations and relations; what does not exist is passed over."""

        def store(tx: Tx) -> None:
            for name in dict.fromkeys(names):
                gone = [self._at(tx, self._entity(name)), *self._each(tx, self._observations_of(name))]
                self._hide(tx, *gone)
            links = self._each(tx, self._links())
            self._hide(tx, *[one for one in links if not {*names}.isdisjoint(names_in(one))])

        self._ctx.store.write(store)

    def delete_observations(self, told: Iterable[NamedTexts]) -> None:
        uris = [self._observation(one.name, text) for one in told for text in one.texts]
        self._ctx.store.write(lambda tx: self._hide(tx, *(self._at(tx, uri) for uri in uris)))

    def delete_links(self, links: Iterable[Link]) -> None:
        uris = [self._links(one) for one in links]
        self._ctx.store.write(lambda tx: self._hide(tx, *(self._at(tx, uri) for uri in uris)))

    # Addresses

    def _entity(self, name: str) -> str:
        uri = f"{self._domain}://{name}"
        try:
            return str(check_address(uri)) if not name.startswith(HASHED) else f"{self._domain}://{HASHED}{_hash(name)}"
        except InvalidRequest:
            return f"{self._domain}://{HASHED}{_hash(name)}"

    def _observations_of(self, name: str | None) -> str:
        """How the addresses of an entity's observations begin; of all observations."""
        return f"{self._domain}-observations://{'' if name is None else _hash(name) + '/'}"

    def _observation(self, name: str, text: str) -> str:
        return self._observations_of(name) + _hash(text)

    def _links(self, link: Link | None = None) -> str:
        """The address of a relation; how those of all begin."""
        return f"{self._domain}-relations://{_hash(link.source, link.type, link.target) if link else ''}"

    # Steps

    def _at(self, reader: Reader, uri: str) -> Memory | None:
        address = reader.get(ADDRESSES, self._ctx.tenant, uri)
        memory = latest_at(reader, self._ctx.tenant, address.root) if address else None
        return memory if memory is not None and self._ctx.may_see(memory, self._agent) else None

    def _each(self, reader: Reader, under: str) -> Iterator[Memory]:
        found = (
            one.memory for one in places(self._ctx, reader, under, self._agent) if one.memory.uri == one.address.id
        )
        yield from sorted((one for one in found if _about(one)), key=lambda one: one.seq)

    def _observe(self, tx: Tx, name: CleanText, text: CleanText) -> bool:
        """Store an observation; whether it is new."""
        uri = self._observation(name, text)
        if self._at(tx, uri) is not None:
            return False
        said, about = CleanText(_before(name) + text), {DOMAIN: {"entity": name}}
        self._put(tx, uri, MemoryDraft(said, OBSERVATION, name, entities=(name,), subject=name, metadata=about))
        return True

    def _put(self, tx: Tx, uri: str, draft: MemoryDraft) -> None:
        whose: Json = {"facts": self._facts, "agent": self._agent, "uri": uri}
        remember_at_address(self._ctx, tx, dataclasses.replace(draft, **_EVERY, **whose))

    def _hide(self, tx: Tx, *memories: Memory | None) -> None:
        for one in memories:
            if one is not None:
                self._ctx.check_change(one)
                hide(self._ctx, tx, one, self._ctx.clock.now_ms())


_FIELDS: dict[str, tuple[str, ...]] = {
    ENTITY: ("entity", "entityType"),
    OBSERVATION: ("entity",),
    RELATION: ("from", "to", "relationType"),
}
_EVERY: Json = {"domain": CleanText(GRAPH_DOMAIN), "memory_type": MemoryType.PERMANENT}


def clean_beside(name: str, texts: Iterable[str]) -> tuple[CleanText, ...]:
    """Observations as they are stored of that entity: `password` as its name makes a secret of what is said of it."""
    before = _before(name)
    said = (redact_text(before + text).value for text in texts)
    return tuple(CleanText(one.removeprefix(before)) for one in said)


def _before(name: str) -> str:
    """How the memory of an observation begins: alone, in a search or a context, it has to say what it is about."""
    return f"{name}: "


def names_in(memory: Memory) -> list[str]:
    """The entities that a memory of the graph is about; none for any other memory."""
    return [name for key in ("entity", "from", "to") if (name := _about(memory).get(key)) is not None]


def _about(memory: Memory) -> Json:
    """What the memory is in the graph; empty if it is none of it."""
    about = memory.metadata.get(DOMAIN)
    needed = _FIELDS.get(memory.type)
    is_part = isinstance(about, dict) and needed and all(isinstance(about.get(one), str) for one in needed)
    return about if isinstance(about, dict) and is_part else {}


def _entity_draft(one: Entity) -> MemoryDraft:
    return MemoryDraft(
        content=CleanText(f"{one.name} ({one.type})"),
        type=ENTITY,
        title=one.name,
        entities=(one.name,),
        subject=one.name,
        topics=(one.type,),
        metadata={DOMAIN: {"entity": one.name, "entityType": one.type}},
    )


def _link_draft(one: Link) -> MemoryDraft:
    text = CleanText(f"{one.source} {one.type} {one.target}")
    return MemoryDraft(
        content=text,
        type=RELATION,
        title=text,
        entities=(one.source, one.target),
        metadata={DOMAIN: {"from": one.source, "to": one.target, "relationType": one.type}},
    )


def _link(memory: Memory) -> Link:
    about = _about(memory)
    return Link(about["from"], about["to"], about["relationType"])


def _hash(*parts: str) -> str:
    return sha256(chr(31).join(parts).encode()).hexdigest()[:32]
