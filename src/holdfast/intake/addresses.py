"""Addresses: each names one line of versions, and a line may have several. Whoever may not see the memory is told that
there is none.

    own      the memory's address, which its record names too
    alias    another name of it
    moved    where it lay before; whoever comes there is led on
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.context import Desk
from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.core.model import Address, Json, Memory
from holdfast.protocol.address import SEPARATOR, MemoryURI, check_address
from holdfast.protocol.terms import normalize_domain
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ADDRESSES, MEMORIES

OWN, ALIAS, MOVED = "own", "alias", "moved"
MOST_NAMES = 100  # of one memory
BATCH = 500

NO_MEMORY = "memory: no memory of that id"


def is_address(name: str) -> bool:
    """Whether a name of a memory is an address; ids never hold the sign."""
    return SEPARATOR in name


def memory_named(desk: Desk, reader: Reader, name: str, agent: str | None) -> Memory:
    """The memory of an id or at an address.

    Raises:
        NotFound: there is none, or it is not the caller's to see.
    """
    found = _at(desk, reader, name) if is_address(name) else reader.get(MEMORIES, desk.tenant, name)
    if found is None or not desk.may_see(found, agent):
        raise NotFound(NO_MEMORY)
    return found


def _at(desk: Desk, reader: Reader, uri: str) -> Memory | None:
    address = reader.get(ADDRESSES, desk.tenant, uri)
    return None if address is None else latest_at(reader, desk.tenant, address.root)


def latest_at(reader: Reader, tenant: str, root: str) -> Memory | None:
    """The latest version of a line. Its first one, whose id names it, may be gone."""
    first = reader.get(MEMORIES, tenant, root)
    if first is not None and first.latest:
        return first
    later = Condition("parent_id", "not null")
    found = reader.find(MEMORIES, tenant, *where(root=root, latest=True), later, limit=1)
    return found[0] if found else None


def names_of(reader: Reader, memory: Memory) -> list[Address]:
    """Every address that leads to the memory, the oldest first."""
    return reader.find(ADDRESSES, memory.tenant, *where(root=memory.root), order="seq")


# Giving them


def fresh_address(desk: Desk, tx: Tx, domain: str) -> str:
    """An address of chance in the domain that nothing has."""
    taken = lambda uri: tx.get(ADDRESSES, desk.tenant, uri) is not None  # noqa: E731
    return str(MemoryURI.generate(normalize_domain(domain), entropy=desk.entropy, taken=taken))


def owner_of(desk: Desk, tx: Tx, uri: str) -> Memory | None:
    """The memory that lies at an address; None if the address is free.

    Raises:
        Conflict: it is taken by what the caller may not see. That much must be told: an address has one memory.
    """
    address = tx.get(ADDRESSES, desk.tenant, uri)
    if address is None:
        return None
    memory = latest_at(tx, desk.tenant, address.root)
    if memory is None:
        tx.delete(ADDRESSES, desk.tenant, uri)  # left by a memory that is gone
        return None
    if not saw(desk, memory):
        raise Conflict("uri: the address cannot be used", hint="Choose another one.")
    return memory


def saw(desk: Desk, memory: Memory, agent: str | None = None) -> bool:
    """Whether the caller may see the memory, or could before it was deprecated."""
    return desk.may_see(dataclasses.replace(memory, state="active"), agent)


def keep_address(desk: Desk, tx: Tx, memory: Memory, uri: str, kind: str = OWN, moved_from: str = "") -> Address:
    """Let an address that is free lead to the memory.

    Raises:
        Conflict: it is taken.
    """
    now = desk.clock.now_ms()
    made = Address(memory.tenant, uri, tx.next_seq(), memory.root, kind, memory.agent, moved_from, "", now)
    tx.add(ADDRESSES, made)
    return made


def add_alias(desk: Desk, name: str, alias: str, agent: str | None) -> tuple[Memory, list[Address]]:
    """Another address for a memory.

    Raises:
        NotFound: there is no such memory.
        Conflict: the alias is another memory's.
        InvalidRequest: it is no address, or the memory has too many.
    """
    check_address(alias)

    def store(tx: Tx) -> tuple[Memory, list[Address]]:
        memory = memory_named(desk, tx, name, agent)
        desk.check_change(memory)
        other = owner_of(desk, tx, alias)
        if other is not None and other.root != memory.root:
            raise Conflict("uri: the address cannot be used", hint="Choose another one.")
        if other is None:
            if len(names_of(tx, memory)) >= MOST_NAMES:
                raise InvalidRequest(f"alias: a memory has at most {MOST_NAMES} addresses")
            keep_address(desk, tx, memory, alias, ALIAS)
            desk.audit(tx, "address_alias", (memory.id,), memory.agent, memory.audience)
        return memory, names_of(tx, memory)

    return desk.store.write(store)


def move(desk: Desk, name: str, to: str, agent: str | None) -> tuple[Memory, list[Address]]:
    """Give a memory another address of its own; the old one leads on to it.

    Raises:
        NotFound: there is no such memory.
        Conflict: the new address is another memory's.
        InvalidRequest: it is no address.
    """
    check_address(to)

    def store(tx: Tx) -> tuple[Memory, list[Address]]:
        memory = latest_at(tx, desk.tenant, memory_named(desk, tx, name, agent).root)
        if memory is None:
            raise NotFound(NO_MEMORY)
        desk.check_change(memory)
        if memory.uri != to:
            memory = _moved(desk, tx, memory, to)
        return memory, names_of(tx, memory)

    return desk.store.write(store)


def _moved(desk: Desk, tx: Tx, memory: Memory, to: str) -> Memory:
    other = owner_of(desk, tx, to)
    if other is not None and other.root != memory.root:
        raise Conflict("uri: the address cannot be used", hint="Choose another one.")
    if other is not None:  # an alias, or where it lay before
        tx.delete(ADDRESSES, desk.tenant, to)
    old = tx.get(ADDRESSES, desk.tenant, memory.uri) if memory.uri else None
    if old is not None:
        tx.replace(ADDRESSES, dataclasses.replace(old, kind=MOVED, moved_to=to))
    keep_address(desk, tx, memory, to, moved_from=memory.uri)
    memory = dataclasses.replace(memory, uri=to)
    tx.replace(MEMORIES, memory)
    desk.audit(tx, "address_move", (memory.id,), memory.agent, memory.audience)
    return memory


def drop_addresses(desk: Desk, tx: Tx, memory: Memory) -> None:
    """Free the addresses of a line of which nothing is left."""
    for one in names_of(tx, memory):
        tx.delete(ADDRESSES, desk.tenant, one.id)


# Listing them


@dataclass(frozen=True, slots=True)
class Place:
    """An address and the memory that lies there."""

    address: Address
    memory: Memory


def places(desk: Desk, under: str, agent: str | None) -> Iterator[Place]:
    """The addresses that begin with a text and lead to what the caller may see, in the order of their names."""
    reader = desk.store.read()
    if desk.in_chat:
        yield from _places_in_chat(desk, reader, under, agent)
        return
    bounds = (Condition("id", ">=", under), Condition("id", "<", under + "\U0010ffff")) if under else ()
    for address in reader.each(ADDRESSES, desk.tenant, *bounds, order="id"):
        memory = latest_at(reader, desk.tenant, address.root)
        if memory is not None and desk.may_see(memory, agent):
            yield Place(address, memory)


def _places_in_chat(desk: Desk, reader: Reader, under: str, agent: str | None) -> list[Place]:
    """From the few memories that somebody sees to their addresses: most addresses are other people's."""
    bounds = (*desk.sees_memories(agent), *where(latest=True))
    kept = {one.root: one for one in reader.find(MEMORIES, desk.tenant, *bounds) if desk.may_see(one, agent)}
    roots = list(kept)
    found = [
        address
        for start in range(0, len(roots), BATCH)
        for address in reader.find(ADDRESSES, desk.tenant, Condition("root", "in", roots[start : start + BATCH]))
        if address.id.startswith(under)
    ]
    return [Place(address, kept[address.root]) for address in sorted(found, key=lambda one: one.id)]


def address_shape(address: Address) -> Json:
    """The address as answers have it."""
    said = {"migratedFrom": address.moved_from, "migratedTo": address.moved_to}
    return {"uri": address.id, "kind": address.kind, **{name: value for name, value in said.items() if value}}
