"""holdfast doctor: what is wrong with this installation, and how to repair it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from holdfast.cli.command_table import endpoint
from holdfast.cli.hook.delivery import ELSEWHERE
from holdfast.cli.output.folder_hints import with_folder
from holdfast.cli.remote_hints import secret_variable
from holdfast.core.errors import CANNOT_OPEN, STORAGE_WARNINGS, Fault, Forbidden, NotFound, Unauthorized
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.daemon import answers, running_server, server_connection
from holdfast.local.spool import spool_status
from holdfast.local.spool_space import FULL_BYTES, LOW_SPACE, free_bytes
from holdfast.settings import Settings
from holdfast.store.data_folder import DataFolder
from holdfast.transport import RemoteConnection

if TYPE_CHECKING:  # what takes long to load, and only an examination without a server needs
    from holdfast.connection import Connection
    from holdfast.core.model import Json


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


def examine(settings: Settings, *, full: bool = False) -> list[Check]:
    """All checks. None changes anything. `full`: the installation is examined here, and its model loaded, also where
    a server runs, which has done so already."""
    checks = [check for step in (_folder, _space, _server, _spool) for check in step(settings)]
    installed = _installation(settings, full)
    checks += _store(settings, {one.found for one in installed})
    return [*checks, *_secret(settings), *installed]


def _installation(settings: Settings, full: bool) -> list[Check]:
    """As the folder's server examines it, or this process, if none runs or that one may not or cannot."""
    if not full and not settings.url and _reachable(settings):
        connection = server_connection(dataclasses.replace(settings, daemon=False))
        try:
            return [Check(**one) for one in connection.call(endpoint("examine"), {})["checks"]]
        except (Forbidden, Unauthorized, NotFound):
            pass
        except Fault as fault:
            return [Check("installation", False, fault.message, fault.hint)]
        finally:
            connection.close()
    from holdfast.ops.server.examination import installation

    return [Check(**one) for one in installation(settings)]


def _reachable(settings: Settings) -> bool:
    """Whether a server of this folder runs and answers."""
    card = running_server(settings)
    return card is not None and answers(str(card["url"]))


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
    from holdfast.core.model import DEFAULT_TENANT
    from holdfast.snapshot.recovery.bootstrap import has_any
    from holdfast.snapshot.repo.context import SnapshotContext
    from holdfast.store.damage import RESTORE

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
        answer = connection.call(endpoint("health"), {})  # what is wrong with its memory, the store reports
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


def _store(settings: Settings, seen: Collection[str]) -> Iterator[Check]:
    """The records, and what the server would show on its page, without the messages that were seen already."""
    if not settings.folder.is_dir() and not settings.url:
        return
    if running_server(settings) and not settings.url and not _reachable(settings):
        return  # reported already; each further request would wait as long
    try:
        connection = _memory(dataclasses.replace(settings, daemon=False))  # an examination starts nothing
    except Fault as fault:
        yield Check("store", False, fault.message, fault.hint)
        return
    try:
        yield (store := _verified(connection))
        known = connection.call(endpoint("overview"), {"days": 1})
        yield from _warned(known["warnings"], seen)
        if known["snapshots"]["vault"] and store.ok:  # a memory that waits for its vault was reported already
            yield from _vault(connection)
        elif settings.vault and not known["snapshots"]["vault"]:
            yield from _unknown_vault(connection, settings.vault)
    except Fault as fault:
        yield Check("store", False, fault.message, fault.hint)
    finally:
        connection.close()


def _memory(settings: Settings) -> Connection:
    if settings.url:
        return RemoteConnection(settings.url, settings.secret)
    if running_server(settings):
        return server_connection(settings)
    from holdfast.connection import open_connection

    return open_connection(settings)


def _verified(connection: Connection) -> Check:
    """Whether every row is as it was written, and whether the memory can be used at all: one problem, one command."""
    answer: Json = {"sound": True, "findings": []}
    found = "sound"
    try:
        with suppress(*CANNOT_OPEN):  # health reports why
            answer = connection.call(endpoint("verify"), {})
    except Forbidden:
        found = "usable; its records were not verified, which needs the scope root"
    health = connection.call(endpoint("health"), {})  # after it: it may have found out what is damaged
    if health["status"] != "healthy":
        return Check("store", False, health["databaseStatus"], health.get("hint", ""))
    found = found if answer["sound"] else f"{len(answer['findings'])} findings"
    return Check("store", answer["sound"], found, answer.get("hint", ""))


def _unknown_vault(connection: Connection, place: str) -> Iterator[Check]:
    """The environment names a vault that the running server was started without."""
    found = f"the server was started without {place}"
    try:
        status = connection.call(endpoint("vault_status"), {"vault": place})
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
        found = connection.call(endpoint("vault_status"), {})
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


def _spool(settings: Settings) -> Iterator[Check]:
    """What hooks could not deliver."""
    if not settings.folder.is_dir():
        return
    away = sum(spool_status(str(place)).waiting for place in (settings.folder / ELSEWHERE).glob("*"))
    if away:
        hint = "The next hook with the same address and the same secret or token sends them."
        yield Check("hooks elsewhere", True, f"{away} events wait for another server, or for a token", hint)
    if settings.url:
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
        if one["code"] not in _SEEN_ALREADY and one["message"] not in seen:
            yield Check(one["code"].replace("_", " "), one["level"] != "error", one["message"], one["hint"])


_SEEN_ALREADY = ("disk_low", "no_embedder", "vault_refused", *STORAGE_WARNINGS)


def _secret(settings: Settings) -> Iterator[Check]:
    weak = settings.secret is not None and len(settings.secret) < 16
    found = "none; loopback only" if settings.secret is None else "short" if weak else "set"
    yield Check("secret", not weak, found, "Use at least 16 characters." if weak else "")
