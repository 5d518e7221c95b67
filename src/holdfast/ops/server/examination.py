"""What is wrong with an installation, beyond the records: its libraries, keys, folders and model.

A server examines itself, with what it has loaded already; `holdfast doctor` shows it beside what it sees from outside.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import Fault
from holdfast.core.model import DEFAULT_TENANT, CleanText
from holdfast.core.ports import Embedder, Reranker
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from, reranker_from
from holdfast.index import RERANKER, LocalEmbedder
from holdfast.index.remedies import install_weights
from holdfast.ops.framework.operation import Nothing, Operation
from holdfast.settings import Settings
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.key_warnings import key_warnings, needs_keys
from holdfast.snapshot.sources.swap import MEND
from holdfast.snapshot.sources.swap_recovery import unfinished
from holdfast.store import kernel
from holdfast.store.engines import EMBEDDED, passes_wall
from holdfast.store.portable import sqlite_version

SAFE_SQLITE = (3, 51, 3)  # before this, several connections to one WAL file could corrupt it


class CheckShape(TypedDict):
    name: str
    ok: bool
    found: str
    hint: str


class ExamineAnswer(TypedDict):
    checks: list[CheckShape]


def examine(ctx: CallContext, ask: Nothing) -> ExamineAnswer:
    """Check the server's installation: libraries, memory folders, keys, language model, embedder and reranker."""
    return {"checks": installation(ctx.settings, ctx.embedder, ctx.reranker)}


def installation(
    settings: Settings, embedder: Embedder | None = None, reranker: Reranker | None = None
) -> list[CheckShape]:
    """All of these checks. A model that is at hand is not made, and not loaded, once more."""
    steps = (_sqlite, _row_security, _folders, _keys, _summarizer)
    checks = [one for step in steps for one in step(settings)]
    models = (*embedder_checks(settings, embedder), *reranker_checks(settings, reranker))
    return [*checks, *models, *loop_checks(settings)]


def _check(name: str, ok: bool, found: str, hint: str = "") -> CheckShape:
    return {"name": name, "ok": ok, "found": found, "hint": hint}


def _sqlite(settings: Settings) -> Iterator[CheckShape]:
    version = sqlite_version()
    numbers = tuple(int(part) for part in version.split("."))
    hint = "" if numbers >= SAFE_SQLITE else "Upgrade apsw: pip install -U apsw"
    yield _check("sqlite", numbers >= SAFE_SQLITE, f"{version} (system: {sqlite3.sqlite_version}, not used)", hint)


def _row_security(settings: Settings) -> Iterator[CheckShape]:
    if settings.store == EMBEDDED:
        return
    try:
        passes = passes_wall(settings.store)
    except Fault as fault:
        yield _check("database", False, fault.message, fault.hint)
        return
    if passes:
        hint = "Serve with a role that is no superuser and has no BYPASSRLS (docs/postgres.md)."
        yield _check("row security", True, "does not hold for this database role", hint)
    else:
        yield _check("row security", True, "keeps tenants apart")


def _folders(settings: Settings) -> Iterator[CheckShape]:
    if settings.folder.is_dir():
        wrong = unfinished(settings.folder)
        yield _check("memory folders", wrong is None, wrong or "matching the memory", MEND if wrong else "")


def _keys(settings: Settings) -> Iterator[CheckShape]:
    """Keys that would be missed. For a remote memory the server's own health reports them."""
    if settings.url or not settings.folder.is_dir():
        return
    context = SnapshotContext(settings.folder, settings, SystemClock(), SystemEntropy(), DEFAULT_TENANT)
    try:
        found = key_warnings(context)
        well = "copied and verified" if needs_keys(context) else _trusted_keys(len(context.keyring.trusted()))
    except Fault as fault:
        yield _check("keys", False, fault.message, fault.hint)
        return
    for one in found:
        yield _check("keys", False, one.message, one.hint)
    if not found:
        yield _check("keys", True, well)


def _trusted_keys(number: int) -> str:
    if not number:
        return "none: snapshots are neither signed nor encrypted"
    return f"no signing key yet (the next snapshot creates it); trusted: {number}"


def _summarizer(settings: Settings) -> Iterator[CheckShape]:
    keys = [name for name in ("anthropic", "openai", "gemini") if getattr(settings, f"{name}_key")]
    found = (
        f"{settings.llm}; keys: {', '.join(keys)}" if keys else f"{settings.llm}; no API key: summaries are extractive"
    )
    yield _check("language model", True, found)


def embedder_checks(settings: Settings, embedder: Embedder | None = None) -> Iterator[CheckShape]:
    """Loads a local model to see whether it can be, unless it is loaded; sends nothing to a remote one."""
    try:
        embedder = embedder or embedder_from(settings, SystemClock(), SystemEntropy())
        if embedder is None:
            yield _check("embedder", True, "none: keyword search only")
            return
        if isinstance(embedder, LocalEmbedder):
            embedder.embed_query(CleanText("ready?"))
        yield _check("embedder", True, embedder.name)
    except Fault as fault:
        yield _check("embedder", False, f"{fault.message}; keyword search only", fault.hint)


def reranker_checks(settings: Settings, reranker: Reranker | None = None) -> Iterator[CheckShape]:
    """Loads the reranker to see whether it can be, unless it is loaded."""
    if settings.embedder == "none":
        return
    reranker = reranker or reranker_from(settings, SystemClock())
    if reranker is None:
        hint = "" if settings.reranker == "none" else f"{install_weights(RERANKER)} for better first hits."
        yield _check("reranker", True, "none: hits stay in the order of the ranking", hint)
        return
    try:
        reranker.scores("ready?", ["ready"])
        yield _check("reranker", True, reranker.name)
    except Fault as fault:
        yield _check("reranker", False, f"{fault.message}; hits stay in the order of the ranking", fault.hint)


def loop_checks(settings: Settings) -> Iterator[CheckShape]:
    """Whether the loops of the search by meaning were compiled when Holdfast was installed."""
    if settings.embedder == "none":
        return
    if kernel.is_built():
        yield _check("search by meaning", True, "compiled")
    else:
        hint = "Install a C compiler, then reinstall Holdfast."
        yield _check("search by meaning", True, "not compiled; slower with 100,000 memories or more", hint)


EXAMINATION = (Operation(examine, "GET", "/examination", scope="root", long=True),)
