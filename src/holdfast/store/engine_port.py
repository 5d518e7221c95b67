"""The life of a store: how a memory is opened, captured as a portable file, replaced by one, and left.

The portable file (store/portable.py) is what passes between engines, snapshots and vaults. Nothing here knows how an
engine keeps its rows; records are read and written through `port`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.core.errors import Fault
from holdfast.store.fleet.fleet_port import Fleet
from holdfast.store.journal.journal_port import JournalPlace
from holdfast.store.port import Store


@dataclass(frozen=True, slots=True)
class CapturedFile:
    """What stands in a captured file."""

    schema: int
    rows: tuple[tuple[str, int], ...]  # by table, those that have any
    last_seq: int
    journal: JournalPlace | None = None  # up to where the vault had the tenant's journal at that moment


class FrozenStore(Protocol):
    """What was live until now: it can be read and takes no writes while the next generation is built."""

    def last_seq(self) -> int: ...

    def capture(self, into: Path, tenant: str) -> CapturedFile:
        """As `Memory.capture`."""
        ...

    def take_along(self, database: Path, tenant: str) -> bool:
        """Bring into a portable file what belongs to this place and not to the tenant's memory: tokens, unsent events,
        other tenants. False if not all of it could be read.

        Raises:
            DataDamaged: nothing of it can be read.
            Conflict: the file comes from elsewhere, and its numbers are other tenants' here.
        """
        ...

    def give_back(self, generation: str, tenant: str) -> None:
        """The same for a generation that was live before and is to be it again, which stays what it was if this
        fails."""
        ...


# Builds or chooses the next generation and gives its name; None where nothing that is live can be read.
Build = Callable[[FrozenStore | None], str]


class Memory(Protocol):
    """What is live, whichever engine keeps it. Faults of all calls: DataDamaged, DataTooNew if it cannot be opened."""

    def is_open(self) -> bool:
        """Whether the store can be used; nothing else here can be called if not, but for `exchange`."""
        ...

    def content_tag(self, tenant: str) -> str:
        """Changes whenever a record of the tenant's memory does; records of others may change it as well."""
        ...

    def size(self, tenant: str) -> int:
        """About how many bytes a capture will have."""
        ...

    def capture(self, into: Path, tenant: str, *, check: bool = True) -> CapturedFile:
        """Write the tenant's memory as it is at one moment into a new portable file, which is not synced.

        Without `check` the caller has to call `portable.check_store` before it relies on the file.

        Raises:
            DataDamaged: the store cannot be read to its end, or does not add up.
            StorageFull, StorageFailed: the file cannot be written.
        """
        ...

    def as_file(self, scratch: Path, tenant: str, *, check: bool = True) -> Path:
        """A portable file to be read only, which holds the tenant's memory as it is now: that of the live store, or a
        new one in the folder `scratch`. Without `check` its rows may be damaged."""
        ...

    def undo_target(self, tenant: str) -> str | None:
        """The generation that was the tenant's live one before, whichever server replaced it; None if there is none.
        The data folder has one of that name only if this server did."""
        ...

    def unreadable(self, generation: str, tenant: str) -> str | None:
        """Why a generation cannot become the tenant's live one; None if it can."""
        ...

    def exchange(self, build: Build, tenant: str) -> str:
        """Make the generation the tenant's live memory whose name `build` gives.

        Raises:
            Fault: whatever `build` raised, or the new one cannot be opened; the old one is live as before.
        """
        ...


class LiveMemory(Memory, Protocol):
    """What is live, for the process that opens it, under the lock of its data folder."""

    def has_any(self) -> bool:
        """Whether there is a memory to open; if not, a new one is begun."""
        ...

    def recover(self) -> None:
        """Finish an exchange of a process that died in the middle, before anything in the folder is read."""
        ...

    def open(self) -> None:
        """Open the live generation, a new one if there is none; it answers nothing before `accept`."""
        ...

    def accept(self) -> None:
        """Answer reads and writes with the store that is open."""
        ...

    def refuse(self, fault: Fault) -> None:
        """Answer every read and write with this fault, until another generation is made live or `accept` is called."""
        ...

    @property
    def fault(self) -> Fault | None:
        """Why the store cannot be used; None while it can."""
        ...

    @property
    def store(self) -> Store:
        """The live store, or one that raises the fault."""
        ...

    def opened(self) -> Store:
        """The store itself, also while nothing is to be answered with it."""
        ...

    @property
    def fleet(self) -> Fleet:
        """The servers that have this memory open."""
        ...

    def close(self) -> None: ...

    def close_anyway(self) -> None:
        """Close a store that could not be used: the folder's lock must be freed in any case."""
        ...


class OpenMemory(Memory, Protocol):
    """The data folder that this process holds open, and the one generation of it that is live."""

    @property
    def path(self) -> Path: ...

    @property
    def store(self) -> Store:
        """The live store; another one after each exchange."""
        ...

    @property
    def own_store(self) -> Store:
        """The same, also of a copy that follows another host: it takes what is derived, and what is followed."""
        ...

    def end_following(self) -> None:
        """Be a memory of its own from now on, if this was a copy that follows another host."""
        ...

    @property
    def fleet(self) -> Fleet:
        """The servers that have this memory open."""
        ...

    def try_again(self) -> None:
        """Open the memory if it could not be opened before."""
        ...

    def trouble(self, tenant: str) -> Fault | None:
        """What every caller of the tenant's memory has to know, and what to do about it; None while all is well."""
        ...

    def news(self) -> str | None:
        """What happened to this memory while no caller was there, reported for a while; None if nothing did."""
        ...
