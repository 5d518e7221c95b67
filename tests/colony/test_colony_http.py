"""The vault over HTTP: conditional writes, lost answers, limits, and everything a network does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from colony_sdk import ColonyClient, RetryConfig
from colony_server import (
    KEY,
    Colony,
    broken_json,
    cut_off,
    done_but_unanswered,
    endless,
    hang_up,
    redirect,
    slow_until,
    status,
)
from rows import each

from holdfast.colony import (
    ColonyConflict,
    ColonyMemory,
    ColonyMemoryError,
    ColonyRateLimited,
    ColonyRefused,
    ColonyUnreachable,
    QuotaExceeded,
)
from holdfast.colony.colony_client import VaultClient
from holdfast.core.errors import ColonyInvalid
from holdfast.core.system import SystemClock


class Waits(list[float]):
    """Stands for the sleep between attempts and keeps how long they would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def client(colony: Colony, waits: Waits) -> VaultClient:
    return VaultClient(KEY, SystemClock(), colony.url, sleep=waits)


@pytest.fixture
def memory(client: VaultClient) -> ColonyMemory:
    return ColonyMemory(backend=client)


def test_a_client_of_the_sdk_is_a_client_of_the_sdk(client: VaultClient) -> None:
    assert isinstance(client, ColonyClient)


def test_a_key_that_is_not_taken_is_told(colony: Colony) -> None:
    memory = ColonyMemory("col_wrong", base_url=colony.url)

    with pytest.raises(ColonyRefused) as caught:
        memory.restore()

    assert "col_wrong" not in repr(caught.value)


def test_a_token_that_ran_out_is_renewed_once(colony: Colony, memory: ColonyMemory) -> None:
    memory.backup({"a": "1"})
    colony.tokens.clear()

    assert memory.restore() == {"a": "1"}
    assert colony.issued == 2


def test_a_token_that_is_never_taken_is_renewed_only_once(colony: Colony, memory: ColonyMemory) -> None:
    colony.fail("GET", "/vault", status(401), times=99)

    with pytest.raises(ColonyRefused):
        memory.restore()

    assert len(colony.asked("GET")) == 2


def test_too_little_karma_is_told(colony: Colony, memory: ColonyMemory) -> None:
    colony.karma = 0

    with pytest.raises(ColonyRefused, match="KARMA_TOO_LOW"):
        memory.backup({"a": "1"})


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_server_that_fails_is_unreachable_and_the_backup_withdrawn(
    colony: Colony, memory: ColonyMemory, code: int
) -> None:
    memory.backup({"a": "1"})
    before = dict(colony.files)
    colony.fail("PUT", ".manifest.json", status(code), times=3)

    with pytest.raises(ColonyUnreachable):
        memory.backup({"a": "2"})

    assert colony.files == before
    assert memory.restore() == {"a": "1"}


@pytest.mark.parametrize(
    "play", [status(503), status(429, Retry_After="7"), hang_up, cut_off], ids=["503", "429", "hang-up", "cut-off"]
)
def test_what_passes_is_tried_again(colony: Colony, memory: ColonyMemory, waits: Waits, play: Any) -> None:
    colony.fail("PUT", ".p0.json", play)

    memory.backup({"a": "1"})

    assert memory.restore() == {"a": "1"}
    assert waits in ([1.0], [7.0])


def test_a_long_retry_after_is_told_and_not_slept(colony: Colony, memory: ColonyMemory, waits: Waits) -> None:
    colony.fail("PUT", ".p0.json", status(429, Retry_After="1800"))

    with pytest.raises(ColonyRateLimited) as caught:
        memory.backup({"a": "1"})

    assert caught.value.details["retry_after"] == 1800
    assert waits == []


@pytest.mark.parametrize(
    "play",
    [broken_json, status(200), status(307, Location="http://127.0.0.1:1/")],
    ids=["broken", "empty", "elsewhere"],
)
def test_an_answer_that_is_none_is_never_an_absence(colony: Colony, memory: ColonyMemory, play: Any) -> None:
    memory.backup({"a": "1"})
    colony.fail("GET", "/vault/files", play, times=99)

    with pytest.raises(ColonyMemoryError) as caught:
        memory.restore()

    assert isinstance(caught.value, ColonyUnreachable)


def test_a_redirect_is_not_followed(colony: Colony, memory: ColonyMemory) -> None:
    memory.backup({"a": "1"})
    colony.fail("GET", "/vault/files?", redirect(colony.url + "/vault/elsewhere"))

    with pytest.raises(ColonyUnreachable):
        memory.restore()

    assert [one for one in colony.seen if "elsewhere" in one.path] == []


def test_an_endless_answer_ends(colony: Colony, memory: ColonyMemory) -> None:
    memory.backup({"a": "1"})
    colony.fail("GET", ".p0.json", endless)

    with pytest.raises(ColonyUnreachable):
        memory.restore()


def test_a_server_that_does_not_answer_is_given_up(colony: Colony, waits: Waits) -> None:
    client = VaultClient(KEY, SystemClock(), colony.url, sleep=waits, timeout=1, retry=RetryConfig(max_retries=0))
    done = threading.Event()
    colony.fail("GET", "/vault/files", slow_until(done))

    with pytest.raises(ColonyUnreachable):
        ColonyMemory(backend=client).restore()
    done.set()


@pytest.mark.parametrize("file", [".p0.json", ".manifest.json", ".latest.json"])
def test_an_answer_that_got_lost_is_not_taken_for_another_writer(
    colony: Colony, memory: ColonyMemory, file: str
) -> None:
    """The file was stored; asking again finds it there, and it is our own."""
    colony.fail("PUT", file, done_but_unanswered)

    memory.backup({"a": "1"})

    assert memory.restore() == {"a": "1"}


def test_a_file_of_that_name_by_another_writer_is_left_alone(colony: Colony, memory: ColonyMemory) -> None:
    def squat(name: str) -> None:
        if name.endswith(".manifest.json"):
            colony.files[name] = "another's"

    colony.before_put = squat

    with pytest.raises(ColonyConflict):
        memory.backup({"a": "1"})

    assert list(colony.files.values()) == ["another's"]


def test_a_quota_that_others_used_up_meanwhile_is_told(colony: Colony, memory: ColonyMemory) -> None:
    def fill(name: str) -> None:
        colony.files["notes.md"] = "x" * (10 * 1024 * 1024 - 100)

    colony.before_put = fill

    with pytest.raises(QuotaExceeded):
        memory.backup({"a": "1"})

    assert list(colony.files) == ["notes.md"]


def test_two_writers_at_once_lose_nothing(colony: Colony) -> None:
    def write(name: str) -> None:
        for turn in range(6):
            ColonyMemory(KEY, base_url=colony.url).backup({"by": name, "turn": str(turn)})

    _both_at_once(write)

    memory = ColonyMemory(KEY, base_url=colony.url)
    assert len(memory.list_snapshots()) == 12
    assert memory.refused_snapshots() == []
    newest = memory.list_snapshots()[0].snapshot_id
    assert newest in colony.files["cmem.default.latest.json"]


def _both_at_once(write: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, "ab"))  # raises what they raise


def test_two_writers_that_rotate_leave_a_whole_snapshot(colony: Colony) -> None:
    def write(name: str) -> None:
        for turn in range(5):
            ColonyMemory(KEY, base_url=colony.url).backup({"by": name, "turn": str(turn)}, prune_keep=1)

    _both_at_once(write)

    memory = ColonyMemory(KEY, base_url=colony.url)
    assert memory.restore()["turn"] == "4"
    assert memory.refused_snapshots() == []


@each("url", ["http://colony.example/api/v1", "ftp://x", "http://user:pw@127.0.0.1/", "nonsense"])
def test_an_address_that_a_key_must_not_go_to_is_refused(url: str) -> None:
    with pytest.raises(ColonyInvalid) as caught:
        ColonyMemory(KEY, base_url=url)

    assert "pw" not in str(caught.value)


def test_no_key_and_no_text_is_in_what_is_told(colony: Colony, memory: ColonyMemory) -> None:
    memory.backup({"name": "the text"})
    colony.fail("GET", ".p0.json", broken_json, times=99)

    with pytest.raises(ColonyUnreachable) as caught:
        memory.restore()

    told = repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
    assert KEY not in told
    assert "text" not in told
    assert "jwt" not in told
