"""The background work of a server brings the words of an earlier version up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from world import World

from holdfast.serve.background.maintenance import Maintenance
from holdfast.store import tables

pytestmark = pytest.mark.engines


def test_a_server_brings_words_of_an_earlier_version_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(tables, "code_terms", lambda text: [])
        old = world.call("remember", content="getUserName is slow in src/store/words.py")["memory"]
    assert world.found("username") == []
    assert world.found("getUserName") == [old["id"]]
    Maintenance(world.engine).sweep_all()
    assert world.found("username") == [old["id"]]
    assert world.call("memory", id=old["id"])["memory"] == old
    assert world.call("verify")["sound"]
    world.close()


def test_a_hit_says_by_which_part_of_a_name_it_was_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    filler = "The crew talked of other things for a while. " * 30
    world.call("remember", content=f"{filler}The call getUserName is slow. {filler}")
    (hit,) = world.call("search", query="username", explain=True)["results"]
    assert "usernam" in hit["why"]["fields"]["content"]
    assert "getUserName" in hit["passage"]
    world.close()
