"""Items: JSON values under exact keys, as agent frameworks keep them. Each is a memory at an address of its own.

They belong to a chat in which no person speaks, so that no search, list or context of anybody else shows them. An item
is found by the text beside its value; the value stands in the memory's metadata as it was given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import unquote

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Json, Memory
from holdfast.core.session_keys import key_of
from holdfast.intake.addresses import OWN, latest_at
from holdfast.intake.forget import drop_line
from holdfast.intake.remember import MemoryDraft, remember_at_address
from holdfast.protocol.access import MemoryFacts, Viewer
from holdfast.protocol.address import ADDRESS_CHARS
from holdfast.protocol.origin import UMOInfo
from holdfast.protocol.terms import MemoryScope, MemoryType
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ADDRESSES, MEMORIES

Path = tuple[str, ...]

ITEM = CleanText("item")  # the type of these memories, the domain of their addresses and their part of the metadata
CHAT = UMOInfo.parse("holdfast:other:items")
NO_WORDS = CleanText("-")  # the text of an item that is found by its key alone
BATCH = 500
KEY_DIGITS = 20
MINUTE_MS = 60_000
_FACTS = MemoryFacts(MemoryScope.CONVERSATION, origin=CHAT)
_KEY_MARK = "="  # begins the last part of an address; in all other parts it is encoded


@dataclass(frozen=True, slots=True)
class ItemDraft:
    """A value to keep; None removes the item. Without a key it comes after all others of its namespace."""

    namespace: Path
    key: str | None
    value: Json | None
    text: CleanText = NO_WORDS
    ttl_minutes: float | None = None


def among_items(ctx: CallContext) -> CallContext:
    """The caller as a reader of items."""
    return dataclasses.replace(ctx, viewer=Viewer(CHAT.to_umo()))


def concept_of(ctx: CallContext, namespace: Path) -> CleanText:
    """The concept that all items of a namespace and of those below it have. A digest, for the names in a path are no
    words by which an item is found."""
    return CleanText(blake2b(_below(ctx, namespace).encode(), digest_size=12).hexdigest())


def put_items(ctx: CallContext, drafts: Sequence[ItemDraft]) -> list[Memory | None]:
    """Keep all of them in one transaction; an item that is there gets a new version.

    Raises:
        InvalidRequest: a namespace and its key are too long together.
    """
    ctx = among_items(ctx)
    return ctx.store.write(lambda tx: [_put(ctx, tx, one) for one in drafts])


def _put(ctx: CallContext, tx: Tx, draft: ItemDraft) -> Memory | None:
    key = _next_key(ctx, tx, draft.namespace) if draft.key is None else draft.key
    uri = _address(ctx, draft.namespace, key)
    there = _at(ctx, tx, uri)
    now = ctx.clock.now_ms()
    if there is not None and (draft.value is None or _is_over(there, now)):
        drop_line(ctx, tx, there, operation="items_put")
        there = None
    if draft.value is None:
        return None
    about = {
        "namespace": list(draft.namespace),
        "key": key,
        "value": draft.value,
        "createdAt": item_of(there)["createdAt"] if there else now,
        "ttlMinutes": draft.ttl_minutes,
    }
    paths = [draft.namespace[:length] for length in range(1, len(draft.namespace) + 1)]
    memory = remember_at_address(
        ctx,
        tx,
        MemoryDraft(
            content=draft.text,
            type=ITEM,
            concepts=tuple(concept_of(ctx, path) for path in paths),
            metadata={ITEM: about},
            facts=_FACTS,
            memory_type=MemoryType.PERMANENT,
            uri=uri,
        ),
    )
    return _lasting(tx, memory, now)


def _next_key(ctx: CallContext, tx: Tx, namespace: Path) -> str:
    """The number after the last one of the namespace: one of the store would tell how much others write."""
    digits = _below(ctx, namespace) + _KEY_MARK
    bounds = Condition("id", ">=", f"{digits}0"), Condition("id", "<", f"{digits}:")
    last = tx.find(ADDRESSES, ctx.tenant, *bounds, order="-id", limit=1)
    key = last[0].id.removeprefix(digits) if last else "0"
    if not key.isdigit() or int(key) >= 10**KEY_DIGITS - 1:
        raise InvalidRequest(
            "key: the namespace has keys that begin with digits, so none can be chosen", hint="Name a key."
        )
    return f"{int(key) + 1:0{KEY_DIGITS}d}"


def _lasting(tx: Tx, memory: Memory, now: int) -> Memory:
    """The item, written now, as long as it lasts from now on."""
    ttl = item_of(memory)["ttlMinutes"]
    ends = None if ttl is None else now + int(ttl * MINUTE_MS)
    if (memory.updated_at, memory.forget_after) != (now, ends):
        memory = dataclasses.replace(memory, updated_at=now, forget_after=ends)
        tx.replace(MEMORIES, memory)
    return memory


def touch_items(ctx: CallContext, namespace: Path, keys: Sequence[str]) -> int:
    """Let items that end by themselves last their whole time again; how many were there."""
    ctx = among_items(ctx)

    def store(tx: Tx) -> int:
        now = ctx.clock.now_ms()
        found = [one for key in keys if (one := _current(ctx, tx, _address(ctx, namespace, key)))]
        for one in found:
            ttl = item_of(one)["ttlMinutes"]
            if ttl is not None:
                tx.replace(MEMORIES, dataclasses.replace(one, forget_after=now + int(ttl * MINUTE_MS)))
        return len(found)

    return ctx.store.write(store)


def items_at(ctx: CallContext, namespace: Path, keys: Sequence[str]) -> list[Memory | None]:
    """The items of these keys, each in its place."""
    ctx, reader = among_items(ctx), ctx.store.read()
    return [_current(ctx, reader, _address(ctx, namespace, key)) for key in keys]


def items_in(ctx: CallContext, namespace: Path, *, last_first: bool = False) -> Iterator[Memory]:
    """The items of a namespace, not of those below it, in the order of their keys."""
    ctx = among_items(ctx)
    yield from _within(ctx, ctx.store.read(), _below(ctx, namespace) + _KEY_MARK, last_first=last_first)


def items_under(ctx: CallContext, namespace: Path) -> Iterator[Memory]:
    """The items of a namespace and of all below it."""
    ctx = among_items(ctx)
    yield from _within(ctx, ctx.store.read(), _below(ctx, namespace))


def namespaces(ctx: CallContext) -> list[Path]:
    """All namespaces that have items, sorted."""
    ctx, root = among_items(ctx), _below(ctx, ())
    rows = ctx.store.read().each(ADDRESSES, ctx.tenant, *_range(root), *where(kind=OWN), order="id")
    return sorted({tuple(map(unquote, one.id.removeprefix(root).split("/")[:-1])) for one in rows})


def pop_item(ctx: CallContext, namespace: Path) -> Memory | None:
    """Take out the last item of a namespace, by its key."""
    ctx = among_items(ctx)

    def store(tx: Tx) -> Memory | None:
        last = next(_within(ctx, tx, _below(ctx, namespace) + _KEY_MARK, last_first=True), None)
        if last is not None:
            drop_line(ctx, tx, last, operation="items_pop")
        return last

    return ctx.store.write(store)


def clear_items(ctx: CallContext, namespace: Path) -> int:
    """Remove the items of a namespace, not of those below it; how many there were."""
    ctx = among_items(ctx)

    def store(tx: Tx) -> int:
        found = list(_within(ctx, tx, _below(ctx, namespace) + _KEY_MARK))
        for one in found:
            drop_line(ctx, tx, one, operation="items_clear")
        return len(found)

    return ctx.store.write(store)


def item_of(memory: Memory) -> Json:
    """What the memory keeps as an item."""
    about: Json = memory.metadata[ITEM]
    return about


def _within(ctx: CallContext, reader: Reader, under: str, *, last_first: bool = False) -> Iterator[Memory]:
    """The items whose address begins so, in the order of their addresses."""
    order, offset = ("-id" if last_first else "id"), 0
    while rows := reader.find(ADDRESSES, ctx.tenant, *_range(under), order=order, limit=BATCH, offset=offset):
        offset += len(rows)
        roots = Condition("root", "in", [one.root for one in rows])
        found = {one.root: one for one in reader.find(MEMORIES, ctx.tenant, roots, *where(latest=True))}
        for row in rows:
            memory = found.get(row.root)
            if memory is not None and memory.uri == row.id and _is_shown(ctx, memory):
                yield memory


def _range(under: str) -> tuple[Condition, ...]:
    return Condition("id", ">=", under), Condition("id", "<", under + "\U0010ffff")


def _is_shown(ctx: CallContext, memory: Memory) -> bool:
    return ITEM in memory.metadata and ctx.may_see(memory) and not _is_over(memory, ctx.clock.now_ms())


def _current(ctx: CallContext, reader: Reader, uri: str) -> Memory | None:
    memory = _at(ctx, reader, uri)
    return memory if memory is not None and not _is_over(memory, ctx.clock.now_ms()) else None


def _at(ctx: CallContext, reader: Reader, uri: str) -> Memory | None:
    address = reader.get(ADDRESSES, ctx.tenant, uri)
    memory = latest_at(reader, ctx.tenant, address.root) if address else None
    return memory if memory is not None and ITEM in memory.metadata and ctx.may_see(memory) else None


def _is_over(memory: Memory, now: int) -> bool:
    return memory.forget_after is not None and memory.forget_after <= now


def _below(ctx: CallContext, namespace: Path) -> str:
    """What the addresses of a namespace begin with. Isolated agents have a tree each."""
    return f"{ITEM}://" + "".join(f"{key_of(part)}/" for part in (ctx.shared_agent() or "", *namespace))


def _address(ctx: CallContext, namespace: Path, key: str) -> str:
    made = f"{_below(ctx, namespace)}{_KEY_MARK}{key_of(key)}"
    if len(made) > ADDRESS_CHARS:
        raise InvalidRequest(
            f"namespace and key: together they take {len(made)} characters as an address; the limit is {ADDRESS_CHARS}",
            hint="Use shorter ones; letters outside ASCII count up to twelve times.",
        )
    return made
