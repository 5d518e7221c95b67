"""The life of a memory on PostgreSQL: opened, captured, replaced; fulfils `engine_port.LiveMemory`.

A restore fills a new space and then changes one row: the old space or the new one, never a mixture. The data folder
holds the names of generations, keys and snapshots, and no records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pgvector.psycopg import register_vector

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults, write_durably
from holdfast.core.errors import DataDamaged, Fault, NotFound
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.core.system import SystemEntropy
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import Build, CapturedFile
from holdfast.store.fleet.fleet_port import Fleet
from holdfast.store.fleet.single_server import SingleServer
from holdfast.store.port import Store
from holdfast.store.postgres.batch import FIRST
from holdfast.store.postgres.damage.damaged_spaces import noted_damage
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, View, connected, faults, moment
from holdfast.store.postgres.session import Row, Session
from holdfast.store.postgres.shared.event_log import carry_watch
from holdfast.store.postgres.shared.folder_binding import name_of, refuse_another
from holdfast.store.postgres.shared.job_leases import carry_shared
from holdfast.store.postgres.shared.notices import Notice, notify
from holdfast.store.postgres.space_copy import capture, carry_access, load, remove_space
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import NOT_MEMORY
from holdfast.store.unavailable import ClosedStore

ID_CHARS = 32
RECORD_BYTES = 4_096  # of a captured file, about


class PostgresMemory:
    """The memory of all tenants of one database, for the process that holds this data folder."""

    def __init__(
        self,
        url: str,
        folder: DataFolder,
        publish: Callable[[Event], None],
        telling: Clock | None,
    ):
        self._url = url
        self._folder = folder
        self._publish = publish
        self._telling = telling
        self._store: PostgresStore | None = None
        self._fault: Fault | None = Fault("store: it is not open yet")
        self._exchanging = threading.Lock()
        self._folder_id = ""  # known once it is open
        self._alone = SingleServer()  # until it is open

    def has_any(self) -> bool:
        return True  # an empty database is filled from a vault once it is open

    def recover(self) -> None:
        """See `engine_port.LiveMemory.recover`: the pointer of the folder was switched, and the database was not."""
        try:
            before, space, tenant = self._switching.read_text(encoding="utf-8").split(" ", 2)
        except FileNotFoundError:
            return
        with disk_faults(f"read {self._switching.name}"), connected(self._url) as db:
            live = db.execute("SELECT 1 FROM tenants WHERE tenant = %s AND live = %s", (tenant, space)).fetchone()
            if live is None:
                self._folder.point_back(before)
            self._switching.unlink()

    def _try_to_recover(self) -> None:
        with suppress(Fault):  # a database that does not answer now: the next start does it
            self.recover()

    @property
    def _switching(self) -> Path:
        """Notes a switch until it is done: the generation before, and the space and tenant that are to be live."""
        return self._folder.home / "SWITCHING"

    def open(self) -> None:
        if self._store is None:
            with connected(self._url) as db:
                refuse_another(db, self._folder)
                name = name_of(db)
            self._store = PostgresStore(self._url, self._publish, self._telling)
            self._folder.note_store(name)
            self._point()
            self._folder_id = _id_of(self._folder)

    def _point(self) -> None:
        """Have a generation to point to. A pointer that is lost costs the next undo, and no record."""
        with suppress(DataDamaged):
            self._folder.current()
            return
        names = self._folder.generations()
        with disk_faults("make the first generation"):
            (self._folder.home / FIRST).mkdir(mode=0o700, exist_ok=True)
        self._folder.point_back(names[-1] if names else FIRST)

    def accept(self) -> None:
        self._fault = None

    def refuse(self, fault: Fault) -> None:
        self._fault = fault

    @property
    def fault(self) -> Fault | None:
        return self._fault

    @property
    def store(self) -> Store:
        return ClosedStore(self._fault) if self._fault is not None else self.opened()

    def opened(self) -> PostgresStore:
        if self._store is None:
            raise self._fault or Fault("store: it is not open yet")
        return self._store

    @property
    def fleet(self) -> Fleet:
        return self._alone if self._store is None else self._store.fleet

    def is_open(self) -> bool:
        return self._store is not None and self._fault is None

    def content_tag(self, tenant: str) -> str:
        sql = "SELECT source, rows, sum FROM tallies WHERE space = %s AND rows > 0 ORDER BY source"
        found = self._of_space(sql, tenant)
        return " ".join(f"{name} {rows} {total}" for name, rows, total in found if name not in NOT_MEMORY)

    def size(self, tenant: str) -> int:
        rows = self._of_space("SELECT sum(rows)::bigint FROM tallies WHERE space = %s", tenant)
        return RECORD_BYTES * int(rows[0][0] or 0) if rows else 0

    def _of_space(self, sql: str, tenant: str) -> list[Row]:
        """The rows of a statement about a tenant's space; none if it has no space."""
        session = Session(self.opened().pool.connection)
        space = session.space_of(tenant)
        return [] if space is None else session.rows(sql, (space,), space)

    def capture(self, into: Path, tenant: str, *, check: bool = True) -> CapturedFile:
        with faults(), moment(self.opened().pool) as view:
            return capture(view, into, tenant, check=check)

    def as_file(self, scratch: Path, tenant: str, *, check: bool = True) -> Path:
        self.capture(scratch / "now.db", tenant, check=check)
        return scratch / "now.db"

    def undo_target(self, tenant: str) -> str | None:
        with faults(), self.opened().pool.connection(EVERY_SPACE) as db:
            found = _previous(db, tenant)
        if found is None:
            return None
        # With its folder in this data folder its memory folders are put back as well. The name alone does not show
        # that it is the same: every data folder numbers its generations itself.
        own = found.folder == self._folder_id and found.generation == self._folder.previous()
        return found.generation if own else found.name

    def unreadable(self, generation: str, tenant: str) -> str | None:
        with faults(), self.opened().pool.connection(EVERY_SPACE) as db:
            found = _previous(db, tenant)
            noted = None if found is None else noted_damage(db, found.space)
        if not self._is(found, generation):
            return "another memory was replaced since"
        return None if noted is None else noted.why

    def _is(self, found: _PreviousSpace | None, generation: str) -> bool:
        own = (generation, self._folder_id)
        return found is not None and (generation == found.name or own == (found.generation, found.folder))

    def exchange(self, build: Build, tenant: str) -> str:
        """See `engine_port.Memory.exchange`. Writers of the tenant, on any server, get a retryable fault meanwhile."""
        self.opened().mend(lambda tx: tx.next_seq(tenant))  # a space, if there is none yet
        with self._exchanging, OnFailure(self._try_to_recover), connected(self._url) as db:
            register_vector(db)
            with db.transaction():  # its commit is the switch: before it nothing changed
                row = db.execute("SELECT live FROM tenants WHERE tenant = %s FOR UPDATE", (tenant,)).fetchone()
                if row is None:
                    raise NotFound("restore: the tenant has no memory")
                old, view = int(row[0]), View(db)
                name_it = "UPDATE spaces SET generation = %s, folder = %s WHERE space = %s"  # as undo will know it
                view.see(old).execute(name_it, (self._folder.current(), self._folder_id, old))
                before = self._folder.generations()
                name = build(_FrozenSpace(self, tenant))
                built = name in self._folder.generations() and name not in before
                new = self._filled(view, name, tenant) if built else self._chosen(view, name, tenant)
                carry_access(view.see(EVERY_SPACE), old, new)
                carry_shared(db, old, new)
                carry_watch(db, old, new)
                seq = "(SELECT last_seq FROM spaces WHERE space = %s)"
                db.execute(
                    f"UPDATE spaces SET last_seq = greatest(last_seq, {seq}) WHERE space = %s".encode(), (old, new)
                )
                db.execute("UPDATE tenants SET live = %s, previous = %s WHERE tenant = %s", (new, old, tenant))
                self._point_to(name, new, tenant)
                notify(db, Notice("switched", tenant=tenant))
            self._settle(db, name, tenant)
        self._fault = None
        self.opened().damaged.forget(tenant)
        return name

    def _filled(self, view: View, name: str, tenant: str) -> int:
        """The space of a generation that was built, made of its file."""
        return load(view, self._folder.database_of(name), tenant, name)

    def _chosen(self, view: View, name: str, tenant: str) -> int:
        """The space of a generation that was live before. A file in its folder is of an earlier engine."""
        found = _previous(view.see(EVERY_SPACE), tenant)
        if found is None or not self._is(found, name):
            raise NotFound(f"restore: there is no generation {name[:40]}")
        return found.space

    def _point_to(self, name: str, space: int, tenant: str) -> None:
        """Switch the folder's pointer, which says what its memory folders are to be. It goes first: if the commit
        does not follow, it is set back, at once or at the next start."""
        write_durably(self._switching, f"{self._folder.current()} {space} {tenant}".encode())
        if name in self._folder.generations():  # not one that another server replaced
            self._folder.switch(name)

    def _settle(self, db: Connection, name: str, tenant: str) -> None:
        """Remove what is not needed any more; nothing depends on that."""
        with suppress(Fault), disk_faults(f"settle {name}"):
            self._switching.unlink()
            (self._folder.home / name / DATABASE).unlink(missing_ok=True)
        sql = (
            "SELECT s.space FROM spaces AS s JOIN tenants AS t ON t.tenant = s.tenant WHERE s.tenant = %s "
            "AND s.space NOT IN (t.live, coalesce(t.previous, t.live))"
        )
        with db.transaction():
            left = View(db).see(EVERY_SPACE).execute(sql, (tenant,)).fetchall()
        for (space,) in left:
            with db.transaction():
                remove_space(View(db).see(space), space)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store, self._fault = None, Fault("store: it is closed")

    def close_anyway(self) -> None:
        with suppress(Fault):
            self.close()


class _PreviousSpace(NamedTuple):
    """The space that was live before, and the generation that it was in the data folder of the server that replaced
    it."""

    space: int
    generation: str
    folder: str

    @property
    def name(self) -> str:
        """As it is called in other data folders."""
        return f"space-{self.space}"


def _previous(db: Connection, tenant: str) -> _PreviousSpace | None:
    sql = (
        "SELECT s.space, s.generation, s.folder FROM tenants AS t JOIN spaces AS s ON s.space = t.previous "
        "WHERE t.tenant = %s"
    )
    row = db.execute(sql, (tenant,)).fetchone()
    return None if row is None else _PreviousSpace(*row)


def _id_of(folder: DataFolder) -> str:
    """A name of the data folder that no other one has, kept in it."""
    path = folder.home / "fleet-id"
    with disk_faults("read the data folder's id"):
        if not path.exists():
            write_durably(path, SystemEntropy().hex(ID_CHARS).encode())
        return path.read_text("ascii")


@dataclass(frozen=True, slots=True)
class _FrozenSpace:
    """The tenant's memory while no server writes to it; fulfils `engine_port.FrozenStore`. What belongs to the place is
    carried over by the exchange itself, and other tenants are not touched."""

    memory: PostgresMemory
    tenant: str

    def last_seq(self) -> int:
        return self.memory.opened().last_seq(self.tenant)

    def capture(self, into: Path, tenant: str) -> CapturedFile:
        return self.memory.capture(into, tenant)

    def take_along(self, database: Path, tenant: str) -> bool:
        return True

    def give_back(self, generation: str, tenant: str) -> None:
        """Nothing is to be done."""
