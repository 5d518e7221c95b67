"""Which folders are captured, and under which names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from world import settings

from holdfast.core.errors import InvalidSettings
from holdfast.snapshot.sources.config import Source, sources_from


def sources(home: Path, folders: str) -> dict[str, Path]:
    return {one.name: one.path for one in sources_from(settings(home, memory_folders=folders))}


def test_a_relative_folder_lies_in_the_data_folder(tmp_path: Path) -> None:
    assert sources(tmp_path, "memory") == {"memory": tmp_path / "memory"}


def test_a_folder_can_be_given_a_name(tmp_path: Path) -> None:
    found = sources(tmp_path / "home", f"claude={tmp_path / 'a' / 'memory'},{tmp_path / 'b' / 'memory'}")

    assert found == {"claude": tmp_path / "a" / "memory", "memory": tmp_path / "b" / "memory"}


def test_a_tilde_is_the_users_home(tmp_path: Path) -> None:
    assert sources(tmp_path, "~/some/notes") == {"notes": Path.home().resolve() / "some" / "notes"}


def test_equal_names_get_numbers(tmp_path: Path) -> None:
    found = sources(tmp_path / "home", ",".join(str(tmp_path / at / "My Notes") for at in "abc"))

    assert list(found) == ["my-notes", "my-notes-2", "my-notes-3"]


def test_a_link_is_captured_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert sources(tmp_path / "home", str(tmp_path / "link")) == {"real": tmp_path / "real"}


@pytest.mark.parametrize("folder", [".", "..", "/", "~", "memory/..", "snapshots", "keys/own", "gen-000001", "KEYS"])
def test_holdfasts_own_data_and_whole_homes_are_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(InvalidSettings):
        sources(tmp_path / "home", folder)


def test_a_link_to_the_data_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to("home")

    with pytest.raises(InvalidSettings, match="contains the data folder"):
        sources(tmp_path / "home", str(tmp_path / "link"))


@pytest.mark.parametrize("folders", ["memory,memory/inner", "memory/inner,memory", "memory,a=memory"])
def test_folders_inside_each_other_are_refused(tmp_path: Path, folders: str) -> None:
    with pytest.raises(InvalidSettings, match="overlap"):
        sources(tmp_path, folders)


def test_a_memory_folder_is_a_source(tmp_path: Path) -> None:
    found: tuple[Source, ...] = sources_from(settings(tmp_path, memory_folders="memory"))

    assert found[0].capture(tmp_path / "staging").staged == ()


@given(names=st.lists(st.text(max_size=80), max_size=6))
def test_names_are_always_safe_and_unlike(names: list[str]) -> None:
    usable = [name for name in names if "\0" not in name and "," not in name and "/" not in name and "~" not in name]
    found = sources_from(
        settings(
            Path("/data/home"), memory_folders=",".join(f"/elsewhere/{at}/x{name}" for at, name in enumerate(usable))
        )
    )

    assert all(re.fullmatch(r"[a-z0-9_-]{1,64}", one.name) for one in found)
    assert len({one.name for one in found}) == len(found) == len(usable)
