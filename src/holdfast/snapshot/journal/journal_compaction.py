"""What lies in the vault of a journal is kept small: many pieces become one object, and what snapshots cover goes.

Pieces are put together as they are, byte for byte, so that signatures and hashes stay and nothing has to be decrypted.
They are removed only once the object with all of them is in the vault. A piece goes for good once a snapshot that is
older than the time that any moment is kept for holds it: then no moment needs it. Where this host may only add, all
pieces stay, and lie there once more in the larger objects, which are quicker to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO

from holdfast.core.errors import Conflict, NotFound, SnapshotDamaged, SnapshotTooNew
from holdfast.core.ports import Vault
from holdfast.core.times import DAY_MS
from holdfast.snapshot.chunks.leases import try_delete
from holdfast.snapshot.journal.journal_layout import JournalObject, last_number, list_journal, object_name, read_object
from holdfast.snapshot.journal.journal_lines import JournalLine, PlacedSnapshot, last_written, placed, read_lines
from holdfast.snapshot.journal.piece import read_pieces
from holdfast.snapshot.remote.transfer import list_vault, vaulted_manifest, with_packs
from holdfast.snapshot.repo.repository import SnapshotRepository

TOGETHER = 64  # objects that become one
MOST_BYTES = 4_000_000  # of an object that is still put together with others
FOREIGN_MS = 30 * DAY_MS  # after so long without a word another host's line is given up


@dataclass(slots=True)
class JournalCompaction:
    """One memory's journal in a vault; what was read of manifests is remembered."""

    vault: Vault
    repo: SnapshotRepository
    tenant: str
    agent: str
    host: str
    all_stays: bool = field(default=False, init=False)  # this host may only add

    def put_together(self, line: str) -> int:
        """Make one object of each run of small ones; how many objects went.

        Raises:
            SnapshotDamaged: one of them is not what was sent; all of them stay.
        """
        gone, larger, content = 0, "", b""
        objects = list_journal(self.vault, self.tenant, self.agent, line).get(line, [])
        covered, rest = _covered(objects)
        self.all_stays = not self.vault.can.delete
        for one, over in covered:  # left by a process that ended before it had removed them, or may not
            if self.all_stays:
                break
            if over.name != larger:
                larger, content = over.name, read_object(self.vault, over)
            if read_object(self.vault, one) in content:  # a name alone says nothing
                gone += self._remove(one)
        if self.all_stays:  # once larger is enough where nothing becomes smaller
            rest = [one for one in rest if one.last is None]
        for run in _runs(rest):
            gone += self._join(line, run)
        return gone

    def _remove(self, one: JournalObject) -> int:
        """1 if the object is gone."""
        if not self.all_stays:
            self.all_stays = not try_delete(self.vault, one.name)
        return int(not self.all_stays)

    def _join(self, line: str, run: Sequence[JournalObject]) -> int:
        data, last = bytearray(), run[0].first - 1
        for one in run:
            part = read_object(self.vault, one)
            for piece in read_pieces(part):
                if piece.header.line != line or piece.header.number != last + 1:
                    raise SnapshotDamaged(f"journal: piece {last + 1} of line {line} is missing")
                last += 1
            data += part
        name = object_name(self.tenant, self.agent, line, run[0].first, last)
        try:
            self.vault.put(name, BytesIO(bytes(data)))
        except Conflict:
            made = JournalObject(name, line, run[0].first, last, len(data))
            if read_object(self.vault, made) != bytes(data):
                raise SnapshotDamaged(f"journal: {name} exists with different content") from None
        return sum(self._remove(one) for one in run)

    def expire(self, line: str, before: int, now: int) -> int:
        """Remove what no moment from `before` on needs; how many objects went."""
        self.all_stays = not self.vault.can.delete
        base = None if self.all_stays else self._base(before)
        if base is None:
            return 0
        lines = read_lines(self.vault, self.tenant, self.agent)
        gone = 0
        for one, upto in _superseded(lines, line, base):
            if one.header is not None and (one.id == base.line or self._may_go(one, now)):
                gone += self._drop(one, upto)
        return gone

    def _may_go(self, line: JournalLine, now: int) -> bool:
        """An earlier line of this host, or of one that has been silent for long."""
        if line.header is None:
            return False
        return line.header.host == self.host or 0 < last_written(self.vault, line) < now - FOREIGN_MS

    def _drop(self, line: JournalLine, upto: int | None) -> int:
        """Objects of a line whose pieces all have numbers up to that one; all of them if there is none."""
        gone = 0
        for one in line.objects:
            if upto is None or (one.first <= upto and last_number(self.vault, one) <= upto):
                gone += self._remove(one)
        return gone

    def _base(self, before: int) -> PlacedSnapshot | None:
        """The newest snapshot from before that time that stands in the journal. Only one of this repository counts, and
        only if the vault has all of it: what else lies there may be anybody's."""
        for one in list_vault(self.vault, self.tenant, self.agent):
            try:
                manifest = self.repo.find(one.id).manifest
                if manifest is None or manifest.identity.created_at > before or not placed(manifest).line:
                    continue
                same = vaulted_manifest(self.vault, self.tenant, self.agent, one.id) == manifest
            except (SnapshotDamaged, SnapshotTooNew, NotFound):
                continue
            if same and not with_packs(self.vault, self.tenant, self.agent, [one])[0].damaged:
                return placed(manifest)
        return None


def _superseded(
    lines: dict[str, JournalLine], current: str, base: PlacedSnapshot
) -> list[tuple[JournalLine, int | None]]:
    """Which pieces a snapshot makes needless, if the line that is written now comes from its line: those of its own up
    to its place, and all of the lines before it."""
    path: list[str] = []
    line = current
    while line in lines and line not in path:
        path.append(line)
        line = lines[line].after
    if base.line not in path:
        return []
    before = path[path.index(base.line) + 1 :]
    return [(lines[base.line], base.number), *((lines[one], None) for one in before)]


def _covered(
    objects: Sequence[JournalObject],
) -> tuple[list[tuple[JournalObject, JournalObject]], list[JournalObject]]:
    """Objects that seem to lie inside a larger one, each with that, and the others."""
    over: JournalObject | None = None
    covered, rest = [], []
    for one in objects:
        end = over.last if over is not None and over.last is not None else 0
        if over is not None and one.first <= end and (one.last is None or one.last <= end):
            covered.append((one, over))
            continue
        rest.append(one)
        if (one.last or 0) > end:
            over = one
    return covered, rest


def _runs(objects: Sequence[JournalObject]) -> list[list[JournalObject]]:
    """Neighbours that are small enough to become one. The newest object is still followed by others."""
    runs: list[list[JournalObject]] = []
    run: list[JournalObject] = []
    for one in objects[:-1]:
        if one.size >= MOST_BYTES:
            run = []
            continue
        run.append(one)
        if len(run) == TOGETHER:
            runs.append(run)
            run = []
    return runs
