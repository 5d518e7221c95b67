"""Addresses: each names one line of versions, and a line may have several. To a caller who may
not see the memory, the address does not exist.

    own      the memory's address, which its record names too
    alias    another name of it
    moved    its earlier address, which redirects to the new one
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from holdfast.context import CallContext
from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.core.model import Address, Json, Memory
from holdfast.core.session_keys import key_of
from holdfast.protocol.access import MemoryFacts, stored_keys
from holdfast.protocol.address import SEPARATOR, MemoryURI, check_address
from holdfast.protocol.terms import normalize_domain
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ADDRESSES, MEMORIES

OWN, ALIAS, MOVED = "own", "alias", "moved"
MOST_NAMES = 100  # of one memory
BATCH = 500
AT_ONCE = 100  # memories that are read with their text, each up to a megabyte

NO_MEMORY = "memory: no memory has that id"


def is_address(name: str) -> bool:
    """Whether a name of a memory is an address; ids never hold the sign."""
    return SEPARATOR in name


def memory_named(ctx: CallContext, reader: Reader, name: str, agent: str | None) -> Memory:
    """The memory of an id or at an address.

    Raises:
        NotFound: there is none, or it is not the caller's to see.
    """
    found = _at(ctx, reader, name) if is_address(name) else reader.get(MEMORIES, ctx.tenant, name)
    if found is None or not ctx.may_see(found, agent):
        raise NotFound(NO_MEMORY)
    return found


def _at(ctx: CallContext, reader: Reader, uri: str) -> Memory | None:
    address = reader.get(ADDRESSES, ctx.tenant, uri)
    return None if address is None else latest_at(reader, ctx.tenant, address.root)


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


def own_domain(ctx: CallContext, name: str, facts: MemoryFacts, agent: str | None) -> str:
    """The domain for addresses that a caller chooses: one for each audience, so that two chats, or two isolated agents,
    may use the same path and neither notices the other."""
    whose = (ctx.shared_agent(agent) or "", *(stored_keys(facts) if facts.origin.is_valid else ()))
    return f"{name}-{sha256(key_of(*whose).encode()).hexdigest()[:16]}" if any(whose) else name


def fresh_address(ctx: CallContext, tx: Tx, domain: str) -> str:
    """A random free address in the domain."""
    taken = lambda uri: tx.get(ADDRESSES, ctx.tenant, uri) is not None  # noqa: E731
    return str(MemoryURI.generate(normalize_domain(domain), entropy=ctx.entropy, taken=taken))


def owner_of(ctx: CallContext, tx: Tx, uri: str) -> Memory | None:
    """The memory that lies at an address; None if the address is free.

    Raises:
        Conflict: a memory that the caller may not see has it. The error must reveal this: an address has one memory.
    """
    address = tx.get(ADDRESSES, ctx.tenant, uri)
    if address is None:
        return None
    memory = latest_at(tx, ctx.tenant, address.root)
    if memory is None:
        tx.delete(ADDRESSES, ctx.tenant, uri)  # left by a memory that is gone
        return None
    if not saw(ctx, memory):
        raise Conflict("uri: the address is not available", hint="Choose another one.")
    return memory


def saw(ctx: CallContext, memory: Memory, agent: str | None = None) -> bool:
    """Whether the caller may see the memory, or could before it was deprecated."""
    return ctx.may_see(dataclasses.replace(memory, state="active"), agent)


def keep_address(ctx: CallContext, tx: Tx, memory: Memory, uri: str, kind: str = OWN, moved_from: str = "") -> Address:
    """Let an address that is free lead to the memory.

    Raises:
        Conflict: it is taken.
    """
    now = ctx.clock.now_ms()
    made = Address(memory.tenant, uri, tx.next_seq(memory.tenant), memory.root, kind, memory.agent, moved_from, "", now)
    tx.add(ADDRESSES, made)
    return made


def add_alias(ctx: CallContext, name: str, alias: str, agent: str | None) -> tuple[Memory, list[Address]]:
    """Another address for a memory.

    Raises:
        NotFound: there is no such memory.
        Conflict: the alias is another memory's.
        InvalidRequest: it is no address, or the memory has too many.
    """
    check_address(alias)

    def store(tx: Tx) -> tuple[Memory, list[Address]]:
        memory = memory_named(ctx, tx, name, agent)
        ctx.check_change(memory)
        other = owner_of(ctx, tx, alias)
        if other is not None and other.root != memory.root:
            raise Conflict("uri: the address is not available", hint="Choose another one.")
        if other is None:
            if len(names_of(tx, memory)) >= MOST_NAMES:
                raise InvalidRequest(f"alias: a memory has at most {MOST_NAMES} addresses")
            keep_address(ctx, tx, memory, alias, ALIAS)
            ctx.audit(tx, "address_alias", (memory.id,), memory.agent, memory.audience)
        return memory, names_of(tx, memory)

    return ctx.store.write(store)


def move(ctx: CallContext, name: str, to: str, agent: str | None) -> tuple[Memory, list[Address]]:
    """Give a memory another address of its own; the old one leads on to it.

    Raises:
        NotFound: there is no such memory.
        Conflict: the new address is another memory's.
        InvalidRequest: it is no address.
    """
    check_address(to)

    def store(tx: Tx) -> tuple[Memory, list[Address]]:
        memory = latest_at(tx, ctx.tenant, memory_named(ctx, tx, name, agent).root)
        if memory is None:
            raise NotFound(NO_MEMORY)
        ctx.check_change(memory)
        if memory.uri != to:
            memory = move_in(ctx, tx, memory, to)
        return memory, names_of(tx, memory)

    return ctx.store.write(store)


def move_in(ctx: CallContext, tx: Tx, memory: Memory, to: str) -> Memory:
    """The same inside a write that is under way, for a memory that was fetched in it."""
    other = owner_of(ctx, tx, to)
    if other is not None and other.root != memory.root:
        raise Conflict("uri: the address is not available", hint="Choose another one.")
    if other is not None:  # an alias, or where it lay before
        tx.delete(ADDRESSES, ctx.tenant, to)
    old = tx.get(ADDRESSES, ctx.tenant, memory.uri) if memory.uri else None
    if old is not None:
        tx.replace(ADDRESSES, dataclasses.replace(old, kind=MOVED, moved_to=to))
    keep_address(ctx, tx, memory, to, moved_from=memory.uri)
    memory = dataclasses.replace(memory, uri=to)
    tx.replace(MEMORIES, memory)
    ctx.audit(tx, "address_move", (memory.id,), memory.agent, memory.audience)
    return memory


def drop_addresses(ctx: CallContext, tx: Tx, memory: Memory) -> None:
    """Free the addresses of a line of which nothing is left."""
    for one in names_of(tx, memory):
        tx.delete(ADDRESSES, ctx.tenant, one.id)


# Listing them


@dataclass(frozen=True, slots=True)
class AddressedMemory:
    """An address and the memory that lies there."""

    address: Address
    memory: Memory


def places(ctx: CallContext, reader: Reader, under: str, agent: str | None) -> Iterator[AddressedMemory]:
    """The addresses that begin with a text and lead to what the caller may see, in the order of their names."""
    if ctx.in_chat:
        yield from _places_in_chat(ctx, reader, under, agent)
        return
    bounds = (Condition("id", ">=", under), Condition("id", "<", under + "\U0010ffff")) if under else ()
    each = reader.each(ADDRESSES, ctx.tenant, *bounds, order="id")
    while some := list(islice(each, AT_ONCE)):
        latest = _latest_of(reader, ctx.tenant, [one.root for one in some])
        for address in some:
            memory = latest.get(address.root)
            if memory is not None and ctx.may_see(memory, agent):
                yield AddressedMemory(address, memory)


def _latest_of(reader: Reader, tenant: str, roots: Sequence[str]) -> dict[str, Memory]:
    """The latest version of each line, as `latest_at`."""
    firsts = reader.find(MEMORIES, tenant, Condition("id", "in", list(roots)))
    found = {one.root: one for one in firsts if one.latest}
    left = [root for root in roots if root not in found]
    later = (Condition("root", "in", left), Condition("parent_id", "not null"), *where(latest=True))
    return found | ({one.root: one for one in reader.find(MEMORIES, tenant, *later)} if left else {})


def _places_in_chat(ctx: CallContext, reader: Reader, under: str, agent: str | None) -> list[AddressedMemory]:
    """From the few memories that the caller sees to their addresses: most addresses belong to others."""
    bounds = (*ctx.sees_memories(agent), *where(latest=True))
    kept = {one.root: one for one in reader.find(MEMORIES, ctx.tenant, *bounds) if ctx.may_see(one, agent)}
    roots = list(kept)
    found = [
        address
        for start in range(0, len(roots), BATCH)
        for address in reader.find(ADDRESSES, ctx.tenant, Condition("root", "in", roots[start : start + BATCH]))
        if address.id.startswith(under)
    ]
    return [AddressedMemory(address, kept[address.root]) for address in sorted(found, key=lambda one: one.id)]


def address_shape(address: Address) -> Json:
    """The address as answers have it."""
    said = {"migratedFrom": address.moved_from, "migratedTo": address.moved_to}
    return {"uri": address.id, "kind": address.kind, **{name: value for name, value in said.items() if value}}
