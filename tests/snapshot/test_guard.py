"""Files of other programs: every version is kept, what was removed comes back, and nothing else is taken or written."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st
from world import World

from holdfast.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from holdfast.core.model import Caller

SECRET = "AKIA2E0A8F3B244C9986"
KEY = f"aws_access_key_id = {SECRET}\n"
LINES = "".join(f'{{"type": "user", "n": {number}, "text": "the ferry leaves at noon"}}\n' for number in range(500))


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: named places lie in it."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR", "MEMORY_FILE_PATH"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "memory")
    yield made
    made.close()


@pytest.fixture
def claude(user: Path) -> Path:
    """What Claude Code keeps: a transcript, a note of its own, its instructions, and a credential."""
    folder = user / ".claude"
    (folder / "projects" / "p" / "memory").mkdir(parents=True)
    (folder / "projects" / "p" / "s1.jsonl").write_text(LINES)
    (folder / "projects" / "p" / "memory" / "MEMORY.md").write_text("# Notes\n")
    (folder / "CLAUDE.md").write_text("Be brief.\n")
    (folder / ".credentials.json").write_text('{"accessToken": "x"}')
    (folder / "settings.json").write_text("{}")
    return folder


def later(world: World) -> None:
    world.clock.now += 60_000


def add(world: World, place: Path | str, **arguments: Any) -> Any:
    later(world)
    return world.call("guard_add", place=str(place), **arguments)


def scan(world: World) -> Any:
    later(world)
    return world.call("guard_scan")


def restore(world: World, place: Path | str, **arguments: Any) -> Any:
    later(world)
    return world.call("guard_restore", place=str(place), **arguments)


def kept(world: World, place: Path | str = "claude-code") -> set[str]:
    return {one["path"] for one in world.call("guard_history", place=str(place), limit=10_000)["files"]}


def left(world: World) -> dict[str, str]:
    return {one["path"]: one["reason"] for one in world.call("guard_report", limit=10_000)["left"]}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_agents_memory_is_taken_by_its_name_without_its_credentials_and_settings(world: World, claude: Path) -> None:
    made = add(world, "claude-code")

    assert made["taken"] == 3
    assert kept(world) == {"CLAUDE.md", "projects/p/s1.jsonl", "projects/p/memory/MEMORY.md"}


def test_a_file_that_was_removed_comes_back_byte_for_byte_with_its_mode_and_time(world: World, claude: Path) -> None:
    path = claude / "projects" / "p" / "s1.jsonl"
    path.chmod(0o640)
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    add(world, "claude-code")
    path.unlink()

    assert scan(world)["removed"] == 1
    assert [one["path"] for one in world.call("guard_history", place="claude-code", removed=True)["files"]] == [
        "projects/p/s1.jsonl"
    ]
    done = restore(world, "claude-code", yes=True)

    assert (done["restored"], done["same"]) == (1, 2)
    assert path.read_text() == LINES
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_mtime_ns == 1_700_000_000_123_456_789


def test_every_version_is_kept_and_any_moment_of_a_file_can_be_restored(world: World, claude: Path) -> None:
    path, moments = claude / "CLAUDE.md", []
    add(world, "claude-code")
    for number in range(5):
        path.write_text(f"Rule {number}.\n" * (number + 1))
        scan(world)
        moments.append((world.clock.now, path.read_text()))

    versions = world.call("guard_history", place="claude-code", file="CLAUDE.md")["files"]
    assert len(versions) == 6
    for at, text in moments:
        restore(world, "claude-code", file="CLAUDE.md", at=str(at), yes=True)
        assert path.read_text() == text


def test_a_path_names_the_place_and_the_file_in_it(world: World, claude: Path) -> None:
    add(world, "claude-code")
    (claude / "CLAUDE.md").unlink()
    scan(world)

    restore(world, claude / "CLAUDE.md", yes=True)

    assert (claude / "CLAUDE.md").read_text() == "Be brief.\n"


def test_nothing_is_written_by_a_preview_or_without_a_confirmation(world: World, claude: Path) -> None:
    add(world, "claude-code")
    (claude / "CLAUDE.md").write_text("Other.\n")
    before = tree(claude)

    shown = restore(world, "claude-code", dryRun=True)
    with pytest.raises(InvalidRequest):
        restore(world, "claude-code")

    assert shown["files"][0]["change"] == "replaced"
    assert tree(claude) == before


def test_an_undo_puts_back_what_was_there_and_removes_what_was_not(world: World, claude: Path) -> None:
    add(world, "claude-code")
    (claude / "CLAUDE.md").write_text("Never taken.\n")
    (claude / "projects" / "p" / "s1.jsonl").unlink()
    before = tree(claude)

    restore(world, "claude-code", yes=True)
    assert tree(claude) != before
    world.call("guard_undo", yes=True)

    assert tree(claude) == before
    with pytest.raises(NotFound):
        world.call("guard_undo", yes=True)


def test_secrets_are_not_kept_and_redacted_text_replaces_an_original_only_on_request(
    world: World, claude: Path
) -> None:
    path = claude / "projects" / "p" / "memory" / "MEMORY.md"
    path.write_text(KEY)
    add(world, "claude-code")

    database = (world.engine.path / "guard" / "history.db").read_bytes()
    assert SECRET.encode() not in database
    assert restore(world, "claude-code", dryRun=True)["restored"] == 0, "the original is there: nothing is to be done"
    path.write_text(KEY + "and more\n")
    with pytest.raises(Conflict, match="secrets were removed"):
        restore(world, "claude-code", yes=True)
    assert path.read_text() == KEY + "and more\n"

    restore(world, "claude-code", yes=True, redacted=True)
    assert SECRET not in path.read_text()
    world.call("guard_undo", yes=True)
    assert path.read_text() == KEY + "and more\n", "what was replaced is kept as it was"


def test_a_removed_file_with_secrets_comes_back_without_them_and_the_preview_says_so(
    world: World, claude: Path
) -> None:
    path = claude / "projects" / "p" / "memory" / "MEMORY.md"
    path.write_text(KEY)
    add(world, "claude-code")
    path.unlink()

    shown = restore(world, "claude-code", dryRun=True)["files"]
    restore(world, "claude-code", yes=True)

    assert [(one["change"], one["redacted"]) for one in shown] == [("new", True)]
    assert SECRET not in path.read_text()


def test_without_redaction_a_file_comes_back_as_it_was(world: World, claude: Path) -> None:
    path = claude / "projects" / "p" / "memory" / "MEMORY.md"
    path.write_text(KEY)
    add(world, "claude-code", redact=False)
    path.write_text("gone\n")

    restore(world, "claude-code", yes=True)

    assert path.read_text() == KEY


def test_links_pipes_and_credentials_are_left_out_and_reported(world: World, user: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("not yours\n")
    place = user / "notes"
    (place / "deep").mkdir(parents=True)
    (place / "a.md").write_text("a\n")
    (place / "link.md").symlink_to(outside / "private.md")
    (place / "deep" / "folder").symlink_to(outside)
    os.mkfifo(place / "pipe")
    (place / "id_ed25519").write_text("key\n")
    (place / "deep" / "auth.json").write_text("{}")
    (place / ".git").mkdir()

    add(world, place)

    assert kept(world, place) == {"a.md"}
    assert left(world) == {
        "link.md": "symlink",
        "deep/folder": "symlink",
        "pipe": "not a regular file",
        "id_ed25519": "a credential by its name",
        "deep/auth.json": "a credential by its name",
        ".git": "history of a repository",
    }


def test_names_that_no_bundle_could_hold_are_kept_and_restored(world: World, user: Path) -> None:
    place = user / "notes"
    place.mkdir()
    names = [b"with\nnewline", b"not utf-8 \xff\xfe", b"back\\slash", b"tab\tand \x1b[31m", "e\u0301".encode(), b" "]
    for name in names:
        (Path(os.fsdecode(os.fsencode(place) + b"/" + name))).write_bytes(name)
    add(world, place)
    shutil.rmtree(place)
    place.mkdir()

    restore(world, place, yes=True)

    assert {os.fsencode(one.name): one.read_bytes() for one in place.iterdir()} == {name: name for name in names}


def test_a_file_that_is_too_large_is_reported_and_its_last_version_stays(tmp_path: Path, user: Path) -> None:
    world = World(tmp_path / "memory", guard_file_limit=1_000)
    place = user / "notes"
    place.mkdir()
    (place / "a.md").write_text("small\n")
    (place / "b.md").write_text("b" * 1_001)
    add(world, place)
    (place / "a.md").write_text("a" * 1_001)
    scan(world)

    assert left(world) == {"a.md": "too large", "b.md": "too large"}
    restore(world, place, file="a.md", yes=True)
    assert (place / "a.md").read_text() == "small\n"
    world.close()


def test_a_link_in_the_way_is_never_written_through(world: World, claude: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "s1.jsonl").write_text("mine\n")
    add(world, "claude-code")
    shutil.rmtree(claude / "projects" / "p")
    (claude / "projects" / "p").symlink_to(outside)

    with pytest.raises(Conflict, match="in the way"):
        restore(world, "claude-code", yes=True)

    assert tree(outside) == {"s1.jsonl": b"mine\n"}


def test_a_place_whose_folder_is_missing_loses_nothing(world: World, claude: Path, user: Path) -> None:
    add(world, "claude-code")
    claude.rename(user / "unmounted")

    assert scan(world)["removed"] == 0
    restore(world, "claude-code", yes=True)
    assert (claude / "projects" / "p" / "s1.jsonl").read_text() == LINES


def test_what_is_too_broad_private_or_unknown_is_refused_with_a_sentence(world: World, user: Path) -> None:
    (user / ".ssh").mkdir()
    (user / "link").symlink_to(user)
    (user / "auth.json").write_text("{}")
    for place in (
        "/",
        str(user),
        str(world.engine.path),
        str(user / ".ssh"),
        str(user / "link"),
        str(user / "auth.json"),
    ):
        with pytest.raises(InvalidRequest):
            add(world, place)
    for place in ("claude-code", "memory.json", str(user / "nowhere")):
        with pytest.raises(NotFound):
            add(world, place)
    with pytest.raises(InvalidRequest, match="neither a known name"):
        add(world, "claud-code")


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("guard_add", {"place": "/x"}),
        ("guard_list", {}),
        ("guard_report", {}),
        ("guard_scan", {}),
        ("guard_history", {"place": "/x"}),
        ("guard_restore", {"place": "/x", "yes": True}),
        ("guard_undo", {"yes": True}),
        ("guard_remove", {"place": "/x"}),
    ],
)
def test_files_of_the_machine_are_for_root_alone(world: World, operation: str, arguments: Any) -> None:
    with pytest.raises(Forbidden):
        world.call(operation, Caller(scopes=frozenset({"read", "write", "admin"})), **arguments)


def test_a_removed_place_keeps_its_history_until_it_is_to_be_forgotten(world: World, claude: Path) -> None:
    add(world, "claude-code")
    world.call("guard_remove", place="claude-code")
    (claude / "CLAUDE.md").write_text("New.\n")
    assert scan(world)["taken"] == 0
    assert len(kept(world)) == 3
    with pytest.raises(InvalidRequest):
        world.call("guard_remove", place="claude-code", forget=True)

    world.call("guard_remove", place="claude-code", forget=True, yes=True)
    assert world.call("guard_list")["places"] == []


def test_the_memory_server_is_found_by_its_variable_or_in_its_package(
    world: World, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = user / ".npm/_npx/0a1b/node_modules/@modelcontextprotocol/server-memory/dist"
    package.mkdir(parents=True)
    (package / "memory.jsonl").write_text('{"type":"entity"}\n')
    (package / "index.js").write_text("code\n")
    add(world, "memory.json")
    assert kept(world, "memory.json") == {"memory.jsonl"}

    (user / "graph.json").write_text("{}\n")
    monkeypatch.setenv("MEMORY_FILE_PATH", str(user / "graph.json"))
    assert add(world, "memory.json")["place"]["path"] == str(user)
    assert "graph.json" in kept(world, "memory.json")


_NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: not set(name) & {0, 0x2F} and name not in (b".", b"..") and name.lower() != b".git"
)
_CONTENTS = st.binary(max_size=3_000) | st.integers(1, 40_000).map(lambda size: bytes(range(251)) * (size // 251 + 1))


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.dictionaries(_NAMES, _CONTENTS, max_size=4), min_size=1, max_size=4))
def test_every_state_of_a_folder_that_was_taken_can_be_restored(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[bytes, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("states")
    world, place, states = World(folder / "memory"), folder / "place", []
    place.mkdir()
    add(world, place, redact=False)
    for step in steps:
        for name, data in step.items():
            Path(os.fsdecode(os.fsencode(place) + b"/" + name)).write_bytes(data)
        scan(world)
        states.append((world.clock.now, {os.fsencode(one.name): one.read_bytes() for one in place.iterdir()}))
    credentials = {name for name in states[-1][1] if os.fsdecode(name) in left(world)}
    for at, state in states:
        wanted = {name: data for name, data in state.items() if name not in credentials}
        into = folder / f"at-{at}"
        if wanted:
            restore(world, place, at=str(at), to=str(into), yes=True)
            assert {os.fsencode(one.name): one.read_bytes() for one in into.iterdir()} == wanted
    world.close()
