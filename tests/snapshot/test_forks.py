"""Several hosts send to one vault: whoever looks at it, or begins with it, is told of what it does not get."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli
from hypothesis import given, strategies as st

from holdfast.snapshot.remote.forks import first_shared, trace
from holdfast.snapshot.repo.paths import new_id

THIRD = "The tide tables hang in the harbour office"
HERE, THERE = "a", "b"


def id_of(sequence: int, host: str = HERE) -> str:
    return new_id(sequence, 1_000_000 * sequence, host * 6)


def newest_first(ids: set[str]) -> list[str]:
    return sorted(ids, reverse=True)


def lines_of(ids: set[str], parents: dict[str, str | None]) -> list[list[str]]:
    """As the vault would be asked: only what comes after the first number that two have."""
    since = first_shared(ids)
    if since is None:
        return []
    every = newest_first(ids)
    asked = [id for id in every if int(id.split("-")[0]) >= since]
    return [list(one) for one in trace(asked, {id: parents[id] for id in asked}, every)]


def forked(at: int, here: int, there: int) -> dict[str, str | None]:
    """The parents of what two hosts made: one goes on after `at`, the other begins with that in an empty folder."""
    made: dict[str, str | None] = {
        id_of(number): id_of(number - 1) if number > 1 else None for number in range(1, here + 1)
    }
    made |= {
        id_of(number, THERE): id_of(number - 1, THERE) if number > at + 1 else None
        for number in range(at + 1, there + 1)
    }
    return made


@given(length=st.integers(1, 12), gone=st.sets(st.integers(1, 12)), begun=st.sets(st.integers(2, 12)))
def test_what_one_host_sent_is_one_line_whatever_was_pruned(length: int, gone: set[int], begun: set[int]) -> None:
    """`begun`: there it was restored to a new folder, which knows no parent."""
    numbers = set(range(1, length + 1))
    parents = {id_of(one): None if one in begun or one == 1 else id_of(one - 1) for one in numbers}

    assert lines_of({id_of(one) for one in numbers - gone}, parents) == []


@given(at=st.integers(1, 4), here=st.integers(1, 6), there=st.integers(1, 6))
def test_the_newest_of_two_hosts_are_both_found(at: int, here: int, there: int) -> None:
    parents = forked(at, at + here, at + there)

    found = lines_of(set(parents), parents)
    assert {one[0] for one in found} == {id_of(at + here), id_of(at + there, THERE)}
    assert len(found) == 2


@given(gone=st.sets(st.integers(4, 9)))
def test_where_some_were_pruned_no_newest_is_passed_over(gone: set[int]) -> None:
    parents = forked(3, 10, 8)
    left = {id for id in parents if not (id.endswith(HERE) and int(id.split("-")[0]) in gone)}
    heads = {one[0] for one in lines_of(left, parents)}

    assert not heads or {id_of(10), id_of(8, THERE)} <= heads


def test_snapshots_that_name_each_other_as_parent_end_the_search() -> None:
    ids = {id_of(1), id_of(1, THERE), id_of(2)}
    found = lines_of(ids, {id_of(1): id_of(2), id_of(2): id_of(1), id_of(1, THERE): id_of(1, THERE)})

    assert sorted(id for one in found for id in one) == sorted(ids)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    return tmp_path / "vault"


@pytest.fixture
def hosts(tmp_path: Path, vault: Path) -> tuple[Cli, Cli]:
    """Two hosts with one vault that both went on from the same snapshot; the second sent last."""
    first, second = (Cli(tmp_path / name, HOLDFAST_VAULT=str(vault)) for name in ("first", "second"))
    first.remember(OLD)
    first.create()
    assert second.texts() == {OLD}
    first.remember(NEW)
    first.create("--label", "of the first")
    second.remember(THIRD)
    second.create()
    second.create("--label", "of the second")
    return first, second


def newest_of(host: Cli) -> str:
    id: str = host.good("snapshot", "list")["snapshots"][0]["id"]
    return id


def test_a_vault_with_one_host_says_nothing_of_lines(tmp_path: Path, vault: Path) -> None:
    only = Cli(tmp_path / "only", HOLDFAST_VAULT=str(vault))
    only.remember(OLD)
    only.create()
    only.create()

    assert not {"lines", "warnings"} & {*only.good("vault", "status"), *only.good("vault", "list")}


def test_each_host_is_told_of_what_the_other_sent(hosts: tuple[Cli, Cli], vault: Path) -> None:
    for host, other in (hosts, hosts[::-1]):
        lacking = newest_of(other)
        for words in (("vault", "status"), ("vault", "list")):
            said = host.good(*words)
            assert {one["id"]: one["here"] for one in said["lines"]} == {newest_of(host): True, lacking: False}
            assert [lacking in one for one in said["warnings"]] == [True]
            assert f"holdfast snapshot merge {lacking} now --from {vault} --dry-run" in said["warnings"][0]
    table = hosts[0].plain("vault", "list").out
    for word in ("layout", "whole", "line", "of the second"):
        assert word in table


def test_the_list_says_of_each_snapshot_which_line_it_is_of(hosts: tuple[Cli, Cli]) -> None:
    """Two of one number may be of one second; which of them is shown first is then up to chance."""
    of_first, of_second = ([one["id"] for one in host.good("snapshot", "list")["snapshots"]] for host in hosts)
    rows = hosts[0].good("vault", "list")["snapshots"]

    shared = of_first[-1]
    assert {one["id"]: one.get("line") for one in rows} == dict.fromkeys(of_second, 1) | {of_first[0]: 2, shared: None}


def test_once_merged_nobody_who_has_the_merge_is_told_again(
    hosts: tuple[Cli, Cli], tmp_path: Path, vault: Path
) -> None:
    first, second = hosts
    lacking = newest_of(second)
    first.good("snapshot", "merge", lacking, "now", "--from", str(vault), "--yes")
    assert first.texts() == {OLD, NEW, THIRD}
    first.create()

    assert "warnings" not in first.good("vault", "status")
    third = Cli(tmp_path / "third", HOLDFAST_VAULT=str(vault))
    assert third.texts() == {OLD, NEW, THIRD}
    assert "warnings" not in third.good("vault", "status")
    assert newest_of(first) in second.good("vault", "status")["warnings"][0]  # it has not merged
    second.good("snapshot", "merge", newest_of(first), "now", "--from", str(vault), "--yes")
    assert "warnings" not in second.good("vault", "status")


def test_a_merge_that_brought_nothing_counts_as_well(hosts: tuple[Cli, Cli], vault: Path) -> None:
    first, second = hosts
    first.remember(THIRD)
    first.good("snapshot", "merge", newest_of(second), "now", "--from", str(vault), "--yes")
    later = second.create()
    done = first.good("snapshot", "merge", later, "now", "--from", str(vault), "--yes")

    assert done["generation"] is None
    assert "warnings" not in first.good("vault", "status")


def test_a_third_host_that_begins_with_the_vault_is_told(
    hosts: tuple[Cli, Cli], tmp_path: Path, vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = hosts
    third = Cli(tmp_path / "third", HOLDFAST_VAULT=str(vault))
    with caplog.at_level(logging.WARNING, "holdfast"):
        assert third.texts() == {OLD, THIRD}

    restored, left_out = (one.getMessage() for one in caplog.records)
    assert newest_of(second) in restored
    assert newest_of(first) in left_out
    assert third.good("audit")["entries"][0]["operation"] == "snapshot_restore"
    said = third.good("vault", "status")
    assert {one["id"]: one["here"] for one in said["lines"]} == {newest_of(first): False, newest_of(second): True}


def test_a_restore_from_the_vault_tells_too(hosts: tuple[Cli, Cli], tmp_path: Path, vault: Path) -> None:
    first, second = hosts
    third = Cli(tmp_path / "third")
    done = third.good("snapshot", "restore", "latest", "--from", str(vault), "--yes")

    assert done["snapshot"] == newest_of(second)
    assert [newest_of(first) in one for one in done["warnings"]] == [True]


def test_pruning_leaves_what_no_host_has_merged(hosts: tuple[Cli, Cli], tmp_path: Path, vault: Path) -> None:
    first, second = hosts
    twin = second.good("snapshot", "list")["snapshots"][-1]["id"]  # of the same number as the first host's newest
    for _ in range(3):
        second.create()
    plan = second.good("vault", "prune", "--keep", "1", "--dry-run")

    assert {one["id"]: one["why"] for one in plan["keep"]} == {
        newest_of(second): ["last", "newest"],
        twin: ["of two hosts"],
        newest_of(first): ["another host's"],
    }
    for _ in range(2):
        second.good("vault", "prune", "--keep", "1")
    left = {one["id"] for one in second.good("vault", "list")["snapshots"]}
    assert left == {newest_of(first), newest_of(second), twin}
    third = Cli(tmp_path / "third")
    third.good("snapshot", "restore", "latest", "--from", str(vault), "--yes")
    assert any(newest_of(first) in one for one in third.good("vault", "status", str(vault))["warnings"])


def test_what_was_merged_is_pruned_as_the_rules_say(hosts: tuple[Cli, Cli], vault: Path) -> None:
    first, second = hosts
    second.good("snapshot", "merge", newest_of(first), "now", "--from", str(vault), "--yes")
    newest = second.create()
    second.good("vault", "prune", "--keep", "1")

    assert [one["id"] for one in second.good("vault", "list")["snapshots"]] == [newest]
