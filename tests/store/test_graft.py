"""Graft: a restored store becomes a generation, sound, with nothing lost that is not the tenant's memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from grafting import graft
from two_tenants import EMBEDDER, OURS, THEIRS, assert_sound, contents, fill, nearest, opened, token, world_at
from world import NOON, World

from holdfast.core.errors import Conflict, DataDamaged, DataTooNew, Fault
from holdfast.core.model import Caller
from holdfast.store.port import Condition
from holdfast.store.sqlite import database
from holdfast.store.sqlite.database import migration_steps
from holdfast.store.sqlite.files import copy_rows, graft as grafting
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.graft import rejoin
from holdfast.store.tables import ANSWERS, AUDIT, MEMORIES, OBSERVATIONS, SESSIONS, TOKENS

pytestmark = pytest.mark.quick


@pytest.fixture
def world(quick_folder: Path) -> Iterator[World]:
    made = world_at(quick_folder / "memory")
    yield made
    made.close()


@pytest.fixture
def restored(quick_folder: Path) -> Path:
    return quick_folder / "restored.db"


def live(world: World) -> Path:
    return world.engine.folder.database()


def copied(source: Path, into: Path) -> None:
    """The whole file with its log, as nobody captures it."""
    db, copy = apsw.Connection(str(source)), apsw.Connection(str(into))
    with copy.backup("main", db, "main") as backup:
        backup.step(-1)
    copy.close()
    db.close()


def change(path: Path, *statements: str) -> None:
    """Do something to a file behind the store's back."""
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement).fetchall()
    db.close()


def tokens(path: Path, tenant: str) -> dict[str, int | None]:
    store = opened(path)
    try:
        return {one.id: one.revoked_at for one in store.read().find(TOKENS, tenant)}
    finally:
        store.close()


def test_a_restored_memory_is_what_was_captured_and_sound(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    before = contents(live(world), OURS.tenant)
    capture_store(live(world), restored, OURS.tenant)
    fill(world, OURS, "cobalt")
    done = graft(restored, live(world), OURS.tenant)
    assert contents(restored, OURS.tenant) == before
    assert_sound(restored)
    assert dict(done.rows)["memories"] == len(before)
    assert (done.others, done.renamed) == (0, 0)


def test_numbers_of_writes_never_run_backwards(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    capture_store(live(world), restored, OURS.tenant)
    fill(world, OURS, "cobalt")
    last = world.engine.store.last_seq()
    assert graft(restored, live(world), OURS.tenant).last_seq == last
    store = opened(restored)
    assert store.write(lambda tx: tx.next_seq(OURS.tenant)) == last + 1
    store.close()


def test_a_later_snapshot_keeps_its_own_counter_where_the_live_store_is_behind(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    world.engine.store.skip_to(5_000)
    capture_store(live(world), restored, OURS.tenant)
    with_less = restored.with_name("other")
    other = world_at(with_less)
    assert graft(restored, live(other), OURS.tenant).last_seq == 5_000
    other.close()


def test_revoked_tokens_do_not_come_back_and_new_ones_stay(world: World, restored: Path) -> None:
    revoked = token(world, OURS, "old key")
    fill(world, OURS, "amber")
    capture_store(live(world), restored, OURS.tenant)
    world.call("token_revoke", OURS, id=revoked)
    new, theirs = token(world, OURS, "new key"), token(world, THEIRS, "their key")
    graft(restored, live(world), OURS.tenant)
    assert tokens(restored, OURS.tenant) == {revoked: world.clock.now, new: None}
    assert tokens(restored, THEIRS.tenant) == {theirs: None}
    assert_sound(restored)


def test_a_file_that_brings_tokens_and_answers_of_its_own_loses_them(world: World, restored: Path) -> None:
    token(world, OURS, "smuggled")
    fill(world, OURS, "amber")
    copied(live(world), restored)  # not a capture: the whole store, with all it holds
    store = opened(restored)
    assert store.read().count(TOKENS, OURS.tenant) == 1
    store.close()
    graft(restored, None, OURS.tenant)
    assert tokens(restored, OURS.tenant) == {}
    store = opened(restored)
    assert store.read().count(ANSWERS, OURS.tenant) == 0
    store.close()
    assert_sound(restored)


@pytest.mark.parametrize("alone", [True, False], ids=["by pages", "by rows"])
def test_what_waits_to_be_told_stays_where_it_was_made(
    quick_folder: Path, restored: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    """A table of the place that is not one of records, such as events."""
    first = migration_steps()
    table = "CREATE TABLE pigeons (seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, body TEXT NOT NULL) STRICT"
    monkeypatch.setattr(database, "migration_steps", lambda: [*first, table])
    monkeypatch.setattr(copy_rows, "PLACE", (*copy_rows.PLACE, "pigeons"))
    monkeypatch.setattr(grafting, "KEPT_HERE", (*grafting.KEPT_HERE, "pigeons"))
    world = world_at(quick_folder / "memory")
    fill(world, OURS, "amber")
    if not alone:
        fill(world, THEIRS, "basalt")
    change(live(world), f"INSERT INTO pigeons VALUES (1, '{OURS.tenant}', 'told long ago')")
    capture_store(live(world), restored, OURS.tenant)
    assert b"told long ago" not in restored.read_bytes()
    change(live(world), "DELETE FROM pigeons", f"INSERT INTO pigeons VALUES (2, '{OURS.tenant}', 'still waits')")
    graft(restored, live(world), OURS.tenant)
    world.close()
    assert_sound(restored)
    assert apsw.Connection(str(restored)).execute("SELECT seq, body FROM pigeons").fetchall() == [(2, "still waits")]


def test_other_tenants_keep_what_they_have_now(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    fill(world, THEIRS, "basalt")
    capture_store(live(world), restored, OURS.tenant)
    fill(world, THEIRS, "dolomite")
    fill(world, OURS, "cobalt")
    done = graft(restored, live(world), OURS.tenant)
    assert done.others == 1
    assert contents(restored, THEIRS.tenant) == contents(live(world), THEIRS.tenant)
    assert not any("cobalt" in one for one in contents(restored, OURS.tenant))
    assert_sound(restored)
    for tenant, text in ((THEIRS.tenant, "dolomite3 lies in harbour 21"), (OURS.tenant, "amber3 lies in harbour 21")):
        assert nearest(restored, tenant, text)[0] == nearest(live(world), tenant, text)[0]
    store = opened(restored)
    assert store.read().get(ANSWERS, THEIRS.tenant, "dolomite") is not None
    hits = store.read().words(MEMORIES, THEIRS.tenant, ["dolomite5"], (), 5).hits
    assert len(hits) == 1
    store.close()


def test_folded_words_of_others_are_taken_over(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    fill(world, THEIRS, "basalt")
    world.engine.store.compact_words(least=1)
    world.call("evolve", THEIRS, memoryId=fill(world, THEIRS, "dolomite")[1], newContent="dolomite went away")
    capture_store(live(world), restored, OURS.tenant)
    graft(restored, live(world), OURS.tenant)
    assert_sound(restored)


def test_spaces_of_vectors_get_a_number_that_is_free(world: World, quick_folder: Path, restored: Path) -> None:
    """A memory from another machine, whose numbers meet nobody's here but for the number of its space."""
    fill(world, THEIRS, "basalt")
    elsewhere = world_at(quick_folder / "elsewhere", chance=1_000_000)
    elsewhere.engine.store.skip_to(100_000)
    fill(elsewhere, OURS, "amber")
    capture_store(live(elsewhere), restored, OURS.tenant)
    elsewhere.close()
    graft(restored, live(world), OURS.tenant)
    assert_sound(restored)
    store = opened(restored)
    for caller in (OURS, THEIRS):
        assert store.read().with_vector(caller.tenant, EMBEDDER.name) > 0
    store.close()
    spaces = apsw.Connection(str(restored)).execute("SELECT number, tenant FROM vector_spaces ORDER BY 1").fetchall()
    assert spaces == [(1, OURS.tenant), (2, THEIRS.tenant)]


def test_a_memory_from_elsewhere_whose_numbers_are_taken_is_refused(
    world: World, quick_folder: Path, restored: Path
) -> None:
    fill(world, THEIRS, "basalt")
    elsewhere = world_at(quick_folder / "elsewhere", chance=1_000_000)
    fill(elsewhere, OURS, "amber")
    capture_store(live(elsewhere), restored, OURS.tenant)
    elsewhere.close()
    with pytest.raises(Conflict) as refused:
        graft(restored, live(world), OURS.tenant)
    assert "--into" in refused.value.hint


def test_without_other_tenants_a_memory_from_elsewhere_is_welcome(
    world: World, quick_folder: Path, restored: Path
) -> None:
    fill(world, OURS, "cobalt")
    elsewhere = world_at(quick_folder / "elsewhere", chance=1_000_000)
    fill(elsewhere, OURS, "amber")
    want = contents(live(elsewhere), OURS.tenant)
    capture_store(live(elsewhere), restored, OURS.tenant)
    elsewhere.close()
    graft(restored, live(world), OURS.tenant)
    assert contents(restored, OURS.tenant) == want
    assert_sound(restored)


# What is refused


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET content = 'another text' WHERE seq = (SELECT max(seq) FROM memories)",
        "DELETE FROM lessons",
        "UPDATE tallies SET rows = 1 WHERE source = 'seq'",
        "CREATE TRIGGER evil AFTER INSERT ON memories BEGIN DELETE FROM memories; END",
        "CREATE TABLE more (x)",
        "DROP INDEX memories_by_project",
        "INSERT INTO recalls VALUES (1, 'somebody else', 1, 0)",
    ],
)
def test_a_file_that_is_not_what_was_captured_is_refused(world: World, restored: Path, damage: str) -> None:
    fill(world, OURS, "amber")
    capture_store(live(world), restored, OURS.tenant)
    change(restored, damage)
    with pytest.raises(DataDamaged):
        graft(restored, live(world), OURS.tenant)


@pytest.mark.parametrize("table", ["word_rows", "sketches"])
def test_an_index_that_lost_something_is_made_anew(world: World, restored: Path, table: str) -> None:
    """The records are what matters, and they are sound."""
    fill(world, OURS, "amber")
    capture_store(live(world), restored, OURS.tenant)
    change(restored, f"DELETE FROM {table} WHERE seq = (SELECT max(seq) FROM {table})")
    graft(restored, None, OURS.tenant)
    assert_sound(restored)


def test_a_file_with_another_tenants_memory_is_refused(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    fill(world, THEIRS, "basalt")
    copied(live(world), restored)
    for tenant in (OURS.tenant, THEIRS.tenant):
        with pytest.raises(DataDamaged):
            graft(restored, None, tenant)


@pytest.mark.parametrize("bytes_", [b"", b"no database at all" * 300, b"SQLite format 3\x00" + bytes(8_000)])
def test_what_is_no_store_is_refused(restored: Path, bytes_: bytes) -> None:
    restored.write_bytes(bytes_)
    with pytest.raises(Fault) as refused:
        graft(restored, None, OURS.tenant)
    assert refused.value.code in ("data_damaged", "data_too_new")


def test_a_newer_schema_is_refused(world: World, restored: Path) -> None:
    capture_store(live(world), restored, OURS.tenant)
    change(restored, f"PRAGMA user_version = {len(migration_steps()) + 1}")
    with pytest.raises(DataTooNew):
        graft(restored, None, OURS.tenant)


def test_an_older_schema_is_brought_to_this_one(world: World, restored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(world, OURS, "amber")
    capture_store(live(world), restored, OURS.tenant)
    first = migration_steps()
    monkeypatch.setattr(database, "migration_steps", lambda: [*first, "CREATE TABLE second (a TEXT) STRICT"])
    assert graft(restored, None, OURS.tenant).schema == len(first) + 1
    assert_sound(restored)


def test_every_flip_of_a_bit_in_a_record_is_found(world: World, restored: Path) -> None:
    """In the cells of the table's pages, where SQLite itself would notice nothing."""
    world.call("remember", OURS, content="amber lies in the first box")
    capture_store(live(world), restored, OURS.tenant)
    sound = restored.read_bytes()
    at = sound.index(b"amber lies in the first box")
    for bit in range(0, 27 * 8, 5):
        data = bytearray(sound)
        data[at + bit // 8] ^= 1 << bit % 8
        restored.write_bytes(data)
        with pytest.raises(DataDamaged):
            graft(restored, None, OURS.tenant)


# Another agent's memory


def _isolated(home: Path) -> World:
    world = world_at(home, agent_scope="isolated")
    for agent in ("ada", "bob"):
        caller = Caller(tenant=OURS.tenant, agent=agent)
        world.call("session_start", caller, sessionId="shared-name", project="p", cwd="/w")
        world.call(
            "observe", caller, sessionId="shared-name", hookType="notification", timestamp=NOON, data={"message": agent}
        )
        world.call("remember", caller, content=f"the {agent} lantern hangs by the door", sessionIds=["shared-name"])
        world.call("slot_append", caller, label="persona", text=f"{agent} is careful")
        world.call("second_brain_write", caller, file="notes.md", content=f"pages of {agent}")
        world.call("session_commit", caller, sha="abcdef1", sessionId="shared-name", repo="r", message=f"by {agent}")
    world.follow()
    return world


def _known(world: World, agent: str) -> dict[str, object]:
    """What an agent sees of all that it has."""
    caller = Caller(tenant=OURS.tenant, agent=agent)
    return {
        "found": [
            one["id"] for one in world.call("search", caller, query="lantern")["results"] if one["kind"] == "memory"
        ],
        "sessions": [one["id"] for one in world.call("sessions", caller)["sessions"]],
        "observations": len(world.call("observations", caller, sessionId="shared-name")["observations"]),
        "persona": world.call("slot", caller, label="persona")["slot"]["content"],
        "page": world.call("second_brain", caller, file="notes.md")["content"],
        "commits": [one["message"] for one in world.call("commits", caller)["commits"]],
    }


@pytest.mark.parametrize("agent", ["ada", "bob"])  # the second has keys of its own, for the first took the name
def test_another_agent_takes_over_all_that_an_agent_knew(quick_folder: Path, restored: Path, agent: str) -> None:
    world = _isolated(quick_folder / "memory")
    before = _known(world, agent)
    assert len(before["found"]) == 1
    assert (before["observations"], before["commits"]) == (1, [f"by {agent}"])
    capture_store(live(world), restored, OURS.tenant)
    world.close()
    done = graft(restored, None, OURS.tenant, agent=(agent, "zoe"))
    assert done.renamed > 4
    folder = quick_folder / "branch" / "gen-000001"
    folder.mkdir(parents=True)
    shutil.move(restored, folder / "memory.db")
    branch = world_at(quick_folder / "branch", agent_scope="isolated")
    assert branch.engine.store.verify() == []
    assert _known(branch, "zoe") == before
    gone = branch.engine.store.read().find(MEMORIES, OURS.tenant, Condition("agent", "=", agent))
    assert gone == []
    other = "bob" if agent == "ada" else "ada"
    assert _known(branch, other)["persona"] == f"{other} is careful"
    assert branch.engine.store.read().count(AUDIT, OURS.tenant, Condition("agent", "=", agent)) > 0
    assert branch.engine.store.read().count(OBSERVATIONS, OURS.tenant, Condition("agent", "=", "zoe")) > 0
    assert branch.engine.store.read().count(SESSIONS, OURS.tenant, Condition("agent", "=", "zoe")) == 1
    branch.close()


def test_an_agent_cannot_take_over_what_it_has_itself(quick_folder: Path, restored: Path) -> None:
    world = _isolated(quick_folder / "memory")
    capture_store(live(world), restored, OURS.tenant)
    world.close()
    with pytest.raises(Conflict):
        graft(restored, None, OURS.tenant, agent=("ada", "bob"))


# Back to a generation that was live before


def test_going_back_keeps_tokens_and_other_tenants_as_they_are_now(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    fill(world, THEIRS, "basalt")
    revoked = token(world, OURS, "old key")
    copied(live(world), restored)
    fill(world, THEIRS, "dolomite")
    fill(world, OURS, "cobalt")
    world.call("token_revoke", OURS, id=revoked)
    last = world.engine.store.last_seq()
    assert rejoin(restored, live(world), OURS.tenant) == 1
    assert contents(restored, THEIRS.tenant) == contents(live(world), THEIRS.tenant)
    assert not any("cobalt" in one for one in contents(restored, OURS.tenant))
    assert tokens(restored, OURS.tenant) == {revoked: world.clock.now}
    assert_sound(restored)
    store = opened(restored)
    assert store.last_seq() >= last
    assert store.read().get(ANSWERS, OURS.tenant, "amber") is not None
    store.close()


def test_going_back_does_not_bring_back_what_another_tenant_forgot_since(world: World, restored: Path) -> None:
    fill(world, OURS, "amber")
    ids = fill(world, THEIRS, "basalt")
    copied(live(world), restored)
    for id in ids:
        world.call("forget", THEIRS, memoryId=id)
    rejoin(restored, live(world), OURS.tenant)
    assert contents(restored, THEIRS.tenant) == contents(live(world), THEIRS.tenant)
    assert_sound(restored)
