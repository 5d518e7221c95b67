"""Quotas of a tenant hold at all servers of one PostgreSQL together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from postgres_server import as_admin, empty_schema
from processes import Server, serving, word

RECORDS = 20


@pytest.fixture(scope="module")
def url() -> str:
    return empty_schema()


@pytest.fixture(scope="module")
def pair(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    home = tmp_path_factory.mktemp("fleet")
    quota = {"HOLDFAST_STORE": url, "HOLDFAST_QUOTA_RECORDS": str(RECORDS), "HOLDFAST_QUOTA_BYTES": "1000000"}
    with serving(home / "one", **quota) as one, serving(home / "other", **quota) as other:
        yield one, other


def number_of_memories(url: str) -> int:
    with psycopg.connect(as_admin(url)) as db:
        ((found,),) = db.execute("SELECT count(*) FROM memories").fetchall()
    return int(found)


def fill(url: str, server: Server) -> None:
    while number_of_memories(url) < RECORDS:
        assert server.remember(f"the {word()} stands beside the {word()}").is_success


def used(server: Server) -> dict[str, int]:
    return {name: one["used"] for name, one in server.get("/health").json()["quota"].items()}


def test_servers_that_are_written_to_at_once_take_no_record_too_many(url: str, pair: tuple[Server, Server]) -> None:
    def write(number: int) -> int:
        return pair[number % 2].remember(f"the {word()} stands beside the {word()}").status_code

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(write, range(2 * RECORDS)))
    assert sorted(answers) == [201] * RECORDS + [507] * RECORDS
    assert number_of_memories(url) == RECORDS
    assert used(pair[0]) == used(pair[1])
    assert used(pair[0])["records"] == RECORDS


def test_what_is_forgotten_at_one_server_frees_room_at_the_other(url: str, pair: tuple[Server, Server]) -> None:
    one, other = pair
    fill(url, one)
    before = used(other)
    listed = one.get("/memories", limit=1).json()["memories"]
    assert other.remember(f"a {word()} more").status_code == 507
    assert one.post("/forget", memoryId=listed[0]["id"]).is_success
    assert used(other)["records"] == RECORDS - 1
    assert used(other)["bytes"] < before["bytes"]
    assert other.remember(f"a {word()} more").is_success


def test_what_a_server_of_the_version_before_wrote_is_counted(url: str, pair: tuple[Server, Server]) -> None:
    """It keeps no count of bytes; neither does a server without quotas."""
    one, other = pair
    fill(url, other)
    counted = used(one)
    with psycopg.connect(as_admin(url)) as db:  # its sums are of other tallies
        db.execute("UPDATE usage SET bytes = 1, sum = sum - 1")
    assert used(other) == counted
    listed = one.get("/memories", limit=1).json()["memories"]
    assert other.post("/forget", memoryId=listed[0]["id"]).is_success
    assert one.remember(f"a {word()} more").is_success  # counts anew, and keeps that
    kept = used(one)
    with psycopg.connect(as_admin(url)) as db:
        db.execute("DELETE FROM usage")
    assert used(other) == kept


def test_writes_per_minute_are_those_at_all_servers(tmp_path: Path) -> None:
    quota = {"HOLDFAST_STORE": empty_schema(), "HOLDFAST_QUOTA_WRITES": "6"}
    with serving(tmp_path / "one", **quota) as one, serving(tmp_path / "other", **quota) as other:
        answers = [(one, other)[number % 2].remember(f"the {word()} of {word()}") for number in range(30)]
    taken = sum(answer.is_success for answer in answers)
    assert 6 <= taken < 30  # more than six only if this took longer than ten seconds
    refused = [answer for answer in answers if not answer.is_success]
    assert {answer.status_code for answer in refused} == {429}
    assert all(1 <= int(answer.headers["Retry-After"]) <= 10 for answer in refused)
