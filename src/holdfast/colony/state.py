"""What this client has seen of a vault: the newest snapshot of each label, and how its labels were spelled.

Nothing in a vault shows that it was set back to an earlier state. A client that remembers what it saw does; in memory,
or across processes in a file, one for each vault.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.colony.file_names import age_order
from holdfast.core.disk import disk_fault, make_folder, write_durably
from holdfast.core.errors import ColonyDamaged, ColonyInvalid

_FORMAT = "holdfast-colony-state/1"
# A label and an id for each series: a larger file is not ours.
_MOST_BYTES = 1 << 20


@dataclass
class _Seen:
    newest: dict[str, str] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)


class ClientState:
    """The state of one client of one vault; shared by all processes that name the same file."""

    def __init__(self, file: Path | None):
        self._file = file
        self._seen = _Seen() if file is None else _read(file)

    def newest(self, label: str) -> str | None:
        """The newest snapshot of the label that was seen."""
        return self._current().newest.get(label)

    def check_newest(self, label: str, id: str | None) -> None:
        """Refuse a vault whose newest snapshot is older than one that was seen.

        Raises:
            ColonyDamaged: it is, or it is gone.
        """
        seen = self.newest(label)
        if seen is not None and (id is None or age_order(id) < age_order(seen)):
            has = "there is none now" if id is None else f"the newest is {id} now"
            raise ColonyDamaged(
                f"restore: the vault was set back: {label} had snapshot {seen}, and {has}",
                hint="If you deleted it elsewhere, call forget_newest(), or name the snapshot to restore.",
            )

    def saw(self, label: str, id: str) -> None:
        """Note a snapshot that may be relied on; an older one changes nothing."""
        if (seen := self.newest(label)) is not None and age_order(id) <= age_order(seen):
            return
        with self._change() as now:
            if age_order(id) > age_order(now.newest.get(label, "")):
                now.newest[label] = id

    def gone(self, label: str, id: str, instead: str | None = None) -> None:
        """Note that this client itself deletes a snapshot, and which is the newest after it."""
        if self.newest(label) == id:
            self.forget(label, instead)

    def forget(self, label: str, instead: str | None = None) -> None:
        """Accept what the vault has as right again."""
        with self._change() as now:
            now.newest.pop(label, None)
            if instead is not None:
                now.newest[label] = instead

    def spelled(self, label: str) -> str | None:
        """How the label was given when this client first wrote to it; None if it never did."""
        return self._current().spelled.get(label)

    def spell(self, label: str, given: str) -> None:
        if self.spelled(label) != given:
            with self._change() as now:
                now.spelled[label] = given

    def _current(self) -> _Seen:
        if self._file is not None:
            self._seen = _read(self._file)
        return self._seen

    @contextlib.contextmanager
    def _change(self) -> Iterator[_Seen]:
        """The state as it is now, to be changed; no other process changes it meanwhile."""
        if self._file is None:
            yield self._seen
            return
        with _locked(self._file):
            self._seen = _read(self._file)
            yield self._seen
            fields = {"format": _FORMAT, "newest": self._seen.newest, "spelled": self._seen.spelled}
            write_durably(self._file, json.dumps(fields, indent=1, sort_keys=True).encode())


def _read(file: Path) -> _Seen:
    """The state in the file; nothing, where there is no file.

    Raises:
        ColonyInvalid: it is no such file. Treating it as empty would disable the rollback check.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return _Seen()
    except OSError as error:
        raise disk_fault(error, "read the state file") from error
    try:
        fields = json.loads(data) if len(data) <= _MOST_BYTES else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise _not_ours(file)
    return _Seen(_texts(fields.get("newest"), file), _texts(fields.get("spelled"), file))


def _texts(value: object, file: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise _not_ours(file)
    return dict(value)


def _not_ours(file: Path) -> ColonyInvalid:
    return ColonyInvalid(
        f"state: {file.name} is not a state file of a Colony memory",
        hint="Name another file, or delete this one; the next restore then takes what the vault has.",
    )


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    try:
        make_folder(file.parent)
        handle = os.open(
            file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
    except OSError as error:
        raise disk_fault(error, "open the state file") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
