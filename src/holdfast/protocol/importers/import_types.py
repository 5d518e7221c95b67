"""What the importers return: memories as neutral values, and what was not taken and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import orjson

from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json
from holdfast.core.times import parse_time
from holdfast.protocol.access import MemoryFacts
from holdfast.protocol.address import check_address
from holdfast.protocol.ownership import owned, without_ownership
from holdfast.protocol.terms import USUAL_IMPORTANCE, MemoryDomain, MemoryType
from holdfast.text.text_checks import check_storable

System = Literal["plugin", "mem0", "letta", "basic-memory", "markdown"]

MOST_RECORDS = 200_000
REFUSALS_SHOWN = 50
CONTENT_CHARS = 50_000
NAME_CHARS = 500
MOST_NAMES = 64
METADATA_BYTES = 20_000

_LATEST_MS = 253_402_300_799_999
# Seconds up to the year 5138, milliseconds from 1973 on.
_MILLISECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory of another system."""

    system: System
    ref: str  # its id or path there
    content: str
    title: str = ""
    domain: str = MemoryDomain.FACTS
    uri: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    last_recalled_at: int | None = None
    recall_count: int = 0
    importance: int = USUAL_IMPORTANCE
    memory_type: str = MemoryType.NORMAL
    disclosure: str = ""
    subject: str = ""
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    owner: str = ""  # whose it was there; empty: the agent's own
    agent: str = ""
    session: str = ""
    links: tuple[tuple[str, str], ...] = ()  # kind, and the ref or title it points at
    facts: MemoryFacts | None = None  # who may see it, if that system knew chats
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """Something that was not taken."""

    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An export, read: what can be taken, what not, and what it held besides."""

    system: System
    taken: tuple[ImportedMemory, ...]
    refused: tuple[RefusedRecord, ...]  # the first of them
    refusals: int  # all of them
    passed_over: Mapping[str, int]  # what is no memory, by kind: messages, tools, relations

    def report(self) -> Json:
        """What was taken and what not, for people; no memory's text is in it."""
        return {
            "system": self.system,
            "taken": len(self.taken),
            "refused": self.refusals,
            "refusals": [{"ref": one.ref, "reason": one.reason} for one in self.refused],
            "passedOver": dict(self.passed_over),
        }


class ImportReader:
    """Collects the result, one record at a time: a bad one is noted and the next is read."""

    def __init__(self, system: System):
        self.system: System = system
        self._taken: list[ImportedMemory] = []
        self._refused: list[RefusedRecord] = []
        self._refusals = 0
        self._passed: Counter[str] = Counter()

    def take(self, taken: ImportedMemory) -> None:
        """Note a memory, if it has content and can be stored."""
        try:
            if len(self._taken) >= MOST_RECORDS:
                raise InvalidRequest(f"more than {MOST_RECORDS} memories in one export; import it in parts")
            self._taken.append(self._with_address(_checked(taken)))
        except InvalidRequest as fault:
            self.refuse(taken.ref, fault.message)

    def _with_address(self, taken: ImportedMemory) -> ImportedMemory:
        """A memory whose address cannot be kept is taken without it."""
        try:
            if taken.uri:
                check_address(taken.uri)
        except InvalidRequest:
            self.pass_over("addresses")
            return replace(taken, uri="")
        return taken

    def refuse(self, ref: str, reason: str) -> None:
        self._refusals += 1
        if len(self._refused) < REFUSALS_SHOWN:
            self._refused.append(RefusedRecord(shown_ref(ref), reason))

    def pass_over(self, kind: str, count: int = 1) -> None:
        if count:
            self._passed[kind] += count

    def reading(self) -> ImportResult:
        return ImportResult(self.system, tuple(self._taken), tuple(self._refused), self._refusals, dict(self._passed))


def shown_ref(ref: str) -> str:
    """A ref that can be stored and printed."""
    return "".join(char if char.isprintable() else "\ufffd" for char in ref[:NAME_CHARS])


def _checked(taken: ImportedMemory) -> ImportedMemory:
    if not taken.content.strip():
        raise InvalidRequest("it has no text")
    if len(taken.content) > CONTENT_CHARS:
        raise InvalidRequest(f"its text has {len(taken.content)} characters; the limit is {CONTENT_CHARS}")
    check_storable(list(_texts(taken)))
    check_storable(taken.metadata)
    if len(orjson.dumps(taken.metadata)) > METADATA_BYTES:
        raise InvalidRequest(f"its metadata has more than {METADATA_BYTES} bytes")
    return replace(taken, ref=shown_ref(taken.ref))


def _texts(taken: ImportedMemory) -> Iterator[str]:
    yield from (taken.content, taken.title, taken.domain, taken.uri, taken.disclosure, taken.subject)
    yield from (taken.owner, taken.agent, taken.session, *taken.entities, *taken.topics)
    for kind, target in taken.links:
        yield from (kind, target)


def placed(taken: ImportedMemory, platform: str = "", owner: str = "") -> MemoryFacts:
    """Who may see the memory here.

    A system without chats knows a memory's owner, but not the platform. The platform that the importer
    names makes it that person's own, from a private chat; without one it is refused, as all callers would see it.

    Args:
        taken: the memory.
        platform: where its owner's name is a sender id.
        owner: the owner if that system named none; without it, such a memory is the agent's own.

    Raises:
        InvalidRequest: it has an owner, but no platform was given.
    """
    if taken.facts is not None:
        return taken.facts
    person = taken.owner or owner
    if not person:
        return owned(None, None)
    if not platform:
        raise InvalidRequest("the memory has an owner; give the chat platform of that sender id")
    return owned(f"{platform}:private:{person}", person)


# Values of unknown type


def text_of(value: object) -> str:
    """Text, or a number as text; empty for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    return ""


def name_of(value: object) -> str:
    """A short text of one line."""
    return " ".join(text_of(value)[: NAME_CHARS * 2].split())[:NAME_CHARS]


def names_of(value: object) -> tuple[str, ...]:
    """The names in a list, or in a text with commas; each once."""
    parts: Iterable[object] = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    found = (name_of(one).lstrip("#") for one in list(parts)[: MOST_NAMES * 4])
    return tuple(dict.fromkeys(name for name in found if name))[:MOST_NAMES]


def time_of(value: object) -> int | None:
    """Milliseconds of a time in any of the usual forms; None if it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        ms = value if value >= _MILLISECONDS else value * 1000
        return int(ms) if 0 <= ms <= _LATEST_MS else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        return parse_time(value, "time")
    except (InvalidRequest, OverflowError):
        return None


def metadata_of(value: object) -> Json:
    """Free metadata, without fields that name an owner."""
    return without_ownership({str(name): one for name, one in value.items()})[0] if isinstance(value, dict) else {}
