"""Import: an export of Holdfast, or of the earlier system, becomes records again.

Ids, versions and times are kept, so that importing an export reproduces the memory; a record that exists is
skipped, so that it can be repeated. Every text goes through redaction, and a bad record never stops the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, get_args

from holdfast.context import CallContext, facts_of
from holdfast.core.errors import InvalidRequest, QuotaReached
from holdfast.core.model import (
    Action,
    Address,
    AuditEntry,
    CleanText,
    Commit,
    CoordinationRecord,
    Insight,
    Json,
    Lesson,
    Memory,
    Note,
    Observation,
    Relation,
    Session,
    Slot,
    Statement,
    Summary,
)
from holdfast.core.times import iso
from holdfast.core.wire import record_from
from holdfast.intake.addresses import keep_address, latest_at
from holdfast.intake.event.draft import compress
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.event_identity import content_hash
from holdfast.intake.remember import title_of
from holdfast.intake.sessions import commit_id
from holdfast.protocol.access import check_writable, stored_keys
from holdfast.protocol.lifecycle import State
from holdfast.protocol.sameness import with_hash
from holdfast.protocol.terms import MemoryScope
from holdfast.redact import redact_value
from holdfast.store.port import Table, Tx, where
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

BATCH = 200
REFUSALS_SHOWN = 50
MOST_VERSIONS = 1_000_000


@dataclass
class ImportReport:
    """What was taken, what was there already, and what could not be taken and why."""

    imported: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    refused: list[Json] = field(default_factory=list)
    refusals: int = 0

    def refuse(self, kind: str, id: object, reason: str) -> None:
        self.refusals += 1
        if len(self.refused) < REFUSALS_SHOWN:
            self.refused.append({"kind": kind, "id": str(id)[:100], "error": reason})


Make = Callable[[CallContext, Json], Any]


def import_memory(ctx: CallContext, data: Json, *, replace: bool) -> ImportReport:
    """Take in every list of an export.

    Raises:
        InvalidRequest: the document is no export at all.
        QuotaReached: the rest of it does not fit; what was stored before stays.
    """
    if not any(kind.name in data for kind in _KINDS) and "observations" not in data:
        raise InvalidRequest(
            "import: the document is not an export",
            hint="An export has lists such as memories, sessions or observations. holdfast import --from reads those "
            "of other systems.",
        )
    report = ImportReport()
    projects: dict[str, Any] = {}
    for kind in _KINDS:
        items = list(_dicts(data.get(kind.name), kind.name, report))
        if kind.name == "sessions":
            projects = {one["id"]: one.get("project") for one in items if isinstance(one.get("id"), str)}
        if kind.name == "memories":
            items = straighten(items)
        with _until_quota(ctx, report):
            _store(ctx, kind, _records(ctx, kind, items, report), replace, report)
            if kind.name == "sessions":
                seen = _observations(data.get("observations"), projects, report)
                _store(ctx, _SEEN, _records(ctx, _SEEN, seen, report), replace, report)
    _log_import(ctx, report)
    return report


@contextmanager
def _until_quota(ctx: CallContext, report: ImportReport) -> Iterator[None]:
    """Report and log what was stored before a quota ended the import. It can be repeated: what is there is skipped."""
    try:
        yield
    except QuotaReached as fault:
        fault.details["imported"] = report.imported
        _log_import(ctx, report)
        raise


def _log_import(ctx: CallContext, report: ImportReport) -> None:
    counts = {"imported": report.imported, "skipped": report.skipped, "refused": report.refusals}
    ctx.store.write(lambda tx: ctx.audit(tx, "import", (), counts=counts))


def _dicts(value: Any, kind: str, report: ImportReport) -> Iterator[Json]:
    if value is None:
        return
    if not isinstance(value, list):
        report.refuse(kind, "", "is not a list")
        return
    for one in value:
        if isinstance(one, dict):
            yield one
        else:
            report.refuse(kind, "", "an entry is not an object")


def _observations(value: Any, projects: dict[str, Any], report: ImportReport) -> Iterator[Json]:
    """Observations by session, as exports have them, or in one list."""
    groups = value.items() if isinstance(value, dict) else [(None, value)]
    for session_id, items in groups:
        for one in _dicts(items, "observations", report):
            session = session_id if session_id is not None else one.get("sessionId")
            project = projects.get(session) if isinstance(session, str) else None
            yield {"project": project or "", **one, "sessionId": session}


@dataclass(frozen=True)
class _RecordKind:
    name: str
    table: Table[Any]
    make: Make


def _records(ctx: CallContext, kind: _RecordKind, items: Iterable[Json], report: ImportReport) -> Iterator[Any]:
    for item in items:
        try:
            check_storable(item)
            record = kind.make(ctx, redact_value(item).value)
            if not ctx.speaks_for(getattr(record, "agent", None)):
                raise InvalidRequest("agents are isolated, and it belongs to another agent")
            yield record
        except InvalidRequest as fault:
            report.refuse(kind.name, item.get("id", ""), fault.message)


def _store(ctx: CallContext, kind: _RecordKind, records: Iterator[Any], replace: bool, report: ImportReport) -> None:
    while batch := list(islice(records, BATCH)):

        def put(tx: Tx, batch: list[Any] = batch) -> tuple[int, int]:
            done = 0
            for given in batch:
                record = _fitting(ctx, tx, given)
                known = tx.get(kind.table, ctx.tenant, given.id)
                if known is not None and not ctx.speaks_for(getattr(known, "agent", None)):
                    continue
                if record is not None and (known is None or replace or _says_more(known, record)):
                    tx.replace(
                        kind.table, dataclasses.replace(record, seq=known.seq if known else tx.next_seq(ctx.tenant))
                    )
                    done += 1
            if kind.table is MEMORIES:
                for root in {record.root for record in batch}:
                    _one_latest(ctx, tx, root)
            return done, len(batch) - done

        done, skipped = ctx.store.write(put)
        report.imported[kind.name] = report.imported.get(kind.name, 0) + done
        report.skipped[kind.name] = report.skipped.get(kind.name, 0) + skipped


def _fitting(ctx: CallContext, tx: Tx, record: Any) -> Any:
    """The record as it may be stored: an address that leads elsewhere here stays where it leads."""
    if isinstance(record, Address):
        known = tx.get(ADDRESSES, ctx.tenant, record.id)
        elsewhere = known is not None and known.root != record.root
        return None if elsewhere or latest_at(tx, ctx.tenant, record.root) is None else record
    if isinstance(record, Memory) and record.uri:
        known = tx.get(ADDRESSES, ctx.tenant, record.uri)
        if known is None:
            keep_address(ctx, tx, record, record.uri)
        elif known.root != record.root:
            return dataclasses.replace(record, uri="")
    return record


def _says_more(known: Any, record: Any) -> bool:
    """An address that was made along with its memory does not name its earlier address yet."""
    if not isinstance(record, Address):
        return False
    return (known.kind, known.moved_from, known.moved_to) != (record.kind, record.moved_from, record.moved_to)


def _one_latest(ctx: CallContext, tx: Tx, root: str) -> None:
    """Among what is stored of a line, old and new, the highest version alone is the latest."""
    line = tx.find(MEMORIES, ctx.tenant, *where(root=root), order="version")
    marked = [one for one in line if one.latest]
    if len(marked) < 2:
        return
    for one in marked:
        if one is not line[-1]:
            ends = max(one.valid_from, line[line.index(one) + 1].valid_from)
            tx.replace(MEMORIES, dataclasses.replace(one, latest=False, valid_to=ends))
    if not line[-1].latest:
        tx.replace(MEMORIES, dataclasses.replace(line[-1], latest=True, valid_to=None))


def straighten(items: list[Json]) -> list[Json]:
    """Memories with the line of versions each belongs to, and one latest per line.

    The earlier system keeps only the parent's id, and could leave two versions of a line as the latest.
    """
    by_id = {one["id"]: one for one in items if isinstance(one.get("id"), str)}
    lines: dict[str, list[Json]] = {}
    for one in items:
        lines.setdefault(str(one.get("rootId") or _root(one, by_id)), []).append(one)
    straight = []
    for root, line in lines.items():
        line.sort(key=_age)
        latest = [one for one in line if one.get("isLatest", True)]
        for at, one in enumerate(line):
            is_latest = bool(latest) and one is latest[-1]
            follower = line[at + 1] if at + 1 < len(line) else None
            ends = None if is_latest or follower is None else follower.get("createdAt")
            straight.append({"validTo": ends, **one, "rootId": root, "isLatest": is_latest})
    places = {id(one): place for place, one in enumerate(items)}
    order = {str(one.get("id")): places[id(one)] for one in items}
    return sorted(straight, key=lambda one: order[str(one.get("id"))])  # as they came: lists are in order of writes


def _age(one: Json) -> tuple[int, str]:
    version = one.get("version")
    return (version if isinstance(version, int) else 1, str(one.get("createdAt") or ""))


def _root(one: Json, by_id: dict[str, Json]) -> Any:
    """The first of the line; of a circle of parents, the smallest id."""
    seen: list[str] = []
    while isinstance(one.get("id"), str) and one["id"] not in seen:
        seen.append(one["id"])
        parent = one.get("parentId")
        if not isinstance(parent, str) or parent not in by_id:
            return one["id"]
        one = by_id[parent]
    return min(seen[seen.index(one["id"]) :]) if seen else one.get("id")


def _required(item: Json, name: str) -> CleanText:
    value = item.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > 512:
        raise InvalidRequest(f"{name} is missing or not valid text")
    return CleanText(value)


def _plain(record: type[Any], *names: str) -> Make:
    """A maker for records whose JSON needs no more than the caller's tenant."""

    def make(ctx: CallContext, item: Json) -> Any:
        for name in names or ("id",):
            _required(item, name)
        return record_from(record, item, {"tenant": ctx.tenant, "seq": 0})

    return make


def _session(ctx: CallContext, item: Json) -> Session:
    _required(item, "id")
    started = item.get("startedAt") or item.get("createdAt")
    filled = {
        **item,
        "startedAt": started,
        "updatedAt": item.get("updatedAt") or item.get("endedAt") or started,
    }
    filled["status"] = filled.get("status") or "completed"
    return record_from(Session, filled, {"tenant": ctx.tenant, "seq": 0})


def _observation(ctx: CallContext, item: Json) -> Observation:
    raw = item.get("raw")
    raw = raw if isinstance(raw, dict) else _raw_of(item)
    hook = CleanText(str(item.get("hookType") or "import"))
    draft = compress(hook, raw)
    filled = {**item, "hookType": hook, "raw": raw, "storedAt": item.get("storedAt") or item.get("timestamp")}
    for name, value in (
        ("type", draft.type),
        ("title", draft.title),
        ("subtitle", draft.subtitle),
        ("narrative", draft.narrative),
        ("facts", list(draft.facts)),
        ("concepts", list(draft.concepts)),
        ("files", list(draft.files)),
        ("importance", draft.importance),
        ("confidence", draft.confidence),
    ):
        filled[name] = item[name] if item.get(name) not in (None, "", []) else value
    if "raw" in item and isinstance(item["raw"], dict):
        filled |= {name: item[name] for name in ("facts", "concepts", "files") if name in item}
    seen = record_from(Observation, filled, {"tenant": ctx.tenant, "seq": 0, "content_hash": ""})
    _required(item, "id")
    event = CleanEvent(
        session_id=_required(item, "sessionId"),
        hook=hook,
        data=raw,
        at=seen.at,
        project=CleanText(seen.project),
        cwd=CleanText(""),
        agent=CleanText(seen.agent) if seen.agent else None,
    )
    return dataclasses.replace(seen, content_hash=content_hash(event))


def _raw_of(item: Json) -> Json:
    """What the earlier system kept of an event beside its compressed form."""
    names = (("tool_name", "toolName"), ("tool_input", "toolInput"), ("tool_output", "toolOutput"))
    raw = {ours: item[theirs] for ours, theirs in (*names, ("prompt", "userPrompt")) if item.get(theirs) is not None}
    return raw or ({"content": item["raw"]} if item.get("raw") else {})


def _memory(ctx: CallContext, item: Json) -> Memory:
    _required(item, "id")
    if not isinstance(item.get("content"), str) or not (item["content"].strip() or item.get("uri")):
        raise InvalidRequest("content is missing")
    created = item.get("createdAt") or item.get("updatedAt") or iso(ctx.clock.now_ms())  # else it would be of 1970
    defaults = {
        "type": "fact",
        "title": title_of(item["content"]),
        "version": 1,
        "importance": 3,
        "strength": 7.0,
        "createdAt": created,
        "updatedAt": created,
        "validFrom": created,
        "scope": MemoryScope.GLOBAL,
    }
    filled = {**item, **{name: value for name, value in defaults.items() if item.get(name) is None}}
    memory = record_from(Memory, filled, {"tenant": ctx.tenant, "seq": 0, "content_hash": ""})
    if memory.state not in get_args(State):
        raise InvalidRequest("state is not valid for a memory")
    keys = stored_keys(check_writable(facts_of(memory)))
    memory = dataclasses.replace(memory, audience=keys if memory.state == "active" else ())
    if not 1 <= memory.version <= MOST_VERSIONS:
        raise InvalidRequest(f"version must be between 1 and {MOST_VERSIONS}")
    return with_hash(memory)


def _summary(ctx: CallContext, item: Json) -> Summary:
    _required(item, "sessionId")
    filled = {**item, "maker": item.get("maker") or "import"}
    return record_from(Summary, filled, {"tenant": ctx.tenant, "seq": 0})


def _insight(kind: str) -> Make:
    def make(ctx: CallContext, item: Json) -> Insight:
        _required(item, "id")
        content = item.get("content") or item.get("fact") or item.get("narrative") or item.get("name") or ""
        filled = {
            **item,
            "content": content,
            "title": item.get("title") or item.get("name") or title_of(str(content)),
        }
        filled["updatedAt"] = item.get("updatedAt") or item.get("createdAt")
        filled["maker"] = item.get("maker") or "import"
        return record_from(Insight, filled, {"tenant": ctx.tenant, "seq": 0, "kind": kind})

    return make


def _commit(ctx: CallContext, item: Json) -> Commit:
    sha = _required(item, "sha")
    id = str(item.get("id") or commit_id(str(item.get("repo") or ""), sha, None))
    return record_from(Commit, item, {"tenant": ctx.tenant, "seq": 0, "id": id})


_SEEN = _RecordKind("observations", OBSERVATIONS, _observation)

# Sessions come first: their observations take the project from them.
_KINDS = (
    _RecordKind("sessions", SESSIONS, _session),
    _RecordKind("memories", MEMORIES, _memory),
    _RecordKind("addresses", ADDRESSES, _plain(Address, "id", "rootId")),
    _RecordKind("summaries", SUMMARIES, _summary),
    _RecordKind("lessons", LESSONS, _plain(Lesson)),
    _RecordKind("slots", SLOTS, _plain(Slot, "id", "label")),
    _RecordKind("actions", ACTIONS, _plain(Action)),
    _RecordKind("relations", RELATIONS, _plain(Relation, "id", "sourceId", "targetId")),
    _RecordKind("coordination", COORDINATION, _plain(CoordinationRecord, "id", "kind")),
    _RecordKind("commits", COMMITS, _commit),
    _RecordKind("semantic", INSIGHTS, _insight("semantic")),
    _RecordKind("procedural", INSIGHTS, _insight("procedural")),
    _RecordKind("crystals", INSIGHTS, _insight("crystal")),
    _RecordKind("insights", INSIGHTS, _insight("insight")),
    _RecordKind("statements", STATEMENTS, _plain(Statement, "id", "sourceId", "text")),
    _RecordKind("notes", NOTES, _plain(Note)),
    _RecordKind("audit", AUDIT, _plain(AuditEntry)),
)
