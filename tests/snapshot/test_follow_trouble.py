"""A copy meets pieces that are not what they should be, objects that went, and a vault that answers wrongly: it takes
nothing that it may not, and goes on as soon as it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

import pytest
from flows import identity_file, recipient
from follow_steps import HOUR, Copy
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import (
    Fault,
    NotFound,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotUntrusted,
    VaultBusy,
    VaultUnreachable,
)
from holdfast.core.ports import Vault, VaultObject
from holdfast.snapshot.journal import journal_compaction
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal

SHARED = "Shared fact."


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Journaled]:
    with closing(Journaled(tmp_path / "home", tmp_path / "vault")) as world:
        world.remember(SHARED)
        world.piece()
        yield world


@pytest.fixture
def copy(home: Journaled, tmp_path: Path) -> Iterator[Copy]:
    with closing(Copy(tmp_path / "copy", tmp_path / "vault")) as world:
        world.look()
        yield world


def flip(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def newest(vault: Path) -> Path:
    return journal_objects(vault)[-1]


def test_no_bit_of_a_piece_can_be_changed_unnoticed(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    path = newest(tmp_path / "vault")
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(flip(whole, at, at % 8))
        with pytest.raises(Fault):
            copy.look()
        assert copy.texts() == {SHARED}, at
    path.write_bytes(whole)
    assert copy.look()
    assert copy.texts() == home.texts()


@pytest.mark.parametrize("part", [0, 1, 90, 0.5, 0.99])
def test_a_piece_that_breaks_off_is_not_taken(home: Journaled, copy: Copy, tmp_path: Path, part: float) -> None:
    home.remember("Fact one.")
    home.piece()
    path = newest(tmp_path / "vault")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part) if part >= 1 else int(part * len(whole))])
    with pytest.raises(SnapshotDamaged):
        copy.look()
    assert copy.texts() == {SHARED}
    path.write_bytes(whole)
    assert copy.look()


def test_a_piece_of_another_memory_is_not_taken(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    with closing(Journaled(tmp_path / "stranger", tmp_path / "strange", 300_000)) as stranger:
        for number in range(3):
            stranger.remember(f"Strange {number}.")
            stranger.piece()
    home.remember("Fact one.")
    home.piece()
    newest(tmp_path / "vault").write_bytes(journal_objects(tmp_path / "strange")[1].read_bytes())
    with pytest.raises((SnapshotForeign, SnapshotDamaged)):
        copy.look()
    assert copy.texts() == {SHARED}


def test_a_signed_journal_is_followed_only_with_the_key_that_is_trusted(tmp_path: Path) -> None:
    with closing(Journaled(tmp_path / "home", tmp_path / "vault", snapshot_sign="true")) as home:
        home.remember("Fact one.")
        home.piece()
        did = home.snapshots().keyring.own()
        with pytest.raises(Fault, match="not trusted"):
            Copy(tmp_path / "copy", tmp_path / "vault").close()
        (tmp_path / "keyed").mkdir()
        with closing(_with_key(tmp_path / "keyed", tmp_path / "vault", str(did))) as copy:
            assert copy.texts() == {"Fact one."}
            home.remember("Fact two.")
            home.piece()
            assert copy.look()
            copy.call("key_untrust", did=str(did))
            home.remember("Fact three.")
            home.piece()
            with pytest.raises(SnapshotUntrusted):
                copy.look()
            copy.call("key_trust", did=str(did))
            assert copy.look()
            assert copy.texts() == home.texts()


def _with_key(home: Path, vault: Path, did: str) -> Copy:
    """A folder in which a key was trusted first, as a user does."""
    from world import World

    with closing(World(home, 880_000)) as world:
        world.call("key_trust", did=did)
    return Copy(home, vault)


def test_a_missing_piece_stops_the_copy_until_a_snapshot_covers_it(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()
    journal_objects(tmp_path / "vault")[1].unlink()
    with pytest.raises(Fault, match="missing"):
        copy.look()
    assert copy.texts() == {SHARED}

    home.snapshot()
    home.call("vault_sync")
    home.remember("Fact four.")
    home.piece()
    assert copy.look(max(home.clock.now, copy.clock.now + HOUR))
    assert copy.texts() == home.texts()
    assert copy.engine.own_store.verify() == []


def test_objects_that_were_put_together_meanwhile_are_found(
    home: Journaled, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_compaction, "TOGETHER", 4)
    for number in range(10):
        home.remember(f"Fact {number}.")
        home.piece()
    assert home.compaction().put_together(home.line) == 8
    assert copy.look()
    assert copy.texts() == home.texts()


def test_pieces_that_a_snapshot_covers_are_not_missed(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()
    home.snapshot()
    home.call("vault_sync")
    home.remember("Fact three.")
    home.piece()
    assert home.compaction().expire(home.line, home.clock.now, home.clock.now)
    assert copy.look(max(home.clock.now, copy.clock.now + HOUR))
    assert copy.texts() == home.texts()


def test_an_encrypted_journal_is_followed_with_its_identity(tmp_path: Path) -> None:
    with closing(Journaled(tmp_path / "home", tmp_path / "vault", snapshot_recipients=recipient())) as home:
        home.remember("Fact one.")
        home.piece()
        with closing(Copy(tmp_path / "copy", tmp_path / "vault", snapshot_identity=identity_file(tmp_path))) as copy:
            home.remember("Fact two.")
            home.piece()
            assert copy.look()
            assert copy.texts() == home.texts()


def test_clocks_that_were_set_back_change_nothing(home: Journaled, copy: Copy) -> None:
    home.clock.now -= 24 * HOUR
    home.remember("Fact one.")
    home.piece()
    assert copy.look()
    copy.restart()
    copy.clock.now -= 48 * HOUR
    home.remember("Fact two.")
    home.piece()
    assert copy.look()
    assert copy.texts() == home.texts()


class Bad(VaultWrapper):
    """A vault in which each call goes wrong once in its own way before it goes right."""

    def __init__(self, vault: Vault, faults: list[Callable[[], Fault]]):
        super().__init__(vault)
        self._faults = faults

    def _perhaps(self) -> None:
        if self._faults:
            raise self._faults.pop()()

    def open(self, name: str) -> BinaryIO:
        self._perhaps()
        return super().open(name)

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        self._perhaps()
        yield from super().list(prefix, after)


def test_calls_that_fail_in_passing_cost_time_only(home: Journaled, copy: Copy) -> None:
    faults = [
        lambda: VaultUnreachable("vault: away"),
        lambda: VaultBusy("vault: too many requests"),
        lambda: NotFound("vault: not there"),
        lambda: VaultUnreachable("vault: away"),
    ]
    for number in range(4):
        home.remember(f"Fact {number}.")
        home.piece()
        copy.follower._vault = Bad(home.vault, list(faults[: number + 1]))
        for _ in range(6):
            with suppress(Fault):
                copy.look()
        assert copy.texts() == home.texts()
    assert copy.engine.own_store.verify() == []


def test_a_vault_that_was_emptied_takes_nothing_from_the_copy(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    for path in journal_objects(tmp_path / "vault"):
        path.unlink()
    with pytest.raises(Fault, match="nothing of this memory"):
        copy.look()
    assert copy.texts() == {SHARED}
    home.remember("Fact one.")
    home.piece()  # the other host finds its journal gone, and begins a line that holds everything
    home.piece()
    copy.look(copy.clock.now + HOUR)
    assert copy.texts() == home.texts()


def test_a_note_that_cannot_be_read_lets_nobody_write(copy: Copy) -> None:
    copy.engine.close()
    (copy.engine.folder.home / "follow.json").write_bytes(b"{")
    with pytest.raises(Fault, match=r"follow\.json"):
        copy.restart()
