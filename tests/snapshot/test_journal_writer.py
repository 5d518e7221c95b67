"""Writing the journal: nothing is lost between the store and the vault, whatever ends in between."""

from __future__ import annotations

import itertools
import shutil
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import apsw
import pytest
from harm import live_database
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import Fault, NotFound, VaultFull, VaultUnreachable
from holdfast.core.ports import Vault
from holdfast.core.times import iso
from holdfast.snapshot.journal.journal_lines import read_lines
from holdfast.snapshot.journal.journal_rows import columns_of
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.journal.piece import changes_of, read_header, read_pieces
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


@pytest.fixture
def home(tmp_path: Path) -> Journaled:
    return Journaled(tmp_path / "home", tmp_path / "vault")


def elsewhere(home: Journaled, tmp_path: Path) -> Journaled:
    return Journaled(tmp_path / "elsewhere", tmp_path / "vault", 50_000)


def restarted(home: Journaled) -> Journaled:
    """Another process opens the folder."""
    home.close()
    other = Journaled(home.engine.folder.home, Path(home.vault.place), 90_000)
    other.clock.now = home.clock.now
    return other


def test_nothing_is_written_while_nothing_changes(home: Journaled) -> None:
    home.piece()
    assert not home.cut()
    assert not home.send()
    home.remember("Fact one.")
    assert home.cut()
    assert home.send()
    assert not home.cut()
    assert not home.send()


def test_searching_writes_no_piece(home: Journaled) -> None:
    home.remember("Fact one.")
    home.piece()
    home.found("fact")
    home.engine.store.write(lambda tx: tx.add_recalls(home.engine.recalls.take(), home.clock.now))

    assert not home.cut()


def test_many_writes_are_one_piece(home: Journaled, tmp_path: Path) -> None:
    home.piece()
    for number in range(50):
        home.remember(f"Fact {number}.")
    home.piece()

    assert len(journal_objects(tmp_path / "vault")) == 1


def test_pieces_name_the_ones_before(home: Journaled, tmp_path: Path) -> None:
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()

    found = [(one, read_header(one.read_bytes())) for one in journal_objects(tmp_path / "vault")]
    assert [header.number for _, header in found] == [1, 2, 3]
    for (path, _), (_, after) in itertools.pairwise(found):
        assert path.read_bytes()[len("holdfast journal 1 ") :].startswith(after.previous.encode())
    assert found[0][1].previous == ""


def test_what_was_cut_and_not_sent_is_sent_by_the_next_process(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.cut()
    home.remember("Fact two.")
    home = restarted(home)
    home.piece()

    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two."}


def test_what_the_disk_lost_of_the_queue_is_cut_again(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.remember("Fact two.")
    home.cut()
    home.remember("Fact three.")
    home.cut()
    waiting = sorted((tmp_path / "home").rglob("*.piece"))
    waiting[0].write_bytes(waiting[0].read_bytes()[:-9])
    home = restarted(home)
    home.piece()

    assert elsewhere(home, tmp_path).texts() == home.texts()


def test_a_piece_that_was_sent_and_not_confirmed_is_known_again(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.cut()
    (waiting,) = home.journal.queue.all()
    name = f"default/default/journal/{waiting.header.line}/{1:012d}"
    home.vault.put(name, BytesIO(waiting.path.read_bytes()))
    home.remember("Fact two.")
    home = restarted(home)
    line = home.line
    home.piece()

    assert home.line == line
    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two."}


def test_two_folders_of_one_origin_do_not_mix(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.close()
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    one = Journaled(tmp_path / "home", tmp_path / "vault", 10_000)
    other = Journaled(tmp_path / "copy", tmp_path / "vault", 20_000)
    one.clock.now = other.clock.now = home.clock.now
    one.remember("Fact of the first.")
    one.piece()
    other.remember("Fact of the second.")
    other.piece()
    other.piece()

    assert one.line != other.line
    lines = read_lines(one.vault, "default", "default")
    assert len(lines) == 2
    assert lines[other.line].after == one.line
    third = elsewhere(other, tmp_path)
    assert third.texts() == {"Fact one.", "Fact of the second."}
    first = one.clock.now - 1
    one.remember("Fact of the first again.")
    one.clock.now = other.clock.now + 5_000
    one.piece()
    made = third.call("snapshot_restore", **{"id": "latest", "from": str(tmp_path / "vault"), "yes": True})
    assert any("by another host" in warning for warning in made["warnings"])
    assert third.texts_at(iso(first)) == {"Fact one."}


class Refusing(VaultWrapper):
    """A vault that fails as it is told to."""

    def __init__(self, vault: Vault, fault: Fault, after: bool = False):
        super().__init__(vault)
        self.fault: Fault | None = fault
        self.after = after

    def put(self, name: str, data: BinaryIO) -> None:
        if self.fault is None or self.after:
            self._vault.put(name, data)
        if self.fault is not None:
            raise self.fault


@pytest.mark.parametrize("fault", [VaultUnreachable("no answer"), VaultFull("no room")], ids=["unreachable", "full"])
@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
def test_while_the_vault_takes_nothing_every_second_waits_on_the_disk(
    home: Journaled, tmp_path: Path, fault: Fault, after: bool
) -> None:
    home.piece()
    vault = Refusing(home.vault, fault, after)
    moments = []
    for number in range(5):
        home.remember(f"Fact {number}.")
        home.cut()
        moments.append(home.clock.now)
        with suppress(type(fault)):
            home.journal.send(vault, home.changes)
    assert after or len(home.journal.queue.all()) == 5

    vault.fault = None
    while home.journal.send(vault, home.changes):
        pass
    assert not home.journal.queue.all()
    for count, moment in enumerate(moments, 1):
        assert home.texts_at(iso(moment)) == {f"Fact {number}." for number in range(count)}


def test_the_queue_is_bounded_and_nothing_is_lost(tmp_path: Path) -> None:
    home = Journaled(tmp_path / "home", tmp_path / "vault", journal_backlog="3000")
    home.piece()
    moments = []
    for number in range(30):
        home.remember(f"Fact {number}.")
        home.cut()
        moments.append(home.clock.now)
    assert home.journal.queue.size < 6_000

    while home.send():
        pass
    home.piece()

    assert elsewhere(home, tmp_path).texts() == {f"Fact {number}." for number in range(30)}
    made = home.call("snapshot_restore", at=iso(moments[-2]), yes=True)
    assert any("no moment between" in one for one in made["warnings"])


def recorded(home: Journaled) -> int:
    """How many rows say what was changed."""
    with closing(apsw.Connection(str(live_database(home.engine.folder.home)))) as db:
        return int(str(db.execute("SELECT count(*) FROM changes").get))


def test_what_waits_is_merged_when_it_grows(home: Journaled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.sqlite.changes.change_log.MOST_RECORDS", 20)
    home.piece()
    first = home.remember("Fact zero.")
    home.call("evolve", memoryId=first, newContent="Fact zero, and more of it.")
    for number in range(40):
        home.remember(f"Fact {number}.")
    before = recorded(home)
    home.changes.bound("default")
    assert recorded(home) < before / 10
    home.piece()

    assert elsewhere(home, tmp_path).texts() == home.texts()


def test_forgotten_text_is_in_no_piece_that_is_cut_later(home: Journaled, tmp_path: Path) -> None:
    home.piece()
    gone = home.remember("Fact one about the walrus.")
    answer = home.call("forget", memoryId=gone)
    home.piece()

    assert "journal in the vault" in answer["hint"]

    for one in journal_objects(tmp_path / "vault"):
        for piece in read_pieces(one.read_bytes()):
            assert "walrus" not in str(changes_of(piece, columns_of, ()))


def test_a_large_memory_begins_its_line_with_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.snapshot.journal.journal_writer.SEED_ROWS", 3)
    home = Journaled(tmp_path / "home", tmp_path / "vault")
    for number in range(5):
        home.remember(f"Fact {number}.")
    home.piece()
    home.snapshot()
    home.remember("Fact 5.")
    home.piece()

    place = home.changes.place("default")
    assert place is not None
    assert not place.seeded
    assert elsewhere(home, tmp_path).texts() == home.texts()


def test_a_memory_larger_than_a_piece_is_sent_in_several(
    home: Journaled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.sqlite.changes.change_log.MOST_ROWS", 8)
    monkeypatch.setattr("holdfast.store.sqlite.changes.change_rows.SEED_ROWS", 4)
    for number in range(30):
        home.remember(f"Fact {number}.")
    assert home.cut()
    assert not home.journal.complete_now
    home.send()
    half = home.clock.now
    home.remember("Fact 30.")
    home.piece()

    assert elsewhere(home, tmp_path).texts() == home.texts()
    with pytest.raises(NotFound):  # at that time the vault had half of it
        home.texts_at(iso(half))


def test_turned_off_nothing_is_recorded(home: Journaled) -> None:
    home.piece()
    home.changes.end()
    home.remember("Fact one.")

    assert home.changes.waiting() == []
    assert home.changes.place("default") is None


def test_another_writer_is_not_overwritten(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    line = home.line
    home.vault.put(f"default/default/journal/{line}/{2:012d}", BytesIO(b"somebody else's"))
    home.remember("Fact two.")
    home.piece()
    home.piece()

    assert home.line != line
    assert (tmp_path / "vault/default/default/journal" / line / f"{2:012d}").read_bytes() == b"somebody else's"
    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two."}


def test_a_new_writer_goes_on_in_the_same_line(home: Journaled) -> None:
    home.remember("Fact one.")
    home.piece()
    line = home.line
    home.journal = JournalWriter(home.snapshots())
    home.remember("Fact two.")
    home.piece()

    assert home.line == line


def test_a_vault_that_was_not_mounted_for_a_while_breaks_no_line(home: Journaled, tmp_path: Path) -> None:
    vault, away = tmp_path / "vault", tmp_path / "away"
    home.remember("Fact one.")
    home.piece()
    vault.rename(away)
    vault.mkdir()  # where its disk is mounted
    home.remember("Fact two.")
    while_away = home.piece()
    shutil.rmtree(vault)
    away.rename(vault)
    home.remember("Fact three.")
    home.piece()
    home.piece()

    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two.", "Fact three."}
    assert home.texts_at(while_away) == {"Fact one."}


def test_a_vault_that_was_emptied_gets_all_of_the_memory_again(home: Journaled, tmp_path: Path) -> None:
    for text in ("Fact one.", "Fact two."):
        home.remember(text)
        home.piece()
    shutil.rmtree(tmp_path / "vault" / "default")
    home = restarted(home)
    home.remember("Fact three.")
    home.piece()
    home.piece()

    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two.", "Fact three."}


def test_a_line_goes_on_where_snapshots_took_the_place_of_its_pieces(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.snapshot()
    home.clock.now += 1
    home.compaction().expire(home.line, home.clock.now, home.clock.now)
    assert journal_objects(tmp_path / "vault") == []
    line = home.line
    home.remember("Fact two.")
    home.piece()

    assert home.line == line
    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two."}
