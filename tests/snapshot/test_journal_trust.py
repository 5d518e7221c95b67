"""What is wrong with a journal is refused, or restored up to it with a report: never silently shorter."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from flows import identity_file, recipient
from harm import flip_bit
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import (
    Fault,
    IdentityNeeded,
    RestorePending,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotTooNew,
    SnapshotUntrusted,
)
from holdfast.core.times import iso
from holdfast.snapshot.journal.piece import is_signed_rightly, read_header, read_pieces

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


def written(tmp_path: Path, pieces: int = 4, **overrides: str) -> tuple[Journaled, list[int]]:
    """A memory of one fact a piece, and the moments of these."""
    home = Journaled(tmp_path / "home", tmp_path / "vault", **overrides)
    moments = []
    for number in range(1, pieces + 1):
        home.remember(f"Fact {number}.")
        moments.append(home.piece())
    return home, moments


def facts(count: int) -> set[str]:
    return {f"Fact {number}." for number in range(1, count + 1)}


def restored(home: Journaled, **how: object) -> dict[str, object]:
    home.clock.now += 60_000
    return home.call("snapshot_restore", at=iso(home.clock.now), **{"yes": True, "from": str(home.vault.place), **how})


def refused(home: Journaled, fault: type[Fault], before: int) -> str:
    """Restoring all of it is refused; with `partial` the memory is as it was before, and the answer says what is not."""
    with pytest.raises(fault) as caught:
        restored(home)
    assert "--partial" in caught.value.hint
    made = restored(home, partial=True)
    assert home.texts() == facts(before)
    (missing,) = made["missing"]  # type: ignore[misc]
    return str(missing)


def test_a_missing_piece_is_reported(tmp_path: Path) -> None:
    home, moments = written(tmp_path)
    journal_objects(tmp_path / "vault")[2].unlink()

    missing = refused(home, SnapshotDamaged, 2)

    assert "piece 3" in missing
    assert iso(moments[1]) in missing


def test_a_missing_first_piece_leaves_nothing_to_begin_with(tmp_path: Path) -> None:
    home, _ = written(tmp_path)
    home.snapshot()
    home.remember("Fact 5.")
    home.piece()
    journal_objects(tmp_path / "vault")[0].unlink()

    assert restored(home)["success"], "the snapshot holds what that piece did"
    assert home.texts() == facts(5)


def test_a_damaged_piece_is_reported(tmp_path: Path) -> None:
    home, _ = written(tmp_path)
    flip_bit(journal_objects(tmp_path / "vault")[3], 700)

    assert "at least 1 pieces" in refused(home, SnapshotDamaged, 3)


def test_what_is_damaged_later_does_not_matter_for_an_earlier_moment(tmp_path: Path) -> None:
    home, moments = written(tmp_path)
    flip_bit(journal_objects(tmp_path / "vault")[3], 700)

    with pytest.raises(SnapshotDamaged):
        home.texts_at(iso(moments[3]))
    flip_bit(journal_objects(tmp_path / "vault")[3], 700)
    assert home.texts_at(iso(moments[2])) == facts(3)


def test_pieces_that_were_exchanged_are_refused(tmp_path: Path) -> None:
    home, _ = written(tmp_path)
    second, third = journal_objects(tmp_path / "vault")[1:3]
    second.rename(second.with_name("aside"))
    third.rename(second)
    second.with_name("aside").rename(third)

    refused(home, SnapshotDamaged, 1)


def test_a_piece_of_another_history_is_refused(tmp_path: Path) -> None:
    home, _ = written(tmp_path, 2)
    shutil.copytree(tmp_path / "home", tmp_path / "twin")
    shutil.copytree(tmp_path / "vault", tmp_path / "aside")
    home.remember("Fact 3.")
    home.piece()
    home.close()
    twin = Journaled(tmp_path / "twin", tmp_path / "aside", 7_000)
    twin.clock.now = home.clock.now
    twin.remember("Fact 3, told otherwise.")
    twin.piece()
    twin.remember("Fact 4.")
    twin.piece()
    fourth = journal_objects(tmp_path / "aside")[3]
    shutil.copy(fourth, tmp_path / "vault" / fourth.relative_to(tmp_path / "aside"))

    home = Journaled(tmp_path / "home", tmp_path / "vault", 9_000)
    assert "does not follow" in refused(home, SnapshotDamaged, 3)


def test_a_piece_of_another_memory_is_refused(tmp_path: Path) -> None:
    home, _ = written(tmp_path, 2)
    foreign = Journaled(tmp_path / "foreign", tmp_path / "theirs", 0, agent="somebody")
    for number in range(3):
        foreign.remember(f"Fact {number} of theirs.")
        foreign.piece()
    third = journal_objects(tmp_path / "theirs")[2]
    shutil.copy(third, journal_objects(tmp_path / "vault")[1].with_name("000000000003"))

    refused(home, SnapshotForeign, 2)


def test_where_there_is_a_key_only_its_pieces_count(tmp_path: Path) -> None:
    home, _ = written(tmp_path, 1)
    home.call("key_new")
    home.remember("Fact 2.")
    home.piece()
    header = read_header(journal_objects(tmp_path / "vault")[1].read_bytes())
    assert header.signer == home.snapshots().keyring.own()

    with pytest.raises(SnapshotUntrusted):
        restored(home)
    assert restored(home, allowUnsigned=True)["success"]
    assert home.texts() == facts(2)


def test_a_journal_signed_by_somebody_else_is_refused(tmp_path: Path) -> None:
    home, _ = written(tmp_path, 2, snapshot_sign="true")
    signer = home.snapshots().keyring.own()
    other = Journaled(tmp_path / "other", tmp_path / "elsewhere", 5_000)
    other.call("key_new")

    with pytest.raises(SnapshotUntrusted) as caught:
        other.call("snapshot_restore", **{"id": "latest", "from": str(tmp_path / "vault"), "yes": True})
    assert caught.value.details["signer"] == signer
    other.call("key_trust", did=signer)
    other.call("snapshot_restore", **{"id": "latest", "from": str(tmp_path / "vault"), "yes": True})
    assert other.texts() == facts(2)


def test_an_empty_folder_waits_while_its_journal_is_damaged(tmp_path: Path) -> None:
    _home, _ = written(tmp_path)
    journal_objects(tmp_path / "vault")[2].unlink()
    with pytest.raises(RestorePending) as caught:
        Journaled(tmp_path / "other", tmp_path / "vault", 5_000)

    assert "--partial" in caught.value.hint


@pytest.mark.parametrize("form", ["plain", "signed", "encrypted"])
def test_no_bit_of_a_piece_can_be_changed(tmp_path: Path, form: str) -> None:
    home = Journaled(
        tmp_path / "home",
        tmp_path / "vault",
        snapshot_sign=str(form == "signed").lower(),
        snapshot_recipients=recipient() if form == "encrypted" else "",
        snapshot_identity=identity_file(tmp_path) if form == "encrypted" else "",
    )
    home.remember("Fact 1.")
    home.piece()
    (one,) = journal_objects(tmp_path / "vault")
    whole = one.read_bytes()
    assert len(list(read_pieces(whole))) == 1

    for at in range(len(whole)):
        for bit in range(8) if form == "plain" else (at % 8,):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            with pytest.raises((SnapshotDamaged, SnapshotTooNew)):
                list(read_pieces(bytes(changed)))
    for end in range(1, len(whole)):
        with pytest.raises(SnapshotDamaged):
            list(read_pieces(whole[:end]))
    with pytest.raises(SnapshotDamaged):
        list(read_pieces(whole + b"\n"))


def test_a_signature_covers_the_whole_piece(tmp_path: Path) -> None:
    """Hashes can be computed anew by anybody; the signature cannot."""
    written(tmp_path, 1, snapshot_sign="true")
    header = next(read_pieces(journal_objects(tmp_path / "vault")[0].read_bytes())).header
    assert is_signed_rightly(header)

    for name in ("tenant", "agent", "host", "line", "previous", "after", "sha256"):
        assert not is_signed_rightly(replace(header, **{name: f"{getattr(header, name)}0"}))
    for name in ("number", "place", "seq", "at", "since", "schema", "rows", "size"):
        assert not is_signed_rightly(replace(header, **{name: getattr(header, name) + 1}))
    for name in ("seeded", "whole"):
        assert not is_signed_rightly(replace(header, **{name: not getattr(header, name)}))
    assert not is_signed_rightly(replace(header, recipients=("0" * 16,)))


def test_an_encrypted_piece_is_of_no_use_to_others(tmp_path: Path) -> None:
    home, moments = written(tmp_path, 2, snapshot_recipients=recipient())
    with pytest.raises(IdentityNeeded):
        home.texts_at(iso(moments[1]))
