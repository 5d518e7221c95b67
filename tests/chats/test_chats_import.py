"""`holdfast import --from`: what other systems kept becomes memories of the people whose it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_world import asked_by
from engines import store_of
from world import World

from holdfast.cli.main import main
from holdfast.protocol.access import Viewer

PLUGIN = [
    {
        "content": "likes green tea",
        "metadata": {
            "user_id": "tg_42", "platform_id": "tg", "sender_id": "42", "umo": "tg:FriendMessage:42",
            "domain": "preference", "uri": "preferences://ab12cd34", "importance": "5", "memory_type": "permanent",
            "disclosure": "drinks", "created_at": "2026-05-01T10:00:00+00:00", "migrated_from": "facts://old",
        },
    },
    {
        "content": "the club meets on Friday",
        "metadata": {
            "user_id": "tg_42", "platform_id": "tg", "sender_id": "42", "umo": "tg:GroupMessage:club",
            "memory_scope": "group", "visibility": "group", "uri": "events://friday",
        },
    },
    {"content": "whose?", "metadata": {"memory_scope": "personal"}},
    "no record",
]  # fmt: skip
OWNER, MEMBER, STRANGER = (
    Viewer("tg:FriendMessage:42", "42"),
    Viewer("tg:GroupMessage:club", "7"),
    Viewer("tg:FriendMessage:7", "7"),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.delenv("AGENTMEMORY_URL", raising=False)
    monkeypatch.setenv("HOLDFAST_STORE", store_of(tmp_path / "memory"))
    return tmp_path / "memory"


def taken(home: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["import", *words, "--json", "--data", str(home)])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, answer


def contents(home: Path, viewer: Viewer) -> set[str]:
    world = World(home)
    try:
        assert world.engine.store.verify() == []
        return {one["content"] for one in world.call("memories", **asked_by(viewer))["memories"]}
    finally:
        world.close()


def test_records_of_the_plugin_stay_their_owners(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(PLUGIN))

    code, report = taken(home, capsys, str(file), "--from", "plugin")

    assert code != 0  # two were not taken
    assert (report["imported"]["memories"], report["refused"]) == (2, 2)
    assert len(report["refusals"]) == 2
    assert contents(home, OWNER) == {"likes green tea"}
    assert contents(home, MEMBER) == {"the club meets on Friday"}
    assert contents(home, STRANGER) == set()
    assert contents(home, Viewer()) == set()


def test_addresses_of_the_plugin_are_kept_with_where_they_were_before(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(PLUGIN[:1]))
    taken(home, capsys, str(file), "--from", "plugin")

    world = World(home)
    found = world.call("memory", id="facts://old", **asked_by(OWNER))
    world.close()

    memory = found["memory"]
    assert (memory["uri"], memory["importance"], memory["memoryType"]) == ("preferences://ab12cd34", 5, "permanent")
    assert memory["createdAt"] == "2026-05-01T10:00:00.000Z"
    assert {one["uri"]: one["kind"] for one in found["addresses"]} == {
        "preferences://ab12cd34": "own",
        "facts://old": "moved",
    }


def test_age_counts_from_the_last_use_in_the_earlier_system(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used, unused = json.loads(json.dumps([PLUGIN[0], PLUGIN[0]]))
    for record in (used, unused):
        record["metadata"] |= {"memory_type": "normal", "importance": 3, "migrated_from": None}
    used["metadata"] |= {"last_recalled_at": "2026-09-20T10:00:00+00:00"}
    unused["metadata"] |= {"uri": "preferences://other"}
    unused["content"] = "once saw a red kite above the harbour"
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps([used, unused]))
    taken(home, capsys, str(file), "--from", "plugin")

    world = World(home)
    try:
        world.call("lifecycle", allChats=True)
        left = world.call("memories", **asked_by(OWNER))["memories"]
    finally:
        world.close()

    assert [(one["content"], one["createdAt"]) for one in left] == [("likes green tea", "2026-05-01T10:00:00.000Z")]


def test_an_import_repeated_adds_nothing(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(PLUGIN[:2]))
    taken(home, capsys, str(file), "--from", "plugin")

    code, report = taken(home, capsys, str(file), "--from", "plugin")

    assert (code, report["imported"]["memories"], report["skipped"]["memories"]) == (0, 0, 2)
    assert contents(home, OWNER) == {"likes green tea"}


def test_memories_of_users_need_the_platform_on_which_they_speak(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": [{"id": "m1", "memory": "likes green tea", "user_id": "42"}]}))

    code, report = taken(home, capsys, str(file), "--from", "mem0")
    assert (code != 0, report["refused"]) == (True, 1)

    code, report = taken(home, capsys, str(file), "--from", "mem0", "--platform", "tg")
    assert (code, report["imported"]) == (0, {"memories": 1})
    assert contents(home, OWNER) == {"likes green tea"}
    assert contents(home, STRANGER) == set()


@pytest.mark.parametrize("system", ["basic-memory", "markdown"])
def test_a_folder_of_notes_becomes_the_agents_own_memory(
    system: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "tea.md").write_text("---\ntitle: Tea\n---\n\nGreen tea is brewed at eighty degrees.\n")
    (notes / "sub" / "coffee.md").write_text("# Coffee\n\nCoffee is brewed at ninety-five degrees.\n")
    (notes / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.md").write_text("# Secret\n\nNot of this folder.\n")
    (notes / "link.md").symlink_to(tmp_path / "secret.md")

    code, report = taken(home, capsys, str(notes), "--from", system)

    assert code == 0
    assert report["imported"]["memories"] == 2
    found = " ".join(contents(home, Viewer()))
    assert "eighty" in found
    assert "ninety-five" in found
    assert "Not of this folder" not in found


def test_blocks_of_letta_are_taken(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "agent.af"
    block = {"id": "block-1", "label": "persona", "value": "I am a patient gardener."}
    file.write_text(json.dumps({"agents": [{"id": "agent-0", "name": "fern", "blocks": [block]}], "blocks": [block]}))

    _, report = taken(home, capsys, str(file), "--from", "letta")

    assert report["imported"]["memories"] >= 1
    assert any("patient gardener" in one for one in contents(home, Viewer()))


@pytest.mark.parametrize("system", ["plugin", "mem0", "letta", "basic-memory", "markdown"])
def test_what_is_not_there_is_refused_with_a_reason(
    system: str, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(tmp_path / "nothing"), "--from", system, "--data", str(home)]) != 0
    assert "import" in capsys.readouterr().err
