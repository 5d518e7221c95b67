"""A memory as a few documents, for small vaults that take only texts: what an agent needs to go on.

    holdfast.json         what it is of, what is in it and what was left out
    profile.md            for people: what the memory is about
    <list>/0001.jsonl     records, one JSON object a line

Slots, lessons, memories with their addresses and relations are always in it. Insights, actions, summaries, pages,
what was forgotten and earlier versions are as far as they fit. Sessions, observations, commits and the rest of the
audit log are not.
"""

from __future__ import annotations

import dataclasses
import types
import typing
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import orjson

from holdfast.context import facts_of
from holdfast.core.errors import InvalidRequest, SnapshotDamaged, SnapshotTooNew, VaultFull
from holdfast.core.model import EVERYBODY, AuditEntry, Json, Memory
from holdfast.core.wire import shape
from holdfast.protocol.access import check_writable, stored_keys
from holdfast.protocol.sameness import with_hash
from holdfast.redact import redact_value
from holdfast.snapshot.bundle.types import Identity
from holdfast.store.port import Condition, Reader, Store, Table, Tx
from holdfast.store.queries.removals import REMOVING
from holdfast.store.tables import (
    ACTIONS,
    ADDRESSES,
    AUDIT,
    COMMITS,
    COORDINATION,
    INSIGHTS,
    LESSONS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    SUMMARIES,
)
from holdfast.text.text_checks import check_storable

FORMAT = "holdfast-compact/1"
ABOUT, PROFILE = "holdfast.json", "profile.md"
# Documents are cut so small that leaving one out leaves little out, and so large that few names are needed.
DOCUMENT_CHARS = 200_000
BATCH = 500
_HIDDEN = frozenset({"tenant", "seq", "audience", "content_hash"})  # they follow from the place and the rest
_TOP = 20


@dataclass(frozen=True, slots=True)
class _List:
    name: str
    table: Table[Any]
    needed: bool
    conditions: tuple[Condition, ...] = ()
    order: str = "seq"


LISTS = (
    _List("slots", SLOTS, True),
    _List("lessons", LESSONS, True),
    _List("memories", MEMORIES, True, (Condition("latest", "=", True),)),
    _List("addresses", ADDRESSES, True),
    _List("relations", RELATIONS, True),
    _List("removals", AUDIT, False, (Condition("operation", "in", REMOVING),), "-seq"),
    _List("actions", ACTIONS, False, (), "-seq"),
    _List("coordination", COORDINATION, False, (), "-seq"),
    _List("insights", INSIGHTS, False, (), "-seq"),
    _List("statements", STATEMENTS, False, (), "-seq"),
    _List("notes", NOTES, False, (), "-seq"),
    _List("summaries", SUMMARIES, False, (), "-seq"),
    _List("versions", MEMORIES, False, (Condition("latest", "=", False),), "-seq"),
)
_BY_NAME = {one.name: one for one in LISTS}
NEVER = (SESSIONS, OBSERVATIONS, COMMITS)


@dataclass(frozen=True, slots=True)
class ColonyDocuments:
    """The documents, and how many records of each kind are not in them."""

    documents: dict[str, str]
    left: dict[str, int]


# Writing


def documents_of(
    reader: Reader, identity: Identity, room: int, usual: int, bounds: tuple[Condition, ...] = ()
) -> ColonyDocuments:
    """The memory as documents that take at most `room` bytes in a vault. What is not strictly needed is in them only as
    long as they stay below `usual`. `bounds` keep it to one agent's records; notes, which belong to none, are left out.

    Raises:
        VaultFull: what is needed does not fit.
    """
    documents: dict[str, str] = {}
    left: dict[str, int] = {}
    counts: dict[str, int] = {}
    taken = 4_000  # for the manifest, the pointer and the two documents that are written last
    for one in LISTS:
        if bounds and one.table is NOTES:
            continue
        found = reader.each(one.table, identity.tenant, *one.conditions, *bounds, order=one.order)
        for number, (text, records) in enumerate(_texts(found), 1):
            size = stored_size(text)
            if one.needed or taken + size <= usual:
                documents[f"{one.name}/{number:04}.jsonl"] = text
                counts[one.name] = counts.get(one.name, 0) + records
                taken += size
            else:
                left[one.name] = left.get(one.name, 0) + records
    if taken > room:
        raise VaultFull(
            f"vault: the compact snapshot needs {taken} bytes, {room} are free",
            hint="Remove compact snapshots from the vault, or use another kind of vault, which stores the whole "
            "memory.",
        )
    left |= {table.name: count for table in NEVER if (count := reader.count(table, identity.tenant, *bounds))}
    about = {"format": FORMAT, **dataclasses.asdict(identity), "counts": counts, "left": left}
    documents[ABOUT] = orjson.dumps(about, option=orjson.OPT_SORT_KEYS).decode()
    documents[PROFILE] = _profile(reader, identity, counts, bounds)
    return ColonyDocuments(documents, left)


def stored_size(text: str) -> int:
    """About how many bytes a document takes in the vault: as JSON, deflated, in base64."""
    return len(zlib.compress(orjson.dumps(text), 6)) * 4 // 3 + 64


def _texts(records: Iterable[Any]) -> Iterator[tuple[str, int]]:
    lines: list[str] = []
    size = 0
    for record in records:
        lines.append(orjson.dumps(_fields(record)).decode())
        size += len(lines[-1])
        if size >= DOCUMENT_CHARS:
            yield "\n".join(lines), len(lines)
            lines, size = [], 0
    if lines:
        yield "\n".join(lines), len(lines)


def _fields(record: Any) -> Json:
    """The contents of the record; empty and default values are not written."""
    kind: Any = type(record)
    usual = _usual(kind)
    return {
        field.name: value
        for field in dataclasses.fields(record)
        if field.name not in _HIDDEN and (value := getattr(record, field.name)) != usual[field.name]
    }


def _profile(reader: Reader, identity: Identity, counts: Mapping[str, int], bounds: tuple[Condition, ...]) -> str:
    """Slots that are pinned, and what memories are about most often."""
    concepts: Counter[str] = Counter()
    projects: Counter[str] = Counter()
    for memory in reader.each(MEMORIES, identity.tenant, Condition("latest", "=", True), *bounds):
        if EVERYBODY in memory.audience:
            concepts.update(memory.concepts)
            projects.update([memory.project] if memory.project else [])
    lines = [f"# Memory of {identity.agent}", "", ", ".join(f"{count} {name}" for name, count in counts.items())]
    for title, found in (("Projects", projects), ("Concepts", concepts)):
        if found:
            lines += ["", f"## {title}", "", *(f"- {name} ({count})" for name, count in found.most_common(_TOP))]
    for slot in reader.each(SLOTS, identity.tenant, Condition("pinned", "=", True), *bounds):
        if slot.content:
            lines += ["", f"## {slot.label}", "", slot.content]
    return "\n".join(lines) + "\n"


# Reading


@dataclass(frozen=True, slots=True)
class DocumentsInfo:
    """What the documents record about themselves."""

    identity: Identity
    left: dict[str, int]


def is_compact(documents: Mapping[str, str]) -> bool:
    """Whether Holdfast wrote them."""
    return ABOUT in documents


def about_of(documents: Mapping[str, str]) -> DocumentsInfo:
    """Which snapshot the documents are of.

    Raises:
        SnapshotDamaged: they were changed.
        SnapshotTooNew: a newer Holdfast wrote them.
    """
    found = _object(documents.get(ABOUT, ""), ABOUT)
    form = found.get("format")
    if form != FORMAT:
        raise SnapshotTooNew(f"compact: {ABOUT} has an unknown format")
    names = {field.name for field in dataclasses.fields(Identity)}
    given = {name: value for name, value in found.items() if name in names}
    try:
        check_storable(given)
        identity: Identity = _typed(Identity, given)
    except (InvalidRequest, TypeError):
        raise SnapshotDamaged(f"compact: {ABOUT} does not name its snapshot") from None
    left = found.get("left")
    counts = {str(name): count for name, count in left.items() if type(count) is int} if isinstance(left, dict) else {}
    return DocumentsInfo(identity, counts)


def records_in(documents: Mapping[str, str], tenant: str) -> Iterator[tuple[Table[Any], Any]]:
    """Every record of the documents, cleaned as if it had just come in, without a place in the order of writes.

    Raises:
        SnapshotDamaged: a line is no record.
    """
    for one in LISTS:
        names = sorted(name for name in documents if name.startswith(f"{one.name}/"))
        lines = [line for name in names for line in documents[name].split("\n")]
        for line in reversed(lines) if one.order.startswith("-") else lines:
            yield one.table, _record(one, line, tenant)


# The names of lists in an export, by table; knowledge has one for each kind.
_EXPORTED: Mapping[str, str] = {"semantic": "semantic", "procedural": "procedural", "crystal": "crystals"}


def lists_in(documents: Mapping[str, str], tenant: str) -> Json:
    """The records as the lists of an export, for the ordinary import; without what was forgotten elsewhere.

    Raises:
        SnapshotDamaged: a line is no record.
    """
    lists: dict[str, list[Json]] = {}
    for table, record in records_in(documents, tenant):
        name = _EXPORTED.get(record.kind, "insights") if table is INSIGHTS else table.name
        if table is not AUDIT:
            lists.setdefault(name, []).append(shape(record))
    return lists


def _record(of: _List, line: str, tenant: str) -> Any:
    fields = _object(line, of.name)
    try:
        check_storable(fields)
        clean: Any = redact_value(fields).value
        record = _typed(of.table.record, {**clean, "tenant": tenant, "seq": 0})
        return _whole(of, record)
    except (InvalidRequest, ValueError, TypeError):
        # A new error: the one that was caught may hold the text of a memory.
        raise SnapshotDamaged(f"compact: a line of {of.name} is not a record") from None


def _whole(of: _List, record: Any) -> Any:
    """The record with what follows from the rest of it."""
    if not record.id:
        raise ValueError
    if isinstance(record, Memory):
        seen = stored_keys(check_writable(facts_of(record))) if record.state == "active" else ()
        return with_hash(dataclasses.replace(record, audience=seen, latest=of.name == "memories"))
    if isinstance(record, AuditEntry) and record.operation not in REMOVING:
        raise ValueError
    return record


def _object(text: str, name: str) -> Json:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise SnapshotDamaged(f"compact: {name} was changed")
    return value


def _typed(kind: Any, given: Mapping[str, Any]) -> Any:
    """The value, each field of the type it should have; one that is missing is as usual."""
    values = {}
    for name, (expected, optional) in _types(kind).items():
        value = given.get(name, _usual(kind)[name])
        if isinstance(value, list) and expected is tuple:
            if not all(isinstance(one, str) for one in value):
                raise TypeError
            value = tuple(value)
        if expected is float and type(value) is int:
            value = float(value)
        if not (value is None and optional) and type(value) is not expected:
            raise TypeError
        values[name] = value
    return kind(**values)


@cache
def _types(kind: Any) -> dict[str, tuple[type[Any], bool]]:
    """Of each field its plain type, and whether it may be None."""
    found: dict[str, tuple[type[Any], bool]] = {}
    for name, hint in typing.get_type_hints(kind).items():
        optional = isinstance(hint, types.UnionType)
        if optional:
            hint = next(part for part in typing.get_args(hint) if part is not type(None))
        plain = typing.get_origin(hint) or hint
        found[name] = (str if plain is typing.Literal else plain, optional)
    return found


@cache
def _usual(kind: Any) -> dict[str, Any]:
    """Of each field the value that need not be written: its default, or the empty one of its type."""
    usual: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        expected, optional = _types(kind)[field.name]
        make: Callable[[], Any] = expected
        usual[field.name] = None if optional else make()
        if field.default is not dataclasses.MISSING:
            usual[field.name] = field.default
    return usual


def fill(store: Store, documents: Mapping[str, str], tenant: str) -> None:
    """Write the records into an empty store, indexed for search.

    Raises:
        SnapshotDamaged: a line is no record.
    """
    records = records_in(documents, tenant)
    while batch := list(islice(records, BATCH)):
        store.write(lambda tx, some=batch: _add(tx, some))  # type: ignore[misc]


def _add(tx: Tx, some: Iterable[tuple[Table[Any], Any]]) -> None:
    for table, record in some:
        tx.replace(table, dataclasses.replace(record, seq=tx.next_seq(record.tenant)))
