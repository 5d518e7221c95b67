"""Generations: built aside, finished, switched to, gone back to and dropped; old or new, whatever happens."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from grafting import graft
from patience import WAIT_SECONDS
from sample_records import add, sample
from two_tenants import OURS, assert_sound, fill, opened, world_at
from world import World

from holdfast.connection import LocalConnection
from holdfast.core.errors import DataDamaged, Fault, Restoring, StorageFailed
from holdfast.core.model import CleanText
from holdfast.intake.remember import MemoryDraft, remember
from holdfast.ops.registry import BY_NAME
from holdfast.serve.background.vector_worker import VectorWorker
from holdfast.store.data_folder import DATABASE, MADE, DataFolder
from holdfast.store.port import Store, Tx
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.frozen_store import FrozenFile
from holdfast.store.tables import MEMORIES

pytestmark = pytest.mark.real_disk


@pytest.fixture
def world(quick_folder: Path) -> Iterator[World]:
    made = world_at(quick_folder / "memory")
    yield made
    made.close()


@pytest.fixture
def folder(world: World) -> DataFolder:
    return world.engine.folder


def restore(world: World, captured: Path) -> str:
    """The flow's steps as a restore takes them."""

    def build(live: FrozenFile) -> str:
        building = world.engine.folder.new_generation()
        (building / DATABASE).write_bytes(captured.read_bytes())
        graft(building / DATABASE, live.path, OURS.tenant)
        return world.engine.folder.finish(building)

    return world.engine.exchange(build, OURS.tenant)


def undo(world: World) -> str:
    previous = world.engine.folder.previous()
    assert previous is not None

    def build(live: FrozenFile) -> str:
        live.give_back(previous, OURS.tenant)
        return previous

    return world.engine.exchange(build, OURS.tenant)


def remembered(world: World) -> list[str]:
    return [one.content for one in world.engine.store.read().find(MEMORIES, OURS.tenant, order="seq")]


def holds(world: World, word: str) -> bool:
    return bool(world.engine.store.read().words(MEMORIES, OURS.tenant, [word], (), 5).hits)


# The folder


def test_a_generation_is_nobodys_before_it_is_finished(folder: DataFolder) -> None:
    building = folder.new_generation()
    assert (building.name, building.stat().st_mode & 0o777) == (".gen-000002", 0o700)
    assert folder.generations() == ["gen-000001"]
    assert folder.new_generation().name == ".gen-000003"
    (building / DATABASE).write_bytes(b"x")
    assert folder.finish(building) == "gen-000002"
    assert {one.stat().st_mode & 0o777 for one in (folder.home / "gen-000002").iterdir()} == {0o600}
    assert sorted(one.name for one in (folder.home / "gen-000002").iterdir()) == [MADE, DATABASE]
    assert folder.generations() == ["gen-000001", "gen-000002"]
    assert folder.current() == "gen-000001"


def test_what_is_given_up_is_removed_and_nothing_else_is(folder: DataFolder) -> None:
    building, kept = folder.new_generation(), folder.new_generation()
    (building / DATABASE).write_bytes(b"x")
    for _ in range(2):
        folder.abandon(building)
        assert not building.exists()
    name = folder.finish(kept)
    folder.abandon(kept)  # it has another name now
    folder.abandon(folder.home / name)
    assert folder.generations() == ["gen-000001", name]


def test_numbers_are_never_given_again_while_anything_remembers_them(folder: DataFolder) -> None:
    folder.switch(folder.finish(folder.new_generation()))
    folder.switch("gen-000001")
    (folder.home / "gen-000002" / MADE).unlink()
    (folder.home / "gen-000002").rmdir()
    assert folder.new_generation().name == ".gen-000003"


def test_every_file_of_a_generation_is_synced_before_it_gets_its_name(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    building = folder.new_generation()
    (building / "deep").mkdir()
    for name in (DATABASE, "deep/one"):
        (building / name).write_bytes(b"x")
    steps: list[str] = []
    sync, rename = os.fsync, Path.rename

    def noted(handle: int) -> None:
        steps.append(os.readlink(f"/proc/self/fd/{handle}").removeprefix(str(folder.home)))
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "rename", renamed)
    folder.finish(building)
    before, after = steps[: steps.index("rename")], steps[steps.index("rename") + 1 :]
    names = ("", f"/{DATABASE}", f"/{MADE}", "/deep", "/deep/one")
    assert set(before) == {f"/.gen-000002{name}" for name in names}
    assert after == [""]


def test_undo_goes_back_to_where_the_last_switch_came_from(folder: DataFolder) -> None:
    assert folder.previous() is None
    for _ in range(3):
        folder.switch(folder.finish(folder.new_generation()))
    assert (folder.current(), folder.previous()) == ("gen-000004", "gen-000003")
    folder.switch("gen-000003")
    assert folder.previous() == "gen-000004"  # and undoing the undo is possible
    folder.switch("gen-000003")  # to where it is: nothing changes
    assert folder.previous() == "gen-000004"


def test_a_switch_that_did_not_happen_leaves_the_way_back_as_it_was(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        folder.switch(folder.finish(folder.new_generation()))
    third = folder.finish(folder.new_generation())
    with monkeypatch.context() as patched:
        patched.setattr(DataFolder, "point_back", lambda *_: pytest.fail("killed here"))
        with suppress(pytest.fail.Exception):
            folder.switch(third)
    assert (folder.current(), folder.previous()) == ("gen-000003", "gen-000002")


def test_a_generation_that_does_not_exist_is_never_pointed_to(folder: DataFolder) -> None:
    for name in ("gen-000009", "../elsewhere", "", ".gen-000002", "gen-000001/../gen-000001"):
        with pytest.raises(DataDamaged):
            folder.switch(name)
    assert folder.current() == "gen-000001"


def test_old_generations_go_but_never_the_live_one_nor_the_way_back(folder: DataFolder) -> None:
    for _ in range(5):
        folder.switch(folder.finish(folder.new_generation()))
    folder.switch("gen-000002")
    assert folder.previous() == "gen-000006"
    assert folder.drop_old(3) == ["gen-000001", "gen-000003"]
    assert folder.drop_old(1) == ["gen-000004", "gen-000005"]
    assert folder.drop_old(0) == []
    assert folder.generations() == ["gen-000002", "gen-000006"]
    assert (folder.current(), folder.previous()) == ("gen-000002", "gen-000006")
    assert list(folder.home.glob(".gen*")) == []


def test_without_a_way_back_as_many_stay_as_were_asked_for(folder: DataFolder) -> None:
    for _ in range(3):
        folder.finish(folder.new_generation())
    assert folder.drop_old(1) == ["gen-000002", "gen-000003"]
    assert folder.generations() == ["gen-000001", "gen-000004"]


def test_what_a_dead_process_left_is_removed_at_the_next_start(quick_folder: Path) -> None:
    home = quick_folder / "memory"
    world_at(home).close()
    for name in (".gen-000002", ".gen-000001-old"):
        (home / name / "deep").mkdir(parents=True)
        (home / name / "deep" / "file").write_bytes(b"x")
    others = [home / ".gen-x", home / ".generation"]
    for other in others:
        other.mkdir()
    world_at(home).close()
    assert sorted(one.name for one in home.glob(".*")) == [".gen-x", ".generation"]


def test_a_damaged_note_of_switches_only_costs_the_way_back(folder: DataFolder) -> None:
    folder.switch(folder.finish(folder.new_generation()))
    (folder.home / "PREVIOUS").write_bytes(b"\xff\xfe ../../etc gen-000002\ngen-000001\n")
    assert folder.previous() is None
    assert folder.new_generation().name == ".gen-000003"


# The exchange


def test_a_restore_brings_back_the_past_and_undo_the_present(world: World, quick_folder: Path) -> None:
    fill(world, OURS, "amber")
    past = remembered(world)
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    fill(world, OURS, "basalt")
    present = remembered(world)
    for _ in range(2):  # restoring twice works
        restore(world, captured)
        assert remembered(world) == past
        assert holds(world, "amber3")
        assert not holds(world, "basalt3")
        assert world.engine.store.verify() == []
    restore(world, captured)
    undo(world)
    assert remembered(world) == past
    world.engine.exchange(lambda _: "gen-000001", OURS.tenant)
    assert remembered(world) == present
    assert holds(world, "basalt3")


def test_a_store_that_nobody_reads_any_more_is_let_go(world: World, quick_folder: Path) -> None:
    """Its codes and words take as much memory as those of the live one, its open files keep a dropped generation."""
    fill(world, OURS, "amber")
    assert holds(world, "amber3")
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    old = world.engine.store
    parts = [weakref.ref(part) for part in (old, old._codes, old._commits, old._index, old._compactor)]
    del old
    gc.disable()  # it would find them sooner or later
    try:
        restore(world, captured)
        assert [part() for part in parts] == [None] * len(parts)
    finally:
        gc.enable()


def test_the_live_store_is_another_after_a_restart_too(quick_folder: Path) -> None:
    world = world_at(quick_folder / "memory")
    fill(world, OURS, "amber")
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    fill(world, OURS, "basalt")
    restore(world, captured)
    kept = world.call("remember", OURS, content="cobalt came after the restore")["memory"]["id"]
    world.close()
    world = world_at(quick_folder / "memory")
    assert kept in world.found("cobalt", OURS)
    assert not holds(world, "basalt3")
    undo(world)
    assert holds(world, "basalt3")
    world.close()
    names = sorted(one.name for one in (quick_folder / "memory" / "gen-000002").iterdir())
    assert names == [MADE, DATABASE]  # its log was folded in by the last who left


def test_numbers_go_on_after_every_exchange(world: World, quick_folder: Path) -> None:
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    last = 0
    for step in (lambda: restore(world, captured), lambda: undo(world), lambda: undo(world)):
        fill(world, OURS, f"amber{last}")
        last = world.engine.store.last_seq()
        step()
        assert world.engine.store.last_seq() >= last
        assert add(world.engine.store, MEMORIES, f"x{last}").seq > last


def test_whoever_began_with_the_old_store_reads_on_and_is_refused_to_write(world: World, quick_folder: Path) -> None:
    fill(world, OURS, "amber")
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    fill(world, OURS, "basalt")
    ctx, old = world.context(OURS), world.engine.store
    reader = old.read()
    stream = reader.each(MEMORIES, OURS.tenant)
    first = next(stream)
    with old.snapshot() as still:
        restore(world, captured)
        count = still.count(MEMORIES, OURS.tenant)
        assert count == reader.count(MEMORIES, OURS.tenant) == 1 + len(list(stream)) > len(remembered(world))
    assert old.read().get(MEMORIES, OURS.tenant, first.id) == first
    assert old.read().words(MEMORIES, OURS.tenant, ["basalt3"], (), 5).hits  # not looked at before
    assert old.verify() == []
    for _ in range(2):
        with pytest.raises(Restoring) as refused:
            remember(ctx, MemoryDraft(CleanText("lost"), CleanText("fact")))
        assert refused.value.retryable
    assert old.failure() is None
    with pytest.raises(Restoring):
        old.compact_words(least=1)
    assert world.call("remember", OURS, content="a new desk writes")["memory"]


def test_a_write_that_runs_is_waited_for_and_is_what_the_next_generation_is_built_from(world: World) -> None:
    store, inside, go = world.engine.store, threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)
        tx.add(MEMORIES, sample(MEMORIES, "slow", tx.next_seq(OURS.tenant), tenant=OURS.tenant))

    writer = threading.Thread(target=store.write, args=(slow,))
    writer.start()
    assert inside.wait(WAIT_SECONDS)
    seen: list[int] = []

    def build(live: FrozenFile) -> str:
        seen.append(opened(live.path).read().count(MEMORIES, OURS.tenant))
        return "gen-000001"

    exchange = threading.Thread(target=world.engine.exchange, args=(build, OURS.tenant))
    exchange.start()
    while not store._commits._retired:  # it has asked; it cannot go on before the write has ended
        pass
    assert seen == []
    go.set()
    writer.join(WAIT_SECONDS)
    exchange.join(WAIT_SECONDS)
    assert seen == [1]


def test_a_write_cannot_wait_for_itself_to_end(world: World) -> None:
    store = world.engine.store
    with pytest.raises(Fault):
        store.write(lambda tx: store.retire())
    assert add(store, MEMORIES, "still taken").id == "still taken"


def test_what_makes_vectors_ends_quietly_when_its_store_is_retired(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    worker = VectorWorker(world.engine)
    world.call("remember", OURS, content="the dolomite shelf carries the maps")
    world.engine.store.retire()
    worker.follow()
    assert caplog.messages == []
    world.engine.store.resume()
    worker.follow()
    assert world.engine.store.read().pending() == 0


@pytest.mark.parametrize("broken", ["build", "missing", "empty", "no database", "damaged", "too new"])
def test_a_failed_exchange_leaves_the_live_store_as_it_was(world: World, broken: str) -> None:
    ids = fill(world, OURS, "amber")
    folder = world.engine.folder

    def build(live: FrozenFile) -> str:
        if broken == "build":
            raise StorageFailed("restore: the disk failed")
        if broken == "missing":
            return "gen-000077"
        building = folder.new_generation()
        data = {
            "no database": b"none" * 4_000,
            "damaged": b"SQLite format 3\x00" + b"\xff" * 9_000,
            "too new": b"",
            "empty": b"",
        }
        (building / DATABASE).write_bytes(data[broken])
        if broken == "too new":
            apsw.Connection(str(building / DATABASE)).execute("PRAGMA user_version = 99").fetchall()
        return folder.finish(building)

    with pytest.raises(Fault):
        world.engine.exchange(build, OURS.tenant)
    assert folder.current() == "gen-000001"
    assert folder.previous() is None
    assert world.call("remember", OURS, content="resume automatically")["memory"]
    assert holds(world, "amber3")
    assert ids[0] in [one.id for one in world.engine.store.read().find(MEMORIES, OURS.tenant)]
    assert world.engine.store.verify() == []


@pytest.mark.parametrize("name", ["open", "fsync", "replace"])
def test_a_pointer_that_cannot_be_written_leaves_the_old_store_live_or_stops_writing(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whichever step of the switch fails: never is a write acknowledged that the next start would not find."""
    outcomes: set[str] = set()
    for fails_at in range(100):
        world = world_at(quick_folder / "memory", chance=1000 * fails_at)
        with monkeypatch.context() as patched:
            outcome = _switch_with(world, lambda: _fail(patched, name, fails_at))  # noqa: B023 - called at once
        kept = _try_to_keep(world, f"amber{fails_at} is remembered")
        outcomes |= {outcome, "kept" if kept else "stopped"}
        world.close()
        world = world_at(quick_folder / "memory")
        assert kept is None or kept in [one.id for one in world.engine.store.read().find(MEMORIES, OURS.tenant)]
        world.close()
        if outcome == "new":
            break
    # Only what comes after the rename, the sync of the folder, leaves it open what the disk holds.
    assert outcomes == {"old", "new", "kept", *(["stopped"] if name != "replace" else [])}


def _switch_with(world: World, break_something: Callable[[], None]) -> str:
    """Which generation is live after a switch in which something broke."""
    folder = world.engine.folder
    building = folder.new_generation()
    capture_store(world.engine.store.path, building / DATABASE, OURS.tenant)
    graft(building / DATABASE, world.engine.store.path, OURS.tenant)
    target, before = folder.finish(building), folder.current()
    break_something()
    try:
        world.engine.exchange(lambda _: target, OURS.tenant)
    except Fault:
        assert folder.current() == before
        return "old"
    return "new"


def _try_to_keep(world: World, text: str) -> str | None:
    try:
        return str(world.call("remember", OURS, content=text)["memory"]["id"])
    except StorageFailed:
        return None


def _fail(patched: pytest.MonkeyPatch, name: str, fails_at: int) -> None:
    true, calls = getattr(os, name), iter(range(10_000))

    def failing(*args: Any, **more: Any) -> Any:
        if next(calls) == fails_at:
            raise OSError(5, "Input/output error")
        return true(*args, **more)

    patched.setattr(os, name, failing)


def test_searches_that_were_counted_for_the_old_store_are_forgotten(world: World, quick_folder: Path) -> None:
    fill(world, OURS, "amber")
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    assert world.found("amber3", OURS)
    restore(world, captured)
    assert world.engine.recalls.take() == {}


def test_vectors_are_made_for_the_new_store(world: World, quick_folder: Path) -> None:
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    worker, connection = VectorWorker(world.engine), LocalConnection(world.engine, OURS)
    worker.follow()
    connection.call(BY_NAME["search"], {"query": "anything"})
    restore(world, captured)
    world.call("remember", OURS, content="the dolomite shelf carries the maps")
    assert world.engine.store.read().pending() == 1
    worker.follow()
    assert world.engine.store.read().pending() == 0
    world.call("remember", OURS, content="the emerald lamp stands by the window")
    connection.call(BY_NAME["search"], {"query": "emerald"})
    assert world.engine.store.read().pending() == 0
    assert world.engine.store.verify() == []


def test_every_acknowledged_write_is_in_the_generation_that_was_live_then(world: World, quick_folder: Path) -> None:
    """Threads write and search all the time, while generations are exchanged and gone back to."""
    fill(world, OURS, "amber")
    captured = quick_folder / "captured.db"
    capture_store(world.engine.store.path, captured, OURS.tenant)
    load = Load(world)
    at_the_switch: list[tuple[Store, int]] = []

    def noted(step: Callable[[FrozenFile], str]) -> Callable[[FrozenFile], str]:
        def build(live: FrozenFile) -> str:
            store = world.engine.store
            before = opened_count(live.path)
            with load.lock:
                at_the_switch.append((store, len(load.kept[store])))
            name = step(live)
            assert opened_count(live.path) == before  # it stood still
            return name

        return build

    def copy(live: FrozenFile) -> str:
        building = world.engine.folder.new_generation()
        (building / DATABASE).write_bytes(captured.read_bytes())
        graft(building / DATABASE, live.path, OURS.tenant)
        return world.engine.folder.finish(building)

    def back(live: FrozenFile) -> str:
        previous = world.engine.folder.previous()
        assert previous is not None
        live.give_back(previous, OURS.tenant)
        return previous

    with load:
        for number in range(8):
            load.until_kept(25)
            world.engine.exchange(noted(back if number % 3 == 2 else copy), OURS.tenant)
        load.until_kept(25)
    assert load.unexpected == []
    assert load.refused > 0
    assert len({path for path in (store.path for store in load.kept)}) >= 3
    for store, ids in load.kept.items():
        reader = opened(store.path).read()
        have = {one.id for one in reader.find(MEMORIES, OURS.tenant)}
        assert [id for id in ids if id not in have] == []
    for store, count in at_the_switch:
        later = len(load.kept[store]) - count
        assert later <= load.threads  # told to its thread just after it was durable; none began any more
    for name in world.engine.folder.generations():
        if name != world.engine.folder.current():
            assert_sound(world.engine.folder.home / name / DATABASE)
    assert world.engine.store.verify() == []


def opened_count(path: Path) -> int:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(db.execute("SELECT count(*) FROM memories").get)
    finally:
        db.close()


class Load:
    """Threads that remember and search, and note what was acknowledged in which store."""

    threads = 4

    def __init__(self, world: World):
        self._world = world
        self._stop = threading.Event()
        self.lock = threading.Condition()
        self.kept: dict[Any, list[str]] = defaultdict(list)
        self.refused = 0
        self.unexpected: list[BaseException] = []
        self._running = [threading.Thread(target=self._write, args=(number,)) for number in range(self.threads)]
        self._running += [threading.Thread(target=self._search) for _ in range(2)]

    def __enter__(self) -> Load:
        for thread in self._running:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._running:
            thread.join(WAIT_SECONDS)

    def until_kept(self, more: int) -> None:
        with self.lock:
            have = self._count()
            assert self.lock.wait_for(lambda: self._count() >= have + more or self.unexpected, WAIT_SECONDS)

    def _count(self) -> int:
        return sum(map(len, self.kept.values()))

    def _write(self, thread: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            ctx = self._world.context(OURS)
            text = f"quartz{thread}x{number} of writer{thread} number{number} was seen"
            try:
                id = remember(ctx, MemoryDraft(CleanText(text), CleanText("fact"))).memory.id
                with self.lock:
                    self.kept[ctx.store].append(id)
                    self.lock.notify_all()
            except Restoring:
                self.refused += 1
            except BaseException as error:  # noqa: BLE001 - any other kind is what the test looks for
                self.unexpected.append(error)

    def _search(self) -> None:
        while not self._stop.is_set():
            try:
                assert self._world.found("amber3 harbour", OURS)
                assert len(remembered(self._world)) >= 10
            except BaseException as error:  # noqa: BLE001 - as above
                self.unexpected.append(error)
