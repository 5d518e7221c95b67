"""Ids and names: what is ours is recognised exactly, and no memory can reach into another's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest
from holdfast.snapshot.repo.paths import new_id, parse_id, place_of, read_sidecar, repo_folder, sidecar, split_name

ID = "000042-20260921T133320Z-9f86d0"
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def test_an_id_says_sequence_time_and_chance() -> None:
    assert new_id(42, 1_790_000_000_999, "9f86d0") == "000042-20260921T141320Z-9f86d0"
    parts = parse_id(ID)
    assert (parts.sequence, parts.time, parts.chance) == (42, "20260921T133320Z", "9f86d0")


@given(
    st.integers(1, 999_999_999_999), st.integers(-(10**18), 10**18), st.text("0123456789abcdef", min_size=6, max_size=6)
)
def test_every_new_id_can_be_read_again(sequence: int, now_ms: int, chance: str) -> None:
    id = new_id(sequence, now_ms, chance)

    assert parse_id(id).sequence == sequence
    assert parse_id(id).chance == chance
    assert split_name(f"{id}.tar.zst.age.sha256") == (id, ".tar.zst.age.sha256")


@each(
    "id",
    [
        "", "latest", ID[1:], f"0{ID}", f"{ID}0", f"{ID}\n", ID.upper(), ID.replace("-", "_"), f"../{ID}",
        "000000-20260921T133320Z-9f86d0", "٠٠٠٠٤٢-20260921T133320Z-9f86d0", "1234567890123-20260921T133320Z-9f86d0",
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused(id: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_id(id)
    assert split_name(f"{id}.tar.zst") is None


@each("sequence, chance", [(0, "9f86d0"), (-1, "9f86d0"), (10**12, "9f86d0"), (1, "9F86D0"), (1, "9f86d")])
def test_no_id_is_made_that_could_not_be_read(sequence: int, chance: str) -> None:
    with pytest.raises(InvalidRequest):
        new_id(sequence, 0, chance)


@each("name", [ID, f"{ID}.tar", f".{ID}.tar.zst", f"{ID}.tar.zst.new", f"{ID}.tar.zst.sha256.sha256", "a"])
def test_other_files_are_not_a_snapshots(name: str) -> None:
    assert split_name(name) is None


def test_a_sidecar_is_of_one_name_and_one_form() -> None:
    digest = "ab" * 32
    data = sidecar(digest, "x.tar.zst")

    assert data == f"{digest}  x.tar.zst\n".encode()
    assert read_sidecar(data, "x.tar.zst") == digest
    assert read_sidecar(data, "y.tar.zst") is None
    for other in (data[:-1], data + b"\n", data.upper(), data.replace(b"  ", b" *"), b" " + data, b""):
        assert read_sidecar(other, "x.tar.zst") is None


@given(names, names, names, names)
def test_different_memories_have_different_folders(tenant: str, agent: str, tenant2: str, agent2: str) -> None:
    same = place_of(tenant, agent) == place_of(tenant2, agent2)

    assert same == ((tenant, agent) == (tenant2, agent2))


HARD = [
    "",
    ".",
    "..",
    "...",
    ".lock",
    "lock",
    "a/b",
    "../../etc",
    "%none",
    "%2E",
    "%",
    "a" * 300,
    "ä" * 200,
    "a" * 180,
    "\0",
    " ",
    "~",
]


@given(st.one_of(names, st.sampled_from(HARD)), st.one_of(names, st.sampled_from(HARD)))
def test_a_folder_lies_two_below_the_repositories_whatever_the_names(tenant: str, agent: str) -> None:
    folder = repo_folder(Path("/home"), tenant, agent)

    assert folder.resolve() == folder
    assert folder.parent.parent == Path("/home/snapshots")
    for part in (folder.name, folder.parent.name):
        assert 0 < len(part.encode()) <= 255
        assert not part.startswith(".")


def test_no_two_hard_names_share_a_folder() -> None:
    assert len({place_of(name, "x") for name in HARD}) == len(HARD)
