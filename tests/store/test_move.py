"""`holdfast move`: everything arrives, nothing of the source changes, and a killed move is finished by the same command."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hashing_embedder import HashingEmbedder
from postgres_server import as_admin, copy_rows, give_back, new_schema, server_url
from world import World, running

from holdfast.cli.commands import move as command
from holdfast.cli.main import main
from holdfast.core.errors import Conflict, DataDamaged, DataLocked, InvalidRequest, NotFound, StoreUnreachable
from holdfast.core.model import Caller
from holdfast.store.data_folder import DataFolder
from holdfast.store.postgres import move as database
from holdfast.store.postgres.move import DatabaseSource, DatabaseTarget
from holdfast.store.sqlite.move.folder_move import FolderSource, FolderTarget
from holdfast.store.sqlite.move.whole_tenant import Assembly

Copied = Callable[[str], tuple[str, str, dict[str, Any]]]

ANN, BOB = Caller(tenant="ann"), Caller(tenant="bob")
TENANTS = (Caller(), ANN, BOB)
TEXTS = ("the amber cabinet holds the spare keys", "the ferry leaves at noon", "basalt columns line the northern shore")


def opened(store: str, folder: Path) -> World:
    """The memory at an address; a database needs a folder of its server."""
    if store.startswith("postgresql"):
        return World(folder / "server", chance=7_000_000, model=HashingEmbedder(), store=store)
    return World(Path(store), chance=7_000_000, model=HashingEmbedder())


@dataclass(frozen=True)
class Filled:
    """A memory that was filled once for all tests, on each engine, and what callers see of it."""

    home: Path
    url: str
    seen: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def filled() -> Iterator[Filled]:
    with tempfile.TemporaryDirectory(prefix="holdfast-test-") as name:
        folder = Path(name)
        home, url = folder / "memory", new_schema()
        yield Filled(
            home, url, {engine: fill(store, folder) for engine, store in (("there", str(home)), ("back", url))}
        )
        give_back(url)


@pytest.fixture
def copied(filled: Filled, quick_folder: Path, url: str) -> Copied:
    """A source with that memory, a target without, and what callers see of the source."""

    def make(way: str) -> tuple[str, str, dict[str, Any]]:
        home = quick_folder / "memory"
        if way == "there":
            shutil.copytree(filled.home, home)
            return str(home), url, filled.seen[way]
        copy_rows(filled.url, url)
        return url, str(home), filled.seen[way]

    return make


def fill(store: str, folder: Path) -> dict[str, Any]:
    """Three tenants with records of several kinds, tokens, an answer that is kept, counts and vectors."""
    world = opened(store, folder)
    try:
        for caller in TENANTS:
            for text in TEXTS:
                world.call("remember", caller, content=f"{text} of {caller.tenant}", project="proj")
            first = world.found("amber cabinet", caller)[0]
            world.call("evolve", caller, memoryId=first, newContent=f"the amber cabinet of {caller.tenant} is empty")
            world.call("lesson_save", caller, content=f"oil the hinges of {caller.tenant}")
            world.call("token_create", caller, name=f"token of {caller.tenant}")
        world.follow()
        world.found("ferry noon", ANN)
        counts = world.engine.recalls.take()
        world.engine.store.write(lambda tx: tx.add_recalls(counts, 1))
        return contents(world)
    finally:
        world.close()


def contents(world: World) -> dict[str, Any]:
    """What callers see."""
    seen: dict[str, Any] = {}
    for caller in TENANTS:
        seen[caller.tenant] = (
            sorted(one["content"] for one in world.call("memories", caller)["memories"]),
            sorted((one["id"], one["name"]) for one in world.call("token_list", caller)["tokens"]),
            [world.found(query, caller) for query in ("amber cabinet", "ferry noon", "basalt", "hinges")],
        )
    assert world.engine.store.verify() == []
    return seen


def read(store: str, folder: Path) -> dict[str, Any]:
    world = opened(store, folder)
    try:
        return contents(world)
    finally:
        world.close()


def move(source: str, target: str, *words: str) -> int:
    return main(["move", "--from", source, "--to", target, *words, "--json"])


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The answer of a move, or its fault."""

    def run(*words: str) -> Any:
        capsys.readouterr()
        code = move(*words)
        out, err = capsys.readouterr()
        return json.loads(err if code else out)

    return run


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder, its bytes and when it was written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def rows_of(url: str) -> dict[str, int]:
    with psycopg.connect(as_admin(url)) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        return {name: db.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0] for (name,) in names}


# There and back


def test_everything_goes_to_postgresql_and_the_source_is_not_touched(
    quick_folder: Path, copied: Copied, answer: Callable[..., Any]
) -> None:
    home, url, seen = copied("there")
    before = tree(Path(home))
    report = answer(home, url)
    assert (report["tenants"], report["unchanged"], report["verified"]) == (3, 0, True)
    assert report["records"]["tokens"] == 3
    assert report["records"]["vectors"] > 0
    assert report["records"]["recalls"] > 0
    assert tree(Path(home)) == before
    assert read(url, quick_folder) == seen


def test_everything_comes_back_though_tenants_have_the_same_numbers(
    quick_folder: Path, copied: Copied, answer: Callable[..., Any]
) -> None:
    url, home, seen = copied("back")
    before = rows_of(url)
    assert answer(url, home)["tenants"] == 3
    assert rows_of(url) == before
    assert read(home, quick_folder) == seen


def test_a_move_there_and_back_gives_the_same_memory(
    quick_folder: Path, copied: Copied, other_url: str, answer: Callable[..., Any]
) -> None:
    home, url, seen = copied("there")
    back = str(quick_folder / "back")
    for source, target in ((home, url), (url, other_url), (other_url, back)):
        assert answer(source, target)["verified"]
    assert read(back, quick_folder) == seen


def test_a_token_of_the_source_opens_the_target(quick_folder: Path, url: str, answer: Callable[..., Any]) -> None:
    world = World(quick_folder / "memory")
    good, gone = world.call("token_create", name="agent"), world.call("token_create", name="former")
    world.call("token_revoke", id=gone["record"]["id"])
    world.close()
    answer(str(quick_folder / "memory"), url)
    with running(quick_folder / "server", store=url, secret="of the server") as client:
        for token, status in ((good["token"], 200), (gone["token"], 401)):
            asked = client.get("/agentmemory/memories", headers={"Authorization": f"Bearer {token}"})
            assert asked.status_code == status


def test_events_that_wait_for_the_broker_go_along(quick_folder: Path, url: str, answer: Callable[..., Any]) -> None:
    world = World(quick_folder / "memory", nats_url="nats://127.0.0.1:1")
    for caller in TENANTS:
        world.call("remember", caller, content=TEXTS[0])
    bodies = [one.body for one in world.engine.store.read().dispatches(100)]
    world.close()
    assert bodies
    answer(str(quick_folder / "memory"), url)
    answer(url, str(quick_folder / "back"))
    back = World(quick_folder / "back", nats_url="nats://127.0.0.1:1")
    try:
        assert sorted(one.body for one in back.engine.store.read().dispatches(100)) == sorted(bodies)
    finally:
        back.close()


def test_what_a_killed_server_left_in_its_log_is_moved(quick_folder: Path, url: str) -> None:
    home = quick_folder / "memory"
    World(home).close()
    database = DataFolder(home).database()
    db = sqlite3.connect(database)
    try:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        db.execute("INSERT INTO events (tenant, agent, kind, body) VALUES ('default', NULL, 'mutated', '{}')")
        db.commit()
        assert database.with_name("memory.db-wal").stat().st_size
        assert move(str(home), url) == 0
    finally:
        db.close()
    with psycopg.connect(as_admin(url)) as other:
        assert other.execute("SELECT body FROM events").fetchall() == [("{}",)]


# Preview, and what is refused


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_dry_run_writes_nothing(quick_folder: Path, copied: Copied, answer: Callable[..., Any], way: str) -> None:
    source, target, _ = copied(way)
    files = set(quick_folder.rglob("*"))
    preview = answer(source, target, "--dry-run")
    assert [(one["tenant"], one["change"]) for one in preview["tenants"]] == [
        ("ann", "new"), ("bob", "new"), ("default", "new")
    ]  # fmt: skip
    assert all(one["records"] > 4 for one in preview["tenants"])
    assert set(quick_folder.rglob("*")) == files
    if way == "there":
        assert not rows_of(target).get("memories")


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_target_with_another_memory_is_replaced_only_with_yes(
    quick_folder: Path, copied: Copied, answer: Callable[..., Any], way: str
) -> None:
    source, target, seen = copied(way)
    world = opened(target, quick_folder)
    world.call("remember", ANN, content="kept before the move")
    world.close()
    planned = {one["tenant"]: one["change"] for one in answer(source, target, "--dry-run")["tenants"]}
    assert planned == {"ann": "replaced", "bob": "new", "default": "new"}
    refused = answer(source, target)
    assert refused["code"] == Conflict.code
    assert "ann" in refused["error"]
    world = opened(target, quick_folder)
    assert [one["content"] for one in world.call("memories", ANN)["memories"]] == ["kept before the move"]
    world.close()
    assert answer(source, target, "--yes")["tenants"] == 3
    assert read(target, quick_folder) == seen


def test_a_tenant_of_the_target_alone_is_never_removed(
    quick_folder: Path, url: str, answer: Callable[..., Any]
) -> None:
    home = str(quick_folder / "memory")
    fill(home, quick_folder)
    world = opened(url, quick_folder)
    world.call("remember", Caller(tenant="eve"), content="only here")
    world.close()
    refused = answer(home, url, "--yes")
    assert refused["code"] == Conflict.code
    assert "eve" in refused["error"]


def test_moving_again_moves_nothing(copied: Copied, answer: Callable[..., Any]) -> None:
    home, url, _ = copied("there")
    answer(home, url)
    before = rows_of(url)
    assert answer(home, url)["unchanged"] == 3
    assert rows_of(url) == before


def test_a_folder_that_is_served_is_not_moved(quick_folder: Path, url: str, answer: Callable[..., Any]) -> None:
    world = World(quick_folder / "memory")
    try:
        assert answer(str(quick_folder / "memory"), url)["code"] == DataLocked.code
    finally:
        world.close()


def test_a_source_that_is_written_to_meanwhile_is_noticed(
    quick_folder: Path, copied: Copied, other_url: str, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _, _ = copied("back")
    put = DatabaseTarget.put

    def late(self: DatabaseTarget, file: Path, tenant: str) -> None:
        put(self, file, tenant)
        if tenant == "bob":
            world = opened(url, quick_folder)
            world.call("remember", ANN, content="written during the move")
            world.close()

    monkeypatch.setattr(DatabaseTarget, "put", late)
    refused = answer(url, other_url)
    assert refused["code"] == Conflict.code
    assert "ann" in refused["error"]
    monkeypatch.setattr(DatabaseTarget, "put", put)
    assert answer(url, other_url, "--yes")["unchanged"] == 2
    assert read(other_url, quick_folder) == read(url, quick_folder)


def test_a_damaged_source_is_refused(copied: Copied, other_url: str, answer: Callable[..., Any]) -> None:
    url, _, _ = copied("back")
    with psycopg.connect(as_admin(url)) as db:
        db.execute("UPDATE memories SET content = 'forged' WHERE tenant = 'bob'")
    assert answer(url, other_url)["code"] == DataDamaged.code


@pytest.mark.parametrize(
    ("source", "target", "fault"),
    [
        ("{folder}/nothing", "{url}", NotFound),
        ("{url}", "{folder}/new", NotFound),
        ("{folder}/memory", "{folder}/./memory", InvalidRequest),
        ("{folder}/memory", "postgresql://ada:hunter2@127.0.0.1:1/none?connect_timeout=2&password=hunter2", StoreUnreachable),
        ("postgresql://ada:hunter2@127.0.0.1:1/none?connect_timeout=2", "{folder}/new", StoreUnreachable),
    ],
)  # fmt: skip
def test_wrong_addresses_are_refused_without_their_passwords(
    quick_folder: Path, capsys: pytest.CaptureFixture[str], source: str, target: str, fault: type[Exception]
) -> None:
    World(quick_folder / "memory").close()
    names = {"folder": quick_folder, "url": f"{server_url()}&options=-c%20search_path%3Dno_such_schema"}
    code = move(source.format(**names), target.format(**names))
    out, err = capsys.readouterr()
    assert code == fault.exit_code  # type: ignore[attr-defined]
    assert "hunter2" not in out + err
    assert json.loads(err)["hint"]


def test_an_address_is_shown_without_its_password() -> None:
    given = "postgresql://ada:hunter2@db1,db2:5433/notes?password=hunter2&sslmode=require"
    assert command.shown(given) == "postgresql://ada@db1,db2:5433/notes"
    assert command.shown("postgresql:///notes") == "postgresql:///notes"


# Killed

# Each with the number of times that it is passed before the kill.
THERE = {"capture": 1, "captured": 1, "inside put": 1, "after put": 1, "complete": 0, "after finish": 0}
BACK = {"captured": 1, "inside put": 1, "complete": 0, "finish": 0, "inside finish": 0, "after finish": 0}
POINTS = [*(("there", *point) for point in THERE.items()), *(("back", *point) for point in BACK.items())]


def _killed_at(point: str, passes: int, source: str, target: str, scratch: str) -> None:
    """Move, and end at a point without any cleaning up."""
    tempfile.tempdir = scratch
    left = passes + 1

    def reach(name: str) -> None:
        nonlocal left
        left -= name == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(owner: Any, name: str, before: str, after: str) -> None:
        inner = getattr(owner, name)

        def called(*args: Any, **more: Any) -> Any:
            reach(before)
            result = inner(*args, **more)
            reach(after)
            return result

        setattr(owner, name, called)

    for origin in (DatabaseSource, FolderSource):
        around(origin, "capture", "capture", "captured")
    for place in (DatabaseTarget, FolderTarget):
        around(place, "put", "put", "after put")
        around(place, "complete", "complete", "")
        around(place, "finish", "finish", "after finish")
    around(database, "load", "", "inside put")
    around(Assembly, "_hold", "", "inside put")
    around(DataFolder, "finish", "", "inside finish")
    move(source, target)


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Processes that need not load everything anew."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["test_move"])
    return context


@pytest.mark.parametrize(("way", "point", "passes"), POINTS)
def test_a_move_that_is_killed_is_finished_by_the_same_command(
    quick_folder: Path, copied: Copied, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch,
    processes: ForkServerContext, way: str, point: str, passes: int,
) -> None:  # fmt: skip
    source, target, seen = copied(way)
    child = processes.Process(target=_killed_at, args=(point, passes, source, target, str(quick_folder)))
    child.start()
    child.join()
    monkeypatch.setattr(tempfile, "tempdir", str(quick_folder))
    assert child.exitcode == -signal.SIGKILL
    assert answer(source, target)["verified"]
    assert read(target, quick_folder) == seen
    assert not list(quick_folder.rglob("*move*"))
