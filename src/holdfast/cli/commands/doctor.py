"""holdfast doctor: what is wrong with this installation, and how to repair it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from holdfast.cli.output.folder_hints import with_folder
from holdfast.cli.remote_hints import secret_variable
from holdfast.connection import Connection, RemoteConnection, open_connection
from holdfast.core.errors import Fault, Forbidden, Unauthorized
from holdfast.core.model import DEFAULT_TENANT, CleanText, Json
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.daemon import answers, running_server
from holdfast.embedder import embedder_from, reranker_from
from holdfast.engine import CANNOT_OPEN
from holdfast.index import RERANKER, LocalEmbedder
from holdfast.index.remedies import install_weights
from holdfast.local.spool import spool_status
from holdfast.local.spool_space import FULL_BYTES, free_bytes
from holdfast.ops.registry import BY_NAME
from holdfast.ops.server.warnings import LOW_SPACE, STORAGE
from holdfast.settings import Settings
from holdfast.snapshot.recovery.bootstrap import has_any
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.key_warnings import KEY_CODES, key_warnings, needs_keys
from holdfast.snapshot.sources.swap import MEND
from holdfast.snapshot.sources.swap_recovery import unfinished
from holdfast.store import kernel
from holdfast.store.damage import RESTORE
from holdfast.store.data_folder import DataFolder
from holdfast.store.engines import EMBEDDED, passes_wall
from holdfast.store.portable import sqlite_version

SAFE_SQLITE = (3, 51, 3)  # before this, several connections to one WAL file could corrupt it


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    found: str
    hint: str = ""

    def shape(self) -> Json:
        return {"name": self.name, "ok": self.ok, "found": self.found, "hint": self.hint}


def lines_of(checks: list[Check]) -> Iterator[str]:
    """The checks for a person, a hint on a line of its own: a command that is cut in two cannot be pasted."""
    for one in checks:
        yield f"{'ok   ' if one.ok else 'WRONG'} {one.name}: {one.found}"
        if one.hint:
            yield f"      {with_folder(one.hint)}"


def examine(settings: Settings) -> list[Check]:
    """All checks in the order in which things can go wrong. None changes anything."""
    checks: list[Check] = []
    for step in (
        _sqlite,
        _folder,
        _space,
        _server,
        _spool,
        _store,
        _row_security,
        _folders,
        _secret,
        _keys,
        _summarizer,
        _embedder,
        _reranker,
        _loops,
    ):
        checks.extend(step(settings))
    return checks


def _sqlite(settings: Settings) -> Iterator[Check]:
    version = sqlite_version()
    numbers = tuple(int(part) for part in version.split("."))
    hint = "" if numbers >= SAFE_SQLITE else "Upgrade apsw: pip install -U apsw"
    yield Check("sqlite", numbers >= SAFE_SQLITE, f"{version} (system: {sqlite3.sqlite_version}, not used)", hint)


def _folder(settings: Settings) -> Iterator[Check]:
    home = settings.folder
    if not home.exists():
        yield _no_folder(settings)
        return
    if not home.is_dir():
        yield Check("data folder", False, f"{home} is a file", "Choose a folder with --data or HOLDFAST_HOME.")
        return
    writable = os.access(home, os.W_OK | os.X_OK)
    yield Check("data folder", writable, str(home), "" if writable else _closed(home))
    loose = stat.S_IMODE(home.stat().st_mode) & 0o077
    hint = f"Remove access for other users: chmod 700 {home}" if loose else ""
    yield Check("folder permissions", not loose, oct(stat.S_IMODE(home.stat().st_mode)), hint)


def _closed(home: Path) -> str:
    """How a folder that cannot be written becomes writable."""
    if os.statvfs(home).f_flag & os.ST_RDONLY:
        return "Its file system is mounted read-only. Remount it for writing, or set HOLDFAST_HOME to another folder."
    return f"Take ownership: chown -R $USER {home}"


def _no_folder(settings: Settings) -> Check:
    """A folder that is not there is new, or it was lost; the vault shows which."""
    found = f"{settings.folder} does not exist yet; the first write creates it"
    if not settings.vault or settings.url:
        return Check("data folder", True, found)
    context = SnapshotContext(settings.folder, settings, SystemClock(), SystemEntropy(), DEFAULT_TENANT)
    try:
        lies_there = has_any(context)
    except Fault as fault:
        return Check("data folder", False, f"{settings.folder} does not exist; {fault.message}", fault.hint)
    if not lies_there:
        return Check("data folder", True, found)
    found = f"{settings.folder} does not exist; its memory is in the vault"
    return Check("data folder", False, found, f"Restore it: {RESTORE}")


def _space(settings: Settings) -> Iterator[Check]:
    place = next(path for path in (settings.folder, *settings.folder.parents) if path.exists())
    free = shutil.disk_usage(place).free
    hint = "" if free > LOW_SPACE else "Free disk space. Writes fail when the disk is full."
    yield Check("disk space", free > LOW_SPACE, f"{free // 1_000_000} MB free", hint)


def _server(settings: Settings) -> Iterator[Check]:
    card = running_server(settings)
    url = settings.url or (str(card["url"]) if card else "")
    if not url:
        found = "the next command starts it" if settings.daemon else "commands open the data folder directly"
        yield Check("server", True, f"not running; {found}", "")
        return
    connection = RemoteConnection(url, settings.secret or (str(card["token"]) if card else None))
    try:
        answer = connection.call(BY_NAME["health"], {})  # what is wrong with its memory, the store reports
        well = answer["status"] == "healthy"
        yield Check("server", True, f"{url} is healthy" if well else f"{url} responds; see the problems below")
    except Unauthorized as fault:
        yield _refused(settings, url, fault)
    except Fault as fault:
        yield Check("server", False, f"{url}: {fault.message}", fault.hint)
    finally:
        connection.close()


def _refused(settings: Settings, url: str, fault: Unauthorized) -> Check:
    """Which of the two secrets is the wrong one only the user knows."""
    variable = secret_variable()
    if settings.secret is None:
        return Check("server", False, f"{url}: {fault.message}", f"Set {variable} to the secret of that server.")
    found = f"{url}: the secret in the environment ({variable}) differs from the secret of the server"
    return Check("server", False, found, f"Set {variable} to the server's secret, or stop it: holdfast serve --stop")


def _store(settings: Settings) -> Iterator[Check]:
    if not settings.folder.is_dir() and not settings.url:
        return
    if (card := running_server(settings)) and not settings.url and not answers(str(card["url"])):
        return  # reported already; each further request would wait as long
    try:
        connection = open_connection(dataclasses.replace(settings, daemon=False))  # an examination starts nothing
    except Fault as fault:
        yield Check("store", False, fault.message, fault.hint)
        return
    try:
        yield (store := _verified(connection))
        known = connection.call(BY_NAME["overview"], {"days": 1})
        # Those of keys here have a check of their own.
        yield from _warned(known["warnings"], () if settings.url else KEY_CODES)
        if known["snapshots"]["vault"] and store.ok:  # a memory that waits for its vault was reported already
            yield from _vault(connection)
        elif settings.vault and not known["snapshots"]["vault"]:
            yield from _unknown_vault(connection, settings.vault)
    except Fault as fault:
        yield Check("store", False, fault.message, fault.hint)
    finally:
        connection.close()


def _row_security(settings: Settings) -> Iterator[Check]:
    if settings.store == EMBEDDED:
        return
    try:
        passes = passes_wall(settings.store)
    except Fault as fault:
        yield Check("database", False, fault.message, fault.hint)
        return
    if passes:
        hint = "Serve with a role that is no superuser and has no BYPASSRLS (docs/postgres.md)."
        yield Check("row security", True, "does not hold for this database role", hint)
    else:
        yield Check("row security", True, "keeps tenants apart")


def _verified(connection: Connection) -> Check:
    """Whether every row is as it was written, and whether the memory can be used at all: one problem, one command."""
    answer: Json = {"sound": True, "findings": []}
    with suppress(*CANNOT_OPEN):  # health reports why
        answer = connection.call(BY_NAME["verify"], {})
    health = connection.call(BY_NAME["health"], {})  # after it: it may have found out what is damaged
    if health["status"] != "healthy":
        return Check("store", False, health["databaseStatus"], health.get("hint", ""))
    found = "sound" if answer["sound"] else f"{len(answer['findings'])} findings"
    return Check("store", answer["sound"], found, answer.get("hint", ""))


def _unknown_vault(connection: Connection, place: str) -> Iterator[Check]:
    """The environment names a vault that the running server was started without."""
    found = f"the server was started without {place}"
    try:
        status = connection.call(BY_NAME["vault_status"], {"vault": place})
    except Fault as fault:
        yield Check("vault", False, f"{found}; {fault.message}", fault.hint)
        return
    if status["here"] or not status["snapshots"]:
        yield Check("vault", False, found, "Restart the server with the same HOLDFAST_VAULT.")
    else:
        hint = f"Merge its memory into this one: holdfast snapshot merge latest now --from {quote(place)} --yes"
        yield Check("vault", False, f"{found}, and the memory in that vault was never restored here", hint)


def _vault(connection: Connection) -> Iterator[Check]:
    """Whether the vault of the settings can be reached, and what of this memory is missing there."""
    try:
        found = connection.call(BY_NAME["vault_status"], {})
    except Forbidden:  # places of the server are for root alone
        return
    except Fault as fault:
        yield Check("vault", False, fault.message, fault.hint)
        return
    said = f"{found['place']}: {found['snapshots']} snapshots, {len(found['missing'])} not uploaded yet"
    if found["damaged"]:
        said += f", {len(found['damaged'])} damaged"
    if journal := found.get("journal"):
        said += f", journal {journal.get('behindSeconds', 0):.0f} s behind" if "waiting" in journal else ""
    hint = "See which are damaged: holdfast vault status" if found["damaged"] else ""
    yield Check("vault", not found["damaged"], said, hint)
    if found["public"]:
        yield Check("vault access", False, "it is public", "Make the vault private.")
    if kept := found.get("protection"):
        yield _protection(kept)
    for warning in found.get("warnings", ()):
        yield Check("vault note", True, warning)


_KEEPERS = {
    "lock": "locked by the vault",
    "governed": "locked by the vault, unless a special permission lifts it",
    "hold": "under a legal hold",
    "attribute": "kept by an attribute that only root removes",
}


def _protection(kept: Json) -> Check:
    """What who takes over this machine cannot erase. Most vaults have nothing like it, so that is no error."""
    said = []
    if kept["mayDelete"] is False:
        said.append("the credential of this host may not delete")
    if by := _KEEPERS.get(kept.get("by", "")):
        until = f" until {kept['until'][:10]}" if kept.get("until") else ""
        said.append(f"the newest snapshot is {by}{until}")
    hint = "" if said else "See “What a stolen machine cannot erase” in docs/vaults.md."
    if kept["addOnly"] and kept["mayDelete"]:
        said.append("HOLDFAST_VAULT_APPEND_ONLY is on, but the credential may delete")
        hint = "Give this host a credential that may only create and read."
    return Check("vault protection", True, "; ".join(said) or "none: this host can delete what is in the vault", hint)


def _folders(settings: Settings) -> Iterator[Check]:
    if settings.folder.is_dir():
        wrong = unfinished(settings.folder)
        yield Check("memory folders", wrong is None, wrong or "matching the memory", MEND if wrong else "")


def _spool(settings: Settings) -> Iterator[Check]:
    """What hooks could not deliver."""
    if settings.url or not settings.folder.is_dir():
        return
    found = spool_status(str(settings.folder))
    said = f"{found.waiting} waiting, {found.refused} rejected, {found.dropped} lost"
    hints = []
    if found.waiting:
        full = (free_bytes(str(settings.folder)) or 0) < FULL_BYTES
        first = "Free disk space. " if full else ""
        running = DataFolder(settings.folder).announced() is not None
        then = "once the memory is writable" if running else "within seconds; start it: holdfast serve --background"
        hints.append(f"{first}The server stores waiting events {then}")
    if found.refused:
        hints.append(
            f"Rejected events are in {settings.folder / 'spool' / 'refused'}. Delete the folder after you have "
            "looked at them."
        )
    if found.dropped:
        lost = "These events were lost because the disk or the spool was full."
        hints.append(f"{lost} To clear this message, delete {settings.folder / 'spool' / 'dropped'}.")
    yield Check("hook spool", not (found.refused or found.dropped), said, " ".join(hints))


def _warned(warnings: list[Json], seen: Collection[str]) -> Iterator[Check]:
    """What the server would show on its page; only an error is wrong, the rest is worth knowing."""
    for one in warnings:
        if one["code"] not in (*_SEEN_ALREADY, *seen):
            yield Check(one["code"].replace("_", " "), one["level"] != "error", one["message"], one["hint"])


_SEEN_ALREADY = ("disk_low", *STORAGE, "no_embedder")


def _secret(settings: Settings) -> Iterator[Check]:
    weak = settings.secret is not None and len(settings.secret) < 16
    found = "none; loopback only" if settings.secret is None else "short" if weak else "set"
    yield Check("secret", not weak, found, "Use at least 16 characters." if weak else "")


def _keys(settings: Settings) -> Iterator[Check]:
    """Keys that would be missed. For a remote memory the server's own health reports them."""
    if settings.url or not settings.folder.is_dir():
        return
    context = SnapshotContext(settings.folder, settings, SystemClock(), SystemEntropy(), DEFAULT_TENANT)
    try:
        found = key_warnings(context)
        well = "copied and verified" if needs_keys(context) else _trusted_keys(len(context.keyring.trusted()))
    except Fault as fault:
        yield Check("keys", False, fault.message, fault.hint)
        return
    for one in found:
        yield Check("keys", False, one.message, one.hint)
    if not found:
        yield Check("keys", True, well)


def _trusted_keys(number: int) -> str:
    if not number:
        return "none: snapshots are neither signed nor encrypted"
    return f"no signing key yet (the next snapshot creates it); trusted: {number}"


def _summarizer(settings: Settings) -> Iterator[Check]:
    keys = [name for name in ("anthropic", "openai", "gemini") if getattr(settings, f"{name}_key")]
    found = (
        f"{settings.llm}; keys: {', '.join(keys)}" if keys else f"{settings.llm}; no API key: summaries are extractive"
    )
    yield Check("language model", True, found)


def _embedder(settings: Settings) -> Iterator[Check]:
    """Loads a local model to see whether it can be; sends nothing to a remote one."""
    try:
        embedder = embedder_from(settings, SystemClock(), SystemEntropy())
        if embedder is None:
            yield Check("embedder", True, "none: keyword search only")
            return
        if isinstance(embedder, LocalEmbedder):
            embedder.embed_query(CleanText("ready?"))
        yield Check("embedder", True, embedder.name)
    except Fault as fault:
        yield Check("embedder", False, f"{fault.message}; keyword search only", fault.hint)


def _reranker(settings: Settings) -> Iterator[Check]:
    """Loads the reranker to see whether it can be."""
    if settings.embedder == "none":
        return
    reranker = reranker_from(settings, SystemClock())
    if reranker is None:
        hint = "" if settings.reranker == "none" else f"{install_weights(RERANKER)} for better first hits."
        yield Check("reranker", True, "none: hits stay in the order of the ranking", hint)
        return
    try:
        reranker.scores("ready?", ["ready"])
        yield Check("reranker", True, reranker.name)
    except Fault as fault:
        yield Check("reranker", False, f"{fault.message}; hits stay in the order of the ranking", fault.hint)


def _loops(settings: Settings) -> Iterator[Check]:
    """Whether the loops of the search by meaning were compiled when Holdfast was installed."""
    if settings.embedder == "none":
        return
    if kernel.is_built():
        yield Check("search by meaning", True, "compiled")
    else:
        hint = "Install a C compiler, then reinstall Holdfast."
        yield Check("search by meaning", True, "not compiled; slower with 100,000 memories or more", hint)
