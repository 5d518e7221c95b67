"""Memory in and out as the Colony and Progenly have it: texts by name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import colony_memory
import pytest
from world import World

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshot"))
from flows import OLD, Cli

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest


def test_an_export_imports_again_with_versions_slots_and_lessons(tmp_path: Path) -> None:
    first = World(tmp_path / "first")
    made = first.call("remember", content=OLD)["memory"]["id"]
    first.call("evolve", memoryId=made, newContent="The amber cabinet holds ropes")
    first.call("slot_create", label="harbour", content="tide tables", scope="global")
    first.call("lesson_save", content="Check the tide first")
    export = first.call("progenly_export")
    second = World(tmp_path / "second")
    report = second.call("import_", exportData=export)

    assert report["refused"] == []
    assert [one["content"] for one in second.call("memories")["memories"]] == ["The amber cabinet holds ropes"]
    assert {one["content"] for one in second.call("memories", latest=False)["memories"]} >= {OLD}
    assert second.call("slot", label="harbour")["slot"]["content"] == "tide tables"
    assert second.call("lessons")["lessons"][0]["content"] == "Check the tide first"
    again = second.call("import_", exportData=export)
    assert sum(again["imported"].values()) == 0
    first.close()
    second.close()


def test_what_the_published_package_gives_becomes_memories(tmp_path: Path) -> None:
    given = colony_memory.ColonyMemory(backend=object()).to_progenly_export(
        {"MEMORY.md": f"# Quay\n\n- {OLD}\n", "state.txt": "The lamp oil is by the north wall\n"}
    )
    file = tmp_path / "parent.json"
    file.write_text(json.dumps(given))
    cli = Cli(tmp_path / "memory")
    cli.good("import", str(file))

    texts = " ".join(cli.texts())
    assert OLD in texts
    assert "lamp oil" in texts
    before = cli.texts()
    cli.good("import", str(file))
    assert cli.texts() == before


def test_python_takes_and_gives_it(tmp_path: Path) -> None:
    with Holdfast(tmp_path / "first") as memory:
        memory.remember(OLD)
        export = memory.to_progenly_export()
    with Holdfast(tmp_path / "second") as memory:
        assert memory.from_progenly_export(export)["imported"]["memories"] == 1
        assert memory.search("amber cabinet")[0]


@pytest.mark.parametrize(
    "given",
    [
        {"memory_format": "colony-memory/1"},
        {"memory": {"a": 1}, "memory_format": "colony-memory/1"},
        {"memory": {}, "memory_format": "other"},
        {"memory": {"holdfast.json": "{}", "memories/0001.jsonl": "x"}, "memory_format": "colony-memory/1"},
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, given: object) -> None:
    world = World(tmp_path)
    with pytest.raises(InvalidRequest):
        world.call("import_", exportData=given)
    world.close()
