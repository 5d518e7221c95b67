"""Operations on the server itself: health, settings, audit, tokens, verification."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.background import JournalLag
from holdfast.core.errors import DataDamaged, DataTooNew, Forbidden, NotFound, RestorePending, StoreUnreachable
from holdfast.core.model import CleanText, Json, Token
from holdfast.core.times import DAY_MS, iso
from holdfast.core.version import VERSION
from holdfast.core.wire import shape
from holdfast.learn.lessons import decay_lessons
from holdfast.local.spool import spool_status
from holdfast.ops.framework.answers import AuditShape, Success, TokenShape
from holdfast.ops.framework.fields import CleanLine, CleanName, Name, Offset, limit
from holdfast.ops.framework.operation import Nothing, Operation, Request, SeeingAll
from holdfast.ops.oauth.grants import revoked
from holdfast.ops.oauth.oauth_records import Grant
from holdfast.ops.oauth.token_secret import ID_CHARS, SECRET_CHARS, TOKEN_PREFIX, hash_of, joined
from holdfast.ops.server.features import flags
from holdfast.ops.snapshots.follow import FollowShape, follow_shape
from holdfast.ops.snapshots.restore import damaged_shape
from holdfast.recall.check.check_report import request_check
from holdfast.snapshot.damaged_generations import damaged_generations
from holdfast.snapshot.drill.drill_status import drill_status
from holdfast.snapshot.recovery.repair import repair_index
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.key_warnings import key_texts
from holdfast.snapshot.status import age_of_newest
from holdfast.snapshot.sync.send_backlog import waiting
from holdfast.store.damage import REMEDY, REPAIR, damage_of
from holdfast.store.port import Finding, Reader, Table, Tx, where
from holdfast.store.queries.vector_counts import vectors_of
from holdfast.store.tables import AUDIT, MEMORIES, OBSERVATIONS, SESSIONS, TOKENS

MOST_TOKENS = 1_000  # in one list


class LivezAnswer(TypedDict):
    status: str
    service: str
    viewerPort: int
    viewerSkipped: bool


def livez(ctx: CallContext, ask: Nothing) -> LivezAnswer:
    """Report that the server is alive. Requires no credential."""
    return {"status": "ok", "service": "holdfast", "viewerPort": ctx.settings.port, "viewerSkipped": False}


class IndexHealth(TypedDict):
    pending: int  # records that still wait for their vector
    model: str
    done: NotRequired[int]
    total: NotRequired[int]
    fault: NotRequired[str]  # why the model cannot be used: search uses words only


class EventsHealth(TypedDict):
    pending: int  # events that wait for the broker


class JournalHealth(TypedDict):
    behindSeconds: float  # how long the vault has lacked the oldest write that it lacks; 0: it lacks none
    waiting: int  # pieces
    waitingBytes: int
    fault: NotRequired[str]  # why the last piece was not sent


class SnapshotsHealth(TypedDict):
    newest: str | None  # that is not known to be damaged
    ageSeconds: int | None
    waiting: int  # for the vault
    provenSeconds: int | None  # since a drill restored one and checked everything
    drill: str | None  # what came of the last drill: restored, locked, failed
    journal: NotRequired[JournalHealth]  # where one is written


class SpoolHealth(TypedDict):
    waiting: int  # requests of hooks that the server has not processed yet
    refused: int  # put aside: it could not process them
    dropped: int  # found no room


class HealthAnswer(TypedDict):
    status: str
    service: str
    version: str
    database: str
    databaseStatus: str
    index: IndexHealth
    events: EventsHealth
    snapshots: SnapshotsHealth
    spool: SpoolHealth
    counts: dict[str, int]
    summarizer: str
    viewerPort: int
    follow: NotRequired[FollowShape]  # of a read-only copy: whom it follows, and how far behind
    quota: NotRequired[dict[str, dict[str, int]]]  # records, bytes: of the tenant, where the settings limit them
    hint: NotRequired[str]  # what to do, while it is degraded
    warnings: NotRequired[list[str]]  # a drill that failed; for an admin: keys that may be lost


class _Measures(TypedDict):
    index: IndexHealth
    events: EventsHealth
    counts: dict[str, int]
    quota: dict[str, dict[str, int]]


def health(ctx: CallContext, ask: Nothing) -> HealthAnswer:
    """Show the health of the memory: database, index backlog, newest snapshot and size.

    If it is degraded, databaseStatus has the reason and hint what to do.
    """
    trouble = ctx.live.trouble(ctx.tenant) if ctx.live is not None else ctx.store.failure(ctx.tenant)
    measures = _NOTHING_MEASURED
    try:
        measures = _measures(ctx)
    except (
        DataDamaged,
        DataTooNew,
        RestorePending,
        StoreUnreachable,
    ) as fault:  # it cannot be read: that is the answer
        trouble = (ctx.live.trouble(ctx.tenant) if ctx.live is not None else None) or fault
    answer: HealthAnswer = {
        "status": "degraded" if trouble else "healthy",
        "service": "holdfast",
        "version": VERSION,
        "database": "sqlite" if ctx.settings.store == "sqlite" else "postgresql",
        "databaseStatus": trouble.message if trouble else "ok",
        "index": measures["index"],
        "events": measures["events"],
        "counts": measures["counts"],
        "snapshots": _snapshots_health(ctx),
        "spool": _spool_health(ctx),
        "summarizer": ctx.summarizer.name if ctx.summarizer else "none",
        "viewerPort": ctx.settings.port,
    }
    if trouble:
        answer["hint"] = trouble.hint
    if measures["quota"]:
        answer["quota"] = measures["quota"]
    if (follows := follow_shape(ctx)) is not None:
        answer["follow"] = follows
    warnings = _health_warnings(ctx)
    return {**answer, "warnings": warnings} if warnings else answer


def _health_warnings(ctx: CallContext) -> list[str]:
    if ctx.live is None:
        return []
    context = snapshot_context(ctx)
    drill = drill_status(context)
    alarm = [f"{drill.alarm}. {drill.remedy}"] if drill.alarm else []
    if ctx.guard.fault and ctx.caller.may("root"):
        alarm.append(f"Guarded files are not taken: {ctx.guard.fault}")
    others = ctx.journal.others(ctx.tenant) if ctx.caller.may("admin") else ()
    return [*alarm, *others, *(key_texts(context) if ctx.caller.may("admin") else [])]


_NOTHING_MEASURED: _Measures = {
    "index": {"pending": 0, "model": "none"},
    "events": {"pending": 0},
    "counts": {},
    "quota": {},
}


def _measures(ctx: CallContext) -> _Measures:
    reader = ctx.store.read()
    tables = (("sessions", SESSIONS), ("observations", OBSERVATIONS), ("memories", MEMORIES))
    hidden = ctx.settings.isolated and ctx.writes_as(None) is None  # no owner to count for
    return {
        "index": _index_health(ctx, reader),
        "events": {"pending": reader.undispatched(ctx.tenant)},
        "counts": {} if hidden else {name: _count(ctx, reader, table) for name, table in tables},
        "quota": quota_health(ctx),
    }


def quota_health(ctx: CallContext) -> dict[str, dict[str, int]]:
    """How much of its quotas the tenant has used; of isolated agents only an admin sees what all of them did."""
    limits = {"records": ctx.settings.quota_records, "bytes": ctx.settings.quota_bytes}
    if not any(limits.values()) or (ctx.settings.isolated and not ctx.caller.may("admin")):
        return {}
    used = ctx.store.usage(ctx.tenant)._asdict()
    return {name: {"used": used[name], "limit": limit} for name, limit in limits.items() if limit}


def _count(ctx: CallContext, reader: Reader, table: Table[Any]) -> int:
    return reader.count(table, ctx.tenant, *(ctx.sees_memories() if table is MEMORIES else ctx.sees()))


def _spool_health(ctx: CallContext) -> SpoolHealth:
    """What hooks left for the server; nothing is reported to others than the owner of the folder."""
    if ctx.live is None or not ctx.caller.may("root"):
        return {"waiting": 0, "refused": 0, "dropped": 0}
    found = spool_status(str(ctx.live.path))
    return {"waiting": found.waiting, "refused": found.refused, "dropped": found.dropped}


def _snapshots_health(ctx: CallContext) -> SnapshotsHealth:
    context = snapshot_context(ctx)
    newest, age, drill = context.repo.newest(), age_of_newest(context), drill_status(context)
    shape: SnapshotsHealth = {
        "newest": newest.id if newest else None,
        "ageSeconds": None if age is None else max(0, age) // 1000,
        "waiting": len(waiting(context)),
        "provenSeconds": drill.unproven_ms // 1000 if drill.proven else None,
        "drill": drill.last.outcome if drill.last else None,
    }
    if (lag := ctx.journal.of(ctx.tenant)) is not None:
        shape["journal"] = journal_health(lag, ctx.clock.now_ms())
    return shape


def journal_health(lag: JournalLag, now_ms: int) -> JournalHealth:
    """How far the vault is behind."""
    shape: JournalHealth = {"behindSeconds": lag.seconds(now_ms), "waiting": lag.pieces, "waitingBytes": lag.bytes}
    return {**shape, "fault": lag.fault} if lag.fault else shape


def _index_health(ctx: CallContext, reader: Reader) -> IndexHealth:
    """How many records have their vector; isolated agents do not see how much the others wrote."""
    if ctx.embedder is None:
        return {"pending": 0, "model": "none"}
    model = ctx.embedder.name
    done, total = vectors_of(reader, ctx.tenant, model)
    found: IndexHealth = {"pending": total - done, "model": model}
    if not ctx.settings.isolated:
        found |= {"done": done, "total": total}
    if (fault := ctx.embedder.fault()) is not None:
        found["fault"] = fault.message
    return found


class Audit(SeeingAll):
    operation: Name | None = None
    limit: int = limit(50, 1000)
    offset: Offset = 0


class AuditAnswer(TypedDict):
    success: bool
    entries: list[AuditShape]
    total: int  # that fit, on all pages


def audit(ctx: CallContext, ask: Audit) -> AuditAnswer:
    """Show who changed what and when, newest first; never the text itself."""
    bounds = (*ctx.sees_audit(ask.agent_id), *where(operation=ask.operation))
    reader = ctx.store.read()
    found = reader.find(AUDIT, ctx.tenant, *bounds, order="-seq", limit=ask.limit, offset=ask.offset)
    entries = [
        {**shape(one), "userId": one.caller, "functionId": f"mem::{one.operation}", "qualityScore": None}
        for one in found
    ]
    return {"success": True, "entries": entries, "total": reader.count(AUDIT, ctx.tenant, *bounds)}


class WriteLogAnswer(TypedDict):
    success: bool
    commits: list[Json]


def write_log(ctx: CallContext, ask: Audit) -> WriteLogAnswer:
    """Show the latest writes as a commit log, for viewers of the earlier system."""
    entries = audit(ctx, ask)["entries"]
    commits: list[Json] = [
        {
            "sha": sha256(one["id"].encode()).hexdigest()[:40],
            "shortSha": sha256(one["id"].encode()).hexdigest()[:7],
            "agent": one["agentId"] or one["caller"],
            "email": "",
            "date": one["timestamp"],
            "message": f"{one['operation']} {', '.join(one['targetIds'][:3])}".strip(),
        }
        for one in entries
    ]
    return {"success": True, "commits": commits}


class TokenCreate(Request):
    name: CleanLine = CleanText("token")
    scopes: tuple[Literal["read", "write", "admin"], ...] = Field(default=("read", "write"), min_length=1)
    tenant: CleanName | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    days: float | None = Field(default=None, gt=0, le=36_500, allow_inf_nan=False)


class TokenCreateAnswer(TypedDict):
    success: bool
    token: str
    record: TokenShape


def token_create(ctx: CallContext, ask: TokenCreate) -> TokenCreateAnswer:
    """Create a token with a tenant, agent and scopes. It is shown once; only its hash is stored."""
    _own_tenant(ctx, ask.tenant)
    secret = ctx.entropy.hex(SECRET_CHARS)
    scopes = ("read", "write") if "write" in ask.scopes and "read" not in ask.scopes else tuple(ask.scopes)

    def store(tx: Tx) -> Token:
        now = ctx.clock.now_ms()
        record = Token(
            tenant=ask.tenant or ctx.tenant,
            id=ctx.entropy.hex(ID_CHARS),
            seq=tx.next_seq(ask.tenant or ctx.tenant),
            name=ask.name,
            secret_hash=hash_of(secret),
            agent=ask.agent_id,
            scopes=scopes,
            created_at=now,
            expires_at=None if ask.days is None else now + int(ask.days * DAY_MS),
            revoked_at=None,
        )
        tx.add(TOKENS, record)
        ctx.audit(tx, "token_create", (record.id,), agent=record.agent, tenant=record.tenant, scopes=list(scopes))
        return record

    record = ctx.store.write(store)
    return {"success": True, "token": joined(TOKEN_PREFIX, record.id, secret), "record": _token_shape(record)}


def _own_tenant(ctx: CallContext, tenant: str | None) -> None:
    """The tenant comes from the credential; only root names another."""
    if tenant is not None and tenant != ctx.tenant and not ctx.caller.may("root"):
        raise Forbidden("tenant: this credential may only access its own tenant")


def _token_shape(record: Token) -> Json:
    return {**shape(record), "tenant": record.tenant}


class TokensAnswer(TypedDict):
    tokens: list[TokenShape]


class TokenList(Request):
    tenant: Name | None = None


def token_list(ctx: CallContext, ask: TokenList) -> TokensAnswer:
    """List tokens, without their secrets."""
    _own_tenant(ctx, ask.tenant)
    found = ctx.store.read().find(TOKENS, ask.tenant or ctx.tenant, limit=MOST_TOKENS)
    grants = {one.id: one for one in Grant.find(ctx.store.read(), MOST_TOKENS)}
    return {"tokens": [{**_token_shape(one), **_grant_shape(grants.get(one.id))} for one in found]}


def _grant_shape(grant: Grant | None) -> Json:
    """Of a token that a client got by OAuth: who the client is, and until when it may get the next one."""
    if grant is None:
        return {}
    return {"client": grant.client_name, "clientId": grant.client, "refreshUntil": iso(grant.expires_at)}


class TokenRevoke(Request):
    id: Name = Field(description="Id of the token.")


def token_revoke(ctx: CallContext, ask: TokenRevoke) -> Success:
    """Revoke a token. Requests with it are rejected from now on."""

    def store(tx: Tx) -> None:
        found = [one for one in tx.tokens_by_id(ask.id) if one.tenant == ctx.tenant or ctx.caller.may("root")]
        if not found:
            raise NotFound("token: no token has that id")
        for one in found:
            tx.replace(TOKENS, revoked(one, ctx.clock.now_ms()))
        ctx.audit(tx, "token_revoke", (ask.id,))

    ctx.store.write(store)
    return {"success": True}


class Verify(Request):
    repair_index: bool = False


class VerifyAnswer(TypedDict):
    sound: bool
    findings: list[Json]
    repaired: NotRequired[int]
    hint: NotRequired[str]  # what to do, if it is not sound
    damaged: NotRequired[list[Json]]  # generations that are kept aside, and how to go on with them


def verify(ctx: CallContext, ask: Verify) -> VerifyAnswer:
    """Verify the checksum of every row, and that the search index matches the rows.

    With repairIndex the index is first rebuilt from the rows, in a new generation if its pages are damaged. Nothing is
    deleted: the damaged generation is kept aside.
    """
    repaired = repair_index(snapshot_context(ctx)) if ask.repair_index else None
    if repaired is not None:
        request_check(ctx, "rebuild")
    ctx = dataclasses.replace(ctx, store=ctx.live.store if ctx.live is not None else ctx.store)
    found = ctx.store.verify()
    answer: VerifyAnswer = {
        "sound": not found,
        "findings": [{"kind": one.kind, "table": one.table, "id": one.id, "message": one.message} for one in found],
    }
    if repaired is not None:
        answer["repaired"] = repaired
    if found:
        failure = ctx.store.failure(ctx.tenant)
        answer["hint"] = failure.hint if failure is not None else _remedy(found)
    if ctx.live is not None and (kept := damaged_generations(ctx.live.path)):
        answer["damaged"] = [damaged_shape(one) for one in kept]
    return answer


def _remedy(found: Sequence[Finding]) -> str:
    """What to do about findings that the store itself does not count as damage."""
    return f"Repair the index: {REPAIR}" if damage_of(found) is None else REMEDY


class DecayAnswer(TypedDict):
    success: bool
    changed: int


def lesson_decay(ctx: CallContext, ask: Nothing) -> DecayAnswer:
    """Lower the confidence of lessons without a confirmation for a week. Runs automatically every day."""
    return {"success": True, "changed": decay_lessons(ctx)}


ADMIN = (
    Operation(livez, "GET", "/livez", unguarded=True),
    Operation(health, "GET", "/health", tool="memory_diagnose", cli="health", tells=True),
    Operation(flags, "GET", "/config/flags", cli="flags"),
    Operation(audit, "GET", "/audit", tool="memory_audit", cli="audit"),
    Operation(write_log, "GET", "/dolt/commits"),
    Operation(
        token_create,
        "POST",
        "/tokens",
        secret_answer=True,
        effect="write",
        scope="admin",
        status=201,
        for_agent=True,
        cli="token create",
    ),
    Operation(token_list, "GET", "/tokens", scope="admin", cli="token list"),
    Operation(
        token_revoke,
        "DELETE",
        "/tokens/{id}",
        effect="destroy",
        scope="admin",
        cli="token revoke",
        positional=("id",),
    ),
    Operation(verify, "POST", "/verify", effect="write", scope="root", cli="verify", long=True, on_copy=True),
    Operation(lesson_decay, "POST", "/lessons/decay", effect="write", scope="admin", cli="lesson decay"),
)
