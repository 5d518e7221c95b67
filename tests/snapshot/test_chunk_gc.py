"""Packs are removed while others write: whatever comes between whatever, no snapshot loses what it needs."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from chunk_samples import PREFIX, Stepping, add_snapshot, attempt, context_at, database, ids, names, store_in
from harm import flip_bit
from world import DAY

from holdfast.core.errors import SnapshotsBusy
from holdfast.core.ports import Vault
from holdfast.snapshot.chunks.writer import left_behind
from holdfast.snapshot.remote.layout import put
from holdfast.snapshot.remote.transfer import take_out
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.retention import RetentionPolicy
from holdfast.snapshot.sync.vault_maintenance import VaultPruneResult, prune_vault
from holdfast.vault.local import LocalVault

SMALL = 12  # pages
OLD, NEW = database(pages=SMALL), database(pages=SMALL, changed=(3, 7))


class Scene:
    """A vault with one snapshot that is about to go, and a second host that sends one which shares most of its chunks."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.vault = LocalVault(folder / "vault")
        self.writer = context_at(folder / "home")
        self.old = add_snapshot(self.writer, 1, OLD)
        put(self.writer, self.vault, self.old)
        self.new = add_snapshot(self.writer, 2, NEW)
        self.keeper = context_at(folder / "keeper")
        take_out(self.vault, "default", "default", self.old)  # its packs are nobody's now

    def send(self, vault: Vault) -> None:
        put(self.writer, vault, self.new)

    def prune(self, vault: Vault) -> VaultPruneResult:
        return prune_vault(self.keeper, vault, RetentionPolicy(last=1))

    def check(self, fault: object) -> None:
        """The new snapshot can be restored, or nobody takes what is there for one; then it can be sent again."""
        if fault is not None:
            assert isinstance(fault, SnapshotsBusy)
            assert ids(self.vault) == []
            self.send(self.vault)
        assert ids(self.vault) == [self.new]
        assert store_in(self.vault, self.new, self.folder) == NEW
        assert names(self.vault, "leases/") == names(self.vault, "condemned/") == []


def calls(folder: Path, work: Callable[[Scene, Vault], object]) -> int:
    scene = Scene(folder)
    counting = Stepping(scene.vault)
    work(scene, counting)
    return counting.calls


def test_a_sweep_between_any_two_steps_of_a_writer_breaks_nothing(tmp_path: Path) -> None:
    steps = calls(tmp_path / "count", Scene.send)
    assert steps > 10
    for at in range(steps):
        scene = Scene(tmp_path / str(at))
        scene.check(attempt(lambda: scene.send(Stepping(scene.vault, at, lambda: scene.prune(scene.vault)))))  # noqa: B023
        scene.prune(scene.vault)
        scene.check(None)


def test_a_writer_between_any_two_steps_of_a_sweep_loses_nothing(tmp_path: Path) -> None:
    steps = calls(tmp_path / "count", Scene.prune)
    assert steps > 8
    for at in range(steps):
        scene = Scene(tmp_path / str(at))
        faults: list[object] = []
        sweeping = Stepping(scene.vault, at, lambda: faults.append(attempt(lambda: scene.send(scene.vault))))  # noqa: B023
        scene.prune(sweeping)
        scene.check(faults[0])


def test_a_sweep_between_any_two_steps_of_a_sweep_while_a_writer_begins_loses_nothing(tmp_path: Path) -> None:
    """Two keepers, and a writer that begins when the second of them is done."""
    for at in range(calls(tmp_path / "count", Scene.prune)):
        scene = Scene(tmp_path / str(at))
        faults: list[object] = []

        def both() -> None:
            scene.prune(scene.vault)  # noqa: B023
            faults.append(attempt(lambda: scene.send(scene.vault)))  # noqa: B023

        scene.prune(Stepping(scene.vault, at, both))
        scene.check(faults[0])


def test_a_writer_that_began_holds_up_every_sweep(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    before = names(scene.vault, "packs/")
    seen: list[VaultPruneResult] = []
    scene.send(Stepping(scene.vault, 12, lambda: seen.append(scene.prune(scene.vault))))

    assert seen[0].swept.packs == 0
    assert seen[0].swept.waiting >= len(before)
    assert set(before) <= set(names(scene.vault, "packs/"))


def test_packs_that_nobody_needs_go_and_those_of_others_stay(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(scene.vault)
    third = add_snapshot(scene.writer, 3, database(seed=9, pages=SMALL))
    put(scene.writer, scene.vault, third)
    shared = names(scene.vault, "packs/")
    assert len(shared) == 3

    looked = prune_vault(scene.keeper, scene.vault, RetentionPolicy(last=1), dry_run=True)
    assert (looked.swept.packs, names(scene.vault, "packs/")) == (1, shared)
    done = prune_vault(scene.keeper, scene.vault, RetentionPolicy(last=1))
    assert (done.removed, done.swept.packs) == ((scene.new,), 1)
    assert len(names(scene.vault, "packs/")) == 2, "the header of the tar is in the first one"
    assert store_in(scene.vault, third, tmp_path) == database(seed=9, pages=SMALL)


def test_a_lease_of_a_dead_writer_ends_after_a_week(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.vault.put(f"{PREFIX}leases/{scene.new}.{scene.keeper.clock.now_ms()}.{'0' * 16}", BytesIO(b""))
    assert scene.prune(scene.vault).swept.waiting == 1
    with pytest.raises(SnapshotsBusy):
        scene.send(scene.vault)

    for context in (scene.keeper, scene.writer):
        context.clock.now += 8 * DAY  # type: ignore[attr-defined]
    assert scene.prune(scene.vault).swept.packs == 1
    assert names(scene.vault, "leases/") == []


def test_a_writer_whose_lease_was_taken_away_does_not_commit(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    def mistaken() -> None:
        for name in names(scene.vault, "leases/"):
            scene.vault.delete(name)
        for name in names(scene.vault, "packs/"):
            scene.vault.delete(name)

    for at in range(calls(tmp_path / "count", Scene.send)):
        one = Scene(tmp_path / str(at))
        scene = one
        fault = attempt(lambda: one.send(Stepping(one.vault, at, mistaken)))  # noqa: B023
        if fault is None and ids(one.vault):
            assert at < 6 or not names(one.vault, "packs/"), "only before it looked, or after it had ended"
            continue
        assert ids(one.vault) == []


@pytest.mark.parametrize("damage", ["chunk index", "manifest", "gone"])
def test_nothing_is_swept_while_it_is_not_known_what_a_snapshot_needs(damage: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(scene.vault)
    put(scene.writer, scene.vault, add_snapshot(scene.writer, 3, database(seed=4, pages=SMALL)))
    folder = tmp_path / "vault" / PREFIX
    path = folder / f"{scene.new}{'.manifest.json' if damage == 'manifest' else '.chunks'}"
    path.unlink() if damage == "gone" else flip_bit(path)
    before = names(scene.vault, "packs/")
    done = prune_vault(scene.keeper, scene.vault, RetentionPolicy(last=5))

    assert done.unswept is not None
    assert names(scene.vault, "packs/") == before


def _store_at(vault: Vault, context: SnapshotContext, sequence: int, store: bytes) -> str:
    id = add_snapshot(context, sequence, store)
    put(context, vault, id)
    return id


def test_packs_that_are_hardly_needed_any_more_are_left_behind(tmp_path: Path) -> None:
    """Of the first pack one page in 200 is needed in the end: the next snapshot sends it again, and the pack can go."""
    context, vault = context_at(tmp_path / "home"), LocalVault(tmp_path / "vault")
    first = database(seed=1, pages=200)
    _store_at(vault, context, 1, first)
    (old,) = names(vault, "packs/")
    later = database(seed=2, pages=199)
    for sequence in (2, 3):
        id = _store_at(vault, context, sequence, later + first[-4096:])
    prune_vault(context, vault, RetentionPolicy(last=1))

    assert old not in names(vault, "packs/")
    assert store_in(vault, id, tmp_path) == later + first[-4096:]


def test_only_a_hundredth_of_a_snapshot_is_sent_again_at_a_time() -> None:
    used, whole = {number: 1000 + number for number in range(50)}, dict.fromkeys(range(50), 100_000)

    assert left_behind(used, whole, 400_000) == [0, 1, 2]
    assert left_behind(dict.fromkeys(range(50), 90_000), whole, 10**9) == []
    many = dict.fromkeys(range(65), 90_000)
    assert left_behind(many, dict.fromkeys(range(65), 100_000), 10**9) == list(range(65)), "many small ones"
