"""The MCP memory server's graph on the command line: its file is imported, shown and written, and two agents share it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import OpenMemory
from processes import run
from test_daemon_mcp import Agent

from holdfast.core.model import Json

ADA: Json = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "keeps bees"]}
BEN: Json = {"type": "entity", "name": "Ben", "entityType": "person", "observations": []}
KNOWS: Json = {"type": "relation", "from": "Ada", "to": "Ben", "relationType": "knows"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[OpenMemory]:
    opened = OpenMemory(tmp_path / "memory")
    yield opened
    opened.end()


def lines(*values: Json) -> str:
    return "\n".join(json.dumps(one) for one in values)


@pytest.mark.parametrize("name", ["memory.json", "memory.jsonl"])
def test_the_file_is_recognised_by_what_is_in_it_and_taken_once(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(
        "\ufeff" + lines(KNOWS, ADA) + "\n\n" + lines(BEN, {**ADA, "observations": ["sleeps"]}), encoding="utf-8"
    )

    first = run(tmp_path / "memory", "import", str(file))
    assert json.loads(first.stdout)["imported"] == {"entities": 2, "observations": 3, "relations": 1}
    second = run(tmp_path / "memory", "import", str(file))
    assert json.loads(second.stdout)["skipped"] == {"entities": 3, "observations": 3, "relations": 1}
    assert (first.returncode, second.returncode) == (0, 0)

    shown = run(tmp_path / "memory", "knowledge-graph", "read", "--format", "jsonl")
    assert json.loads(shown.stdout)["text"] == lines(
        {**ADA, "observations": ["likes tea", "keeps bees", "sleeps"]}, BEN, KNOWS
    ).replace(": ", ":").replace(", ", ",").replace("[ ", "[")


def test_damaged_lines_are_reported_by_their_numbers_and_the_others_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    bad = ({**BEN, "name": "x" * 2_000}, {"type": "entity", "name": "no type"}, {"type": "note"})
    file.write_text("\n".join((lines(ADA), '{"type": "entity", "na', *map(json.dumps, bad), lines(KNOWS))))

    done = run(tmp_path / "memory", "import", str(file))
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["success"], answer["refusedCount"]) == (2, False, 4)
    assert {one["id"]: one["error"] for one in answer["refused"]} == {
        "2": "is not JSON",
        "3": answer["refused"][-1]["error"],
        "4": "entityType: missing or of the wrong type",
        "5": "is neither an entity nor a relation",
    }
    assert "name" in answer["refused"][-1]["error"]
    assert answer["imported"] == {"entities": 1, "observations": 2, "relations": 1}


def test_two_agents_at_once_lose_nothing(home: OpenMemory) -> None:
    with Agent(home, "--tools", "graph") as one, Agent(home, "--tools", "graph") as other:
        names = {tool["name"] for tool in one.ask("tools/list")["tools"]}
        one.call("create_entities", entities=[{"name": "both", "entityType": "thing", "observations": []}])

        def work(agent: Agent, name: str) -> None:
            for number in range(10):
                agent.call("create_entities", entities=[{**BEN, "name": f"{name}-{number}"}])
                agent.call("add_observations", observations=[{"entityName": "both", "contents": [f"{name}-{number}"]}])

        threads = [threading.Thread(target=work, args=given) for given in ((one, "a"), (other, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = {each["name"]: each["observations"] for each in other.call("read_graph")["entities"]}

    written = {f"{name}-{number}" for name in "ab" for number in range(10)}
    assert set(held) == {"both", *written}
    assert set(held["both"]) == written
    assert {"create_entities", "open_nodes"} <= names
    assert len(names) == 9
