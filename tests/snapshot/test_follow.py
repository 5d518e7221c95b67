"""A copy that follows another host's journal: it has what that has, in order, once, whatever happens in between."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from follow_steps import HOUR, Copy
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import Conflict, Fault, Following, InvalidRequest, NotFound

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


@pytest.fixture
def home(tmp_path: Path) -> Journaled:
    return Journaled(tmp_path / "home", tmp_path / "vault")


@pytest.fixture
def copy(home: Journaled, tmp_path: Path) -> Copy:
    home.remember("Fact zero: the first deploy.")
    home.piece()
    return Copy(tmp_path / "copy", tmp_path / "vault")


def test_a_copy_begins_with_all_that_the_vault_has(copy: Copy) -> None:
    assert copy.texts() == {"Fact zero: the first deploy."}


def test_a_copy_has_what_is_written_and_forgotten_afterwards(home: Journaled, copy: Copy) -> None:
    id = home.remember("Fact one.")
    home.piece()
    assert copy.look()
    assert "Fact one." in copy.texts()

    home.call("forget", memoryId=id)
    home.remember("Fact two.")
    home.piece()
    assert copy.look()
    assert copy.texts() == {"Fact zero: the first deploy.", "Fact two."} == home.texts()
    assert not copy.look()


def test_search_finds_by_words_what_was_followed(home: Journaled, copy: Copy) -> None:
    for number in range(20):
        home.remember(f"The answer to question {number} is {number * 7}.")
        home.piece()
        copy.look()
        copy.engine.own_store.compact_words(1)
        found = copy.call("search", query=f"answer question {number}", limit=50)["results"]
        assert f"The answer to question {number} is {number * 7}." in {one["content"] for one in found}, number


def test_every_row_and_word_of_a_copy_is_sound(home: Journaled, copy: Copy) -> None:
    for number in range(10):
        home.remember(f"Fact {number}.")
        home.observe(f"s{number % 2}", tool_name="Bash", tool_input={"command": f"make {number}"})
        home.piece()
        copy.look()
        copy.engine.own_store.compact_words(1)
    assert copy.engine.own_store.verify() == []
    assert copy.rows() == home.engine.store.read().sizes()


def test_a_copy_takes_no_writes_and_says_what_to_do(copy: Copy) -> None:
    copy.look()
    with pytest.raises(Following) as refused:
        copy.call("remember", content="Mine.")
    assert copy.engine.follow is not None
    assert copy.engine.follow.state.host
    assert copy.engine.follow.state.host in refused.value.message
    assert "holdfast promote" in refused.value.hint
    assert copy.texts() == {"Fact zero: the first deploy."}


def test_a_copy_guards_no_files_and_says_where_to(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(Following, match="guard_add: this is a read-only copy") as refused:
        copy.call("guard_add", place=str(tmp_path / "notes.md"))
    assert "Do it on the host that it follows" in refused.value.hint
    assert "on the host that it follows" in copy.call("guard_list")["message"]
    assert not (copy.engine.folder.home / "guard").exists()


def test_a_restart_goes_on_from_what_was_applied(home: Journaled, copy: Copy) -> None:
    home.remember("Fact one.")
    home.piece()
    copy.look()
    before = copy.place
    copy.restart()
    assert copy.place == before
    assert not copy.look()
    home.remember("Fact two.")
    home.piece()
    assert copy.look()
    assert copy.texts() == home.texts()
    assert copy.place.number == before.number + 1


def test_promotion_takes_what_the_vault_still_has_and_then_writes(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    home.remember("The last one.")
    home.piece()
    copy.clock.now = home.clock.now + HOUR
    answer = copy.call("promote")
    assert "The last one." in copy.texts()
    assert answer["line"] == home.line

    copy.call("remember", content="Mine.")
    copy.piece()
    lines = {path.parent.name for path in journal_objects(tmp_path / "vault")}
    assert len(lines) == 2
    with closing(Copy(tmp_path / "third", tmp_path / "vault", 700_000)) as third:
        assert third.texts() == copy.texts()


def test_a_promotion_is_refused_while_the_other_host_writes(home: Journaled, copy: Copy) -> None:
    home.remember("Just now.")
    home.piece()
    copy.clock.now = home.clock.now
    with pytest.raises(Conflict, match="still writes"):
        copy.call("promote")
    with pytest.raises(Following):
        copy.call("remember", content="Mine.")
    assert copy.call("promote", yes=True)["promoted"]
    copy.call("remember", content="Mine.")
    assert not copy.call("promote")["promoted"]  # a request that is repeated does nothing


def test_a_folder_with_a_memory_of_its_own_follows_nobody(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.close()
    with pytest.raises(Conflict, match="memory of its own"):
        Copy(tmp_path / "home", tmp_path / "vault")


def test_an_empty_vault_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    with pytest.raises(NotFound, match="nothing of this memory"):
        Copy(tmp_path / "copy", tmp_path / "vault")


@pytest.mark.parametrize("vault", ["colony:memory", "hf://datasets/owner/name"])
def test_a_vault_without_a_journal_is_not_followed(tmp_path: Path, vault: str) -> None:
    with pytest.raises(InvalidRequest, match="no journal"):
        Copy(tmp_path / "copy", vault)


def test_a_line_that_took_over_is_followed(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    """The other host went back to a snapshot: its journal begins a new line."""
    home.snapshot()
    home.remember("Fact one.")
    home.piece()
    copy.look()
    home.call("snapshot_restore", id="latest", yes=True)
    home.remember("Fact two.")
    home.piece()
    copy.look(home.clock.now)
    assert copy.texts() == home.texts() == {"Fact zero: the first deploy.", "Fact two."}
    assert copy.place.line == home.line
    home.remember("Fact three.")
    home.piece()
    copy.look()
    assert "Fact three." in copy.texts()


def test_a_vault_that_is_away_leaves_the_copy_as_it_is(home: Journaled, copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "vault").rename(tmp_path / "away")
    with pytest.raises(Fault):
        copy.look()
    assert copy.texts() == {"Fact zero: the first deploy."}
    (tmp_path / "away").rename(tmp_path / "vault")
    home.remember("Fact one.")
    home.piece()
    assert copy.look()
    assert copy.texts() == home.texts()


def test_a_copy_of_a_snapshot_alone_takes_over_only_if_that_is_confirmed(home: Journaled, tmp_path: Path) -> None:
    """The first host may be gone for good, and have written no journal."""
    home.remember("Fact one.")
    home.call("snapshot_create", to=str(tmp_path / "vault"))
    copy = Copy(tmp_path / "copy", tmp_path / "vault")

    with pytest.raises(Conflict, match="may lack what the vault has") as refused:
        copy.call("promote")
    assert "--yes" in refused.value.hint
    done = copy.call("promote", yes=True)

    assert (done["promoted"], done["line"]) == (True, "")
    copy.call("remember", content="Fact two.")
    assert copy.texts() == {"Fact one.", "Fact two."}
